//! The bounds of connections created in a second: in all, and for each client.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The time after which a client may have one more creation when it has had all that it may have at once.
const ONE_MORE: Duration = Duration::from_secs(1);

/// Counts creations in the running second, and those of each client. There is an entry for each client that had a connection created lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Creations {
    since: Option<Instant>,
    count: u32,
    clients: BTreeMap<String, Client>,
}

/// The share of one client.
#[derive(Clone, Copy, Debug)]
struct Client {
    /// The number in the running second.
    count: u32,
    /// The time at which it may have all that it may have at once again.
    rested: Instant,
}

impl Creations {
    /// Returns whether one more is allowed now for a client that may have this many connections; it is counted if so. One client has at most half of
    /// the creations of a second (and one at least), and in the long run one per second.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        per_second: u32,
        client: &str,
        max_connections: u16,
    ) -> bool {
        let running = |since| now.saturating_duration_since(since) < Duration::from_secs(1);
        if !self.since.is_some_and(running) {
            (self.since, self.count) = (Some(now), 0);
            self.clients.retain(|_, client| now < client.rested);
            self.clients.values_mut().for_each(|client| client.count = 0);
        }
        let before = self.clients.get(client).copied().unwrap_or(Client { count: 0, rested: now });
        let rested = before.rested.max(now) + ONE_MORE;
        let admitted = self.count < per_second
            && before.count < (per_second / 2).max(1)
            && rested - now <= ONE_MORE * u32::from(max_connections.max(1));
        if admitted {
            self.count += 1;
            self.clients.insert(client.to_owned(), Client { count: before.count + 1, rested });
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_in_a_second_than_allowed() {
        let mut creations = Creations::default();
        let start = Instant::now();
        let names: Vec<String> = (0..10).map(|n| format!("client{n}")).collect();
        let mut admitted =
            |now| names.iter().filter(|name| creations.admit(now, 3, name, 1)).count();
        assert_eq!(admitted(start), 3);
        assert_eq!(admitted(start + Duration::from_millis(999)), 0);
        assert_eq!(admitted(start + Duration::from_millis(1000)), 3);
    }

    /// One asks as fast as it can, the other one once a second.
    #[test]
    fn one_client_leaves_half_of_them_to_others() {
        let mut creations = Creations::default();
        let start = Instant::now();
        let (mut greedy, mut modest) = (0, 0);
        for n in 0..10_000 {
            let now = start + Duration::from_millis(n);
            greedy += u32::from(creations.admit(now, 10, "greedy", 1000));
            if n % 1000 == 500 {
                modest += u32::from(creations.admit(now, 10, "modest", 10));
            }
        }
        assert_eq!((greedy, modest), (50, 10));
    }

    #[test]
    fn a_client_that_has_had_its_connections_has_one_more_per_second() {
        let mut creations = Creations::default();
        let start = Instant::now();
        let mut admitted = 0;
        for n in 0..20_000 {
            let now = start + Duration::from_millis(n);
            admitted += u32::from(creations.admit(now, 50, "greedy", 4));
        }
        assert_eq!(admitted, 4 + 19);
    }
}
