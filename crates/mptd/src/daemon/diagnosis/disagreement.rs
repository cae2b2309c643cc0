//! Detects that the configurations of the two hosts do not fit each other, from what arrives and what does not, and says so in a sentence.
//!
//! Nothing here is authentic, because anybody who can send packets to this host can feign it. So it is only reported, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mpt_api::Disagreement;

use crate::data::{ConnectionFacts, Facts};

/// The time between two looks.
const LOOK: Duration = Duration::from_secs(5);
/// The longest time that a session may take before it is asked why there is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time without a sign of a disagreement after which it is over.
const OVER: Duration = Duration::from_secs(60);

/// The disagreements that are known.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Disagreements {
    last: Option<(Instant, Facts)>,
    /// The time since which each connection without a session has none.
    alone: BTreeMap<String, Instant>,
    /// The disagreement that was seen of each connection, and the last time at which it was.
    seen: BTreeMap<String, (Disagreement, Instant)>,
}

impl Disagreements {
    /// True if it is time to look again.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.last.as_ref().is_none_or(|(then, _)| now.saturating_duration_since(*then) >= LOOK)
    }

    /// Returns the disagreement of a connection.
    pub(in crate::daemon) fn of(&self, connection: &str) -> Option<Disagreement> {
        self.seen.get(connection).map(|it| it.0)
    }

    /// Takes in what is so now; `exchanged` are connections whose addresses are the wrong way round. Returns what is new.
    pub(super) fn look(
        &mut self,
        now: Instant,
        facts: Facts,
        exchanged: &BTreeSet<String>,
    ) -> Vec<(String, Disagreement)> {
        let before = self.last.as_ref().map(|it| &it.1);
        let unknown = before.is_some_and(|it| facts.control > it.control);
        let strange = before.is_some_and(|it| facts.strange > it.strange);
        let mut new = Vec::new();
        for (name, it) in &facts.connections {
            if it.established == Some(false) {
                self.alone.entry(name.clone()).or_insert(now);
            } else {
                self.alone.remove(name);
            }
            let patient = self.alone.get(name).is_some_and(|&since| now >= since + PATIENCE);
            let then = before.and_then(|it| it.connections.get(name));
            let grew = |count: fn(&ConnectionFacts) -> u64| {
                then.is_some_and(|then| count(it) > count(then))
            };
            let (received, plain) = (grew(|it| it.received), grew(|it| it.plain));
            let found = match it.established {
                _ if exchanged.contains(name) => Some(Disagreement::AddressesExchanged),
                None if (unknown || strange) && !received => Some(Disagreement::PeerHasKeys),
                Some(false) if patient && (received || plain) => Some(Disagreement::PeerHasNoKeys),
                Some(false) if patient && strange => Some(Disagreement::OtherKeys),
                _ => None,
            };
            match (found, self.seen.get(name)) {
                (Some(found), known) => {
                    if known.is_none_or(|known| known.0 != found) {
                        new.push((name.clone(), found));
                    }
                    self.seen.insert(name.clone(), (found, now));
                }
                (None, Some(&(_, last)))
                    if it.established == Some(true) || received || now >= last + OVER =>
                {
                    self.seen.remove(name);
                }
                (None, _) => {}
            }
        }
        self.seen.retain(|name, _| facts.connections.contains_key(name));
        self.alone.retain(|name, _| facts.connections.contains_key(name));
        self.last = Some((now, facts));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(control: u64, strange: u64, it: ConnectionFacts) -> Facts {
        Facts { control, strange, connections: [("office".to_owned(), it)].into() }
    }

    fn of(established: Option<bool>, received: u64, plain: u64) -> ConnectionFacts {
        ConnectionFacts { established, received, plain }
    }

    /// Returns what is new in each look at these, and what holds in the end.
    fn told(looks: &[Facts]) -> (Vec<Disagreement>, Option<Disagreement>) {
        let start = Instant::now();
        let mut all = Disagreements::default();
        let mut new = Vec::new();
        for (number, facts) in looks.iter().enumerate() {
            let now = start + LOOK * u32::try_from(number).unwrap();
            let found = all.look(now, facts.clone(), &BTreeSet::new());
            new.extend(found.into_iter().map(|it| it.1));
        }
        (new, all.of("office"))
    }

    #[test]
    fn a_peer_with_keys_is_noticed_by_its_frames() {
        let plain = of(None, 0, 0);
        let looks =
            [facts(0, 0, plain), facts(5, 0, plain), facts(9, 0, plain), facts(9, 0, plain)];
        let keys = Disagreement::PeerHasKeys;
        assert_eq!(told(&looks), (vec![keys], Some(keys)), "said once, and it holds");
        // It works: others knock.
        assert_eq!(told(&[facts(0, 0, plain), facts(5, 0, of(None, 7, 0))]), (vec![], None));
    }

    #[test]
    fn a_peer_without_keys_is_noticed_by_its_data() {
        let looks: Vec<_> = (0..5).map(|n| facts(0, 0, of(Some(false), 0, n))).collect();
        let none = Disagreement::PeerHasNoKeys;
        assert_eq!(told(&looks), (vec![none], Some(none)));
        let mut looks = looks;
        looks.push(facts(0, 0, of(Some(true), 0, 4)));
        assert_eq!(told(&looks), (vec![none], None), "it has a session now");
    }

    #[test]
    fn other_keys_are_noticed_after_a_while() {
        let looks: Vec<_> = (0..4).map(|n| facts(0, n, of(Some(false), 0, 0))).collect();
        let other = Disagreement::OtherKeys;
        assert_eq!(told(&looks), (vec![other], Some(other)));
        assert_eq!(told(&looks[..1]), (vec![], None));
        let silent = vec![facts(3, 3, of(Some(false), 0, 0)); 9];
        assert_eq!(told(&silent), (vec![], None), "silence says nothing");
    }

    #[test]
    fn what_is_not_seen_any_more_is_over() {
        let mut looks = vec![facts(0, 0, of(None, 0, 0)), facts(1, 0, of(None, 0, 0))];
        looks.extend(vec![facts(1, 0, of(None, 0, 0)); 20]);
        assert_eq!(told(&looks), (vec![Disagreement::PeerHasKeys], None));
    }
}
