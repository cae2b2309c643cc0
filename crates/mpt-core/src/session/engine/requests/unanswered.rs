//! The requests of a session: those of this end, and those of the peer.

use std::time::Instant;

use smallvec::SmallVec;

use crate::session::requests::{Failure, RESULTS, RequestError, Requester, Responder};

/// The requests of a session that have no answer yet.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) requester: Requester,
    /// Requests of this end whose owner waits for the result.
    open: Vec<u32>,
    pub(crate) responder: Responder,
    /// Requests of the peer whose results have to wait until an address of it is proved.
    withheld: SmallVec<[u32; RESULTS]>,
}

impl Requests {
    /// There are none yet; the first one of this end gets the number `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            requester: Requester::new(first),
            open: Vec::new(),
            responder: Responder::new(),
            withheld: SmallVec::new(),
        }
    }

    /// Makes a request of this end, and returns its number.
    pub(crate) fn ask(&mut self, now: Instant, body: Vec<u8>) -> Result<u32, RequestError> {
        let id = self.requester.request(now, body)?;
        self.open.push(id);
        Ok(id)
    }

    /// Takes a part of the result of a request. Returns the whole result once it is complete.
    pub(crate) fn handle_result(
        &mut self,
        now: Instant,
        id: u32,
        (offset, total): (u32, u32),
        chunk: &[u8],
    ) -> Option<Vec<u8>> {
        let completed = self.requester.handle_result(now, id, offset, total, chunk)?;
        self.open.retain(|&other| other != id);
        Some(completed.result)
    }

    /// Returns a request of this end that has failed, until there is none.
    pub(crate) fn poll_failure(&mut self, now: Instant) -> Option<(u32, Failure)> {
        let failed = self.requester.poll_failure(now)?;
        self.open.retain(|&other| other != failed.0);
        Some(failed)
    }

    /// Takes out the requests of this end that wait for a result.
    pub(crate) fn take_open(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.open)
    }

    /// Returns true if a request of this end is to be sent now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next_timeout().is_some_and(|at| at <= now)
    }

    /// Returns when a request of this end is to be sent or has failed.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requester.next_timeout()
    }

    /// Lets the result of a request of the peer wait until an address is proved.
    pub(crate) fn withhold(&mut self, request: u32) {
        if self.withheld.len() < RESULTS && !self.withheld.contains(&request) {
            self.withheld.push(request);
        }
    }

    /// Takes out the requests whose results have waited for an address.
    pub(crate) fn take_withheld(&mut self) -> SmallVec<[u32; RESULTS]> {
        std::mem::take(&mut self.withheld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any time will do as the first")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_request_is_open_until_its_result_is_complete() {
        let now = start();
        let mut requests = Requests::new(7);
        assert_eq!(requests.ask(now, b"do".to_vec()).ok(), Some(7));
        assert!(requests.is_due(now));
        assert_eq!(requests.ask(now, b"more".to_vec()).ok(), Some(8));
        while requests.requester.poll(now).is_some() {}
        assert_eq!(requests.handle_result(now, 7, (0, 4), b"done"), Some(b"done".to_vec()));
        assert_eq!(requests.handle_result(now, 7, (0, 4), b"done"), None, "it was complete");
        assert_eq!(requests.take_open(), [8]);
        assert_eq!(requests.take_open(), [0; 0], "they were taken");
    }

    #[test]
    fn each_result_is_withheld_once_and_no_more_than_the_responder_keeps() {
        let mut requests = Requests::new(1);
        for id in [3, 3, 1, 2, 4, 5, 6, 7, 8, 9] {
            requests.withhold(id);
        }
        assert_eq!(requests.take_withheld()[..], [3, 1, 2, 4, 5, 6, 7, 8]);
        assert!(requests.take_withheld().is_empty());
    }
}
