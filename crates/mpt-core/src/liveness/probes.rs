//! The probes of one path that are on their way, and when the last one was sent.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::Times;

/// The most tokens that are remembered.
pub(super) const OUTSTANDING: usize = 128;
/// The time for which an echo is waited for. A path with a longer delay is useless.
pub(super) const LIFE: Duration = Duration::from_secs(10);
/// Room for tokens that is kept while there are none; an idle path needs no more.
const ROOM_WHEN_IDLE: usize = 8;

/// Tokens on their way, the oldest first, and what the next probe depends on.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    outstanding: VecDeque<(u64, Instant)>,
    last: Option<Instant>,
    /// Thousandths by which the time until the next probe is multiplied: 900 to 1100.
    jitter: u32,
    /// The first probe since the last evidence, and the number of probes since.
    asked: Option<Instant>,
    unanswered: u32,
    /// Probes still to be sent in quick succession.
    pub(super) burst: u32,
}

impl Probes {
    pub(super) fn new(burst: u32) -> Self {
        Self {
            outstanding: VecDeque::new(),
            last: None,
            jitter: 1000,
            asked: None,
            unanswered: 0,
            burst,
        }
    }

    /// Takes note of a probe with this token that leaves now. The token is random, so its bits also
    /// choose the jitter.
    pub(super) fn send(&mut self, now: Instant, token: u64) {
        self.expire(now);
        if self.outstanding.len() >= OUTSTANDING {
            self.thin(now);
        }
        self.outstanding.push_back((token, now));
        self.last = Some(now);
        self.jitter = 900 + (((token >> 48) as u32 * 201) >> 16);
        self.asked.get_or_insert(now);
        self.unanswered = self.unanswered.saturating_add(1);
        self.burst = self.burst.saturating_sub(1);
    }

    /// Takes an echo. Returns when its probe left and the round-trip time if the token is one of
    /// those on their way. Older tokens remain, since their echoes may have been overtaken.
    pub(super) fn take(&mut self, at: Times, token: u64) -> Option<(Instant, Duration)> {
        self.expire(at.now());
        let place = self.outstanding.iter().rposition(|&(other, _)| other == token)?;
        let (_, sent) = self.outstanding.remove(place)?;
        Some((sent, at.arrived().saturating_duration_since(sent)))
    }

    /// Takes a confirmation that dates from `since` at the earliest.
    pub(super) fn answered(&mut self, since: Instant) {
        if self.asked.is_some_and(|asked| asked <= since) {
            (self.asked, self.unanswered) = (None, 0);
        }
    }

    /// Returns when the last probe left; `None` if none has left since the start.
    pub(super) fn last(&self) -> Option<Instant> {
        self.last
    }

    /// Returns when the first probe since the last evidence left.
    pub(super) fn asked(&self) -> Option<Instant> {
        self.asked
    }

    /// Returns the number of probes since the last evidence.
    pub(super) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Returns the time between two probes with the jitter of this one, at most 10 % either way, so
    /// that the probes of many connections do not fall into step.
    pub(super) fn jittered(&self, interval: Duration) -> Duration {
        interval * self.jitter / 1000
    }

    /// Returns the number of tokens on their way.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    fn expire(&mut self, now: Instant) {
        let old = |&(_, sent): &(u64, Instant)| now.saturating_duration_since(sent) > LIFE;
        while self.outstanding.front().is_some_and(old) {
            self.outstanding.pop_front();
        }
        if self.outstanding.is_empty() && self.outstanding.capacity() > ROOM_WHEN_IDLE {
            self.outstanding.shrink_to(ROOM_WHEN_IDLE);
        }
    }

    /// Forgets the token that is needed least: the one with the shortest distance between its
    /// neighbours for its age. So all recent tokens are there, and the others reach back over the
    /// whole of [`LIFE`], however short the keepalive is.
    fn thin(&mut self, now: Instant) {
        let distance = |place: usize| {
            let sent = |place: usize| self.outstanding.get(place).map_or(now, |&(_, sent)| sent);
            let distance = sent(place + 1).saturating_duration_since(sent(place - 1));
            let age = now.saturating_duration_since(sent(place));
            distance.as_secs_f64() / age.as_secs_f64().max(f64::MIN_POSITIVE)
        };
        let inner = 1..self.outstanding.len().saturating_sub(1);
        let place = inner.min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
        self.outstanding.remove(place);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_reach_back_over_their_life_however_many_there_are() {
        let start = Instant::now();
        for keepalive in [1, 10, 75, 100, 500] {
            let keepalive = Duration::from_millis(keepalive);
            let mut probes = Probes::new(0);
            let mut now = start;
            let mut token = 0;
            while now < start + 3 * LIFE {
                probes.send(now, token);
                assert!(probes.outstanding() <= OUTSTANDING);
                token += 1;
                now += keepalive;
            }
            let oldest = probes.outstanding.front().unwrap().1;
            assert!(now - oldest > LIFE * 9 / 10, "{keepalive:?}: {:?}", now - oldest);
            // No hole longer than a tenth of a token's age, and none among the last ten.
            let sent: Vec<_> = probes.outstanding.iter().map(|&(_, sent)| sent).collect();
            for pair in sent.windows(2) {
                let (hole, age) = (pair[1] - pair[0], now - pair[0]);
                assert!(hole <= keepalive.max(age / 10), "{keepalive:?}: {hole:?} at {age:?}");
            }
            let tokens = probes.outstanding.iter().rev().take(10).map(|&(token, _)| token);
            assert!(tokens.eq((token - 10..token).rev()), "{keepalive:?}");
        }
    }

    #[test]
    fn a_token_is_taken_once() {
        let now = Instant::now();
        let mut probes = Probes::new(0);
        probes.send(now, 1);
        probes.send(now + LIFE / 2, 2);
        assert_eq!(probes.take((now + LIFE).into(), 1), Some((now, LIFE)));
        assert_eq!(probes.take((now + LIFE).into(), 1), None);
        assert_eq!(probes.take((now + LIFE).into(), 3), None);
        assert_eq!(probes.take((now + LIFE * 2).into(), 2), None, "too old");
    }

    #[test]
    fn the_jitter_is_ten_per_cent_either_way() {
        let mut probes = Probes::new(0);
        let interval = Duration::from_secs(1);
        let mut jittered = |token| {
            probes.send(Instant::now(), token);
            probes.jittered(interval)
        };
        assert_eq!(jittered(0), interval * 9 / 10);
        assert_eq!(jittered(u64::MAX), interval * 11 / 10);
        assert_eq!(jittered(1 << 63), interval);
    }
}
