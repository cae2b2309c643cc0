//! Lines of the log about commands to and from the papers' prototype.

use mpt_core::compat::{Event, Outcome};

use crate::daemon::Daemon;

impl Daemon {
    /// Logs what came of a command, as long as the connection may have lines.
    pub(in crate::daemon) fn log_prototype(&mut self, event: Event) {
        let (Event::Created { connection, .. } | Event::Told { connection, .. }) = &event;
        if !self.may_log_of(connection) {
            return;
        }
        match event {
            Event::Created { connection, asked, outcome, data_port } => {
                log_creation(&connection, asked, outcome);
                if outcome == Outcome::Done {
                    self.compare_data_port(&connection, data_port);
                }
            }
            Event::Told { connection, path, up, outcome } => {
                let state = if up { "up" } else { "down" };
                match outcome {
                    Outcome::Done => {
                        tracing::info!(
                            connection,
                            path,
                            state,
                            "the peer was told the path's state"
                        );
                    }
                    Outcome::Refused(code) => {
                        tracing::warn!(
                            connection,
                            path,
                            state,
                            code,
                            "the peer refused the path's state"
                        );
                    }
                    Outcome::Unanswered => {
                        tracing::warn!(
                            connection,
                            path,
                            state,
                            "the peer was told the path's state, and did not answer"
                        );
                    }
                }
            }
        }
    }

    /// Warns of a peer whose data port is not the one to which the file has packets sent.
    fn compare_data_port(&mut self, connection: &str, data_port: Option<u16>) {
        let config = self.running.connection(connection);
        // All paths have the same: checked.
        let configured = config.and_then(|it| it.paths.first()).map(|path| path.remote_port);
        if data_port.is_some() && data_port != configured && self.may_log_of(connection) {
            tracing::warn!(
                connection,
                data_port,
                configured,
                "the peer has another data port: write it as remote_port of the paths"
            );
        }
    }
}

/// Logs what came of a creation that was asked for here (`asked`) or by the peer.
fn log_creation(connection: &str, asked: bool, outcome: Outcome) {
    match (outcome, asked) {
        (Outcome::Done, true) => tracing::info!(connection, "the peer has created the connection"),
        (Outcome::Done, false) => {
            tracing::info!(connection, "the peer asks for the connection and gets it");
        }
        (Outcome::Refused(code), true) => {
            tracing::warn!(connection, code, "the peer refuses to create the connection");
        }
        (Outcome::Refused(code), false) => {
            tracing::warn!(
                connection,
                code,
                "the peer asks for the connection, but not as the file has it"
            );
        }
        (Outcome::Unanswered, _) => {
            tracing::warn!(
                connection,
                "the peer was asked to create the connection, and did not answer"
            );
        }
    }
}
