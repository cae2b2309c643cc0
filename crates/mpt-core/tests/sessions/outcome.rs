//! The outcome of a run: whether everything was delivered, and the state of both ends.

use super::network::*;

impl Network {
    /// Everything that was sent has been delivered, once and in order.
    pub fn assert_nothing_lost(&self) {
        self.assert_nothing_lost_from([0, 0]);
        for side in SIDES {
            assert_eq!(self.hosts[side].refused, 0, "from {side}");
        }
    }

    /// The same of the packets from these ids on.
    pub fn assert_nothing_lost_from(&self, first: [u64; 2]) {
        for side in SIDES {
            let delivered = self
                .delivered(side)
                .into_iter()
                .filter(|&id| id >= first[side])
                .collect::<Vec<_>>();
            let expected: Vec<u64> = (first[side]..self.hosts[side].sent).collect();
            let wrong = delivered.iter().zip(&expected).position(|(a, b)| a != b);
            let from = wrong.unwrap_or(0).saturating_sub(3);
            assert!(
                delivered == expected,
                "from {side}: {} of {}, first wrong at {wrong:?}: {:?} instead of {:?}\n{}",
                delivered.len(),
                expected.len(),
                &delivered[from.min(delivered.len())..delivered.len().min(from + 10)],
                &expected[from.min(expected.len())..expected.len().min(from + 10)],
                self.describe(),
            );
        }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        let mut text = format!("at {:?}, seed {}\n", self.time(), self.setup.seed);
        for side in SIDES {
            let session = self.session(side);
            text += &format!(
                "side {side}: established {} initiator {} handshakes {} open {} announced {} active {}\n",
                session.established.is_some(),
                session.initiator,
                session.handshakes,
                session.open,
                session.announced,
                session.active,
            );
            for (index, path) in session.paths.iter().enumerate() {
                let data = self.hosts[side].node.tunnels().path(path.path);
                text += &format!(
                    "  {index}: {:?} silent {} suspended {} id {:?} remote {:?} peer {:?} {:?} down {:?} rtt {:?}\n",
                    path.state,
                    path.silent,
                    path.suspended,
                    path.id,
                    path.remote,
                    path.peer_state,
                    path.peer_weight,
                    data.map(|data| data.down_reasons()),
                    path.rtt,
                );
            }
            text += &format!("  {:?}\n", self.hosts[side].node.sessions().counters());
        }
        text
    }
}
