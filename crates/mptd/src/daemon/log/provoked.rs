//! Lines of the log that others provoke: so many in a minute for each peer, and for each connection without an authenticated peer. Then one line says how
//! many were left out, and how many requests were refused.

use std::collections::BTreeMap;
use std::time::Instant;

use mpt_core::session::PublicKey;

/// Lines about one subject between two summaries, at most.
const LINES: u64 = 100;

/// The subject by which lines are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::daemon) enum Subject {
    /// A peer with a key, whichever connections it has.
    Peer(PublicKey),
    /// A connection without a key of its peer, by its name: a prototype's, or one without a session.
    Connection(String),
}

/// The counts of such lines: at most one entry for each key and each connection of the configuration.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Provoked {
    /// The time at which the last summary was made.
    pub(super) summed_up: Option<Instant>,
    /// The lines and requests since then.
    pub(super) accounts: BTreeMap<Subject, Account>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::daemon) struct Account {
    /// Lines that were to be written.
    pub(super) lines: u64,
    /// Requests that were refused.
    pub(in crate::daemon) refused: u64,
    /// The first of them has a line of its own.
    pub(in crate::daemon) told: u64,
}

impl Account {
    /// Returns the line of the summary about it, if there is something to say.
    pub(super) fn summary(self) -> Option<String> {
        let count = |count: u64, what: &str, end: &str| {
            let s = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} {what}{s} {end}"))
        };
        let refused = count(self.refused - self.told, "request", "refused");
        let left_out = count(self.lines.saturating_sub(LINES), "line", "left out of the log");
        let said: Vec<String> = [refused, left_out].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

impl Provoked {
    /// Counts a line about a peer, and returns true if it is to be written.
    pub(in crate::daemon) fn line(&mut self, peer: PublicKey) -> bool {
        self.line_about(Subject::Peer(peer))
    }

    pub(super) fn line_about(&mut self, subject: Subject) -> bool {
        let account = self.accounts.entry(subject).or_default();
        account.lines += 1;
        account.lines <= LINES
    }

    /// Counts a request that the policy refuses. Returns true if it is the first of this peer since the last summary, which gets a line of
    /// its own.
    pub(in crate::daemon) fn deny(&mut self, peer: PublicKey) -> bool {
        let account = self.accounts.entry(Subject::Peer(peer)).or_default();
        account.refused += 1;
        account.told = 1;
        account.refused == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_has_its_lines_and_the_rest_is_counted() {
        let mut provoked = Provoked::default();
        let peers = [PublicKey::from([1; 32]), PublicKey::from([2; 32])];
        let written = (0..1000).filter(|_| provoked.line(peers[0])).count();
        assert_eq!(written as u64, LINES);
        assert!(provoked.line(peers[1]));
        let connection = || Subject::Connection("office".into());
        let written = (0..1000).filter(|_| provoked.line_about(connection())).count();
        assert_eq!(written as u64, LINES);
        assert_eq!((0..3).filter(|_| provoked.deny(peers[0])).count(), 1);
        let said = |peer: PublicKey| provoked.accounts[&Subject::Peer(peer)].summary();
        assert_eq!(
            said(peers[0]).as_deref(),
            Some("2 requests refused, 900 lines left out of the log")
        );
        assert_eq!(said(peers[1]), None);
    }
}
