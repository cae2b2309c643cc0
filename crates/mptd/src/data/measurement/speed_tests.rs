//! Speed tests on the data thread.

use std::time::Duration;

use mpt_core::session::{SessionId, TestConfig, TestRefused, TestView};

use crate::data::DataPath;
use crate::data::system::System;

impl<S: System> DataPath<S> {
    /// The session of a connection, configured or a client's.
    pub(crate) fn session_of_connection(&self, connection: &str) -> Option<SessionId> {
        self.node.sessions().session_of(self.node.tunnels().find_connection(connection)?)
    }

    /// The number that both ends know a path by.
    pub(crate) fn path_number(&self, connection: &str, path: &str) -> Option<u16> {
        let id = self.node.tunnels().find_connection(connection)?;
        let path = self.node.tunnels().find_path(id, path)?;
        self.node.sessions().path(self.node.sessions().session_of(id)?, path)?.id
    }

    /// Begins to measure how fast a path is for what we send.
    pub(crate) fn start_test(
        &mut self,
        session: SessionId,
        number: u64,
        path: u16,
        duration: Duration,
        limit: Option<u64>,
    ) -> Result<(), TestRefused> {
        let path = self.node.sessions().path_named(session, path).ok_or(TestRefused::NoPath)?;
        let config = TestConfig { number, path, duration, limit };
        self.node.start_test(self.system.now(), session, config)
    }

    /// True if a test runs in any session.
    pub(crate) fn is_testing(&self) -> bool {
        self.node.sessions().is_testing()
    }

    /// Returns what is known of a test.
    pub(crate) fn test(&self, session: SessionId, number: u64) -> Option<TestView> {
        self.node.sessions().test(session, number)
    }
}
