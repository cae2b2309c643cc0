//! Sessions and the liveness of paths, in the words of the control API.

use std::time::{Duration, Instant};

use mpt_api::snapshot as api;
use mpt_config as config;
use mpt_core::session::SealState;
use mpt_core::{ConnectionId, PathId};
use mpt_wire::control::Suite;

use super::snapshot;
use crate::data::DataPath;
use crate::data::system::System;

impl<S: System> DataPath<S> {
    /// Returns what the control protocol did and refused.
    pub(crate) fn control_counters(&self) -> api::Counters {
        snapshot::counters(self.node.sessions().counters().iter())
    }

    /// The session of a connection; `None` where it has none. The control side knows its client, and whether the server refused it.
    pub(super) fn show_session(
        &self,
        id: ConnectionId,
        config: &config::Connection,
    ) -> Option<api::Session> {
        let peer = config.peer.as_ref()?;
        let view = self.node.sessions().session(self.node.sessions().session_of(id)?)?;
        let seconds = |since: Option<Instant>| since.map(|since| since.elapsed().as_secs());
        Some(api::Session {
            peer: view.peer.to_string(),
            client: None,
            state: match (view.established, view.open) {
                (None, _) => api::SessionState::Connecting,
                (Some(_), false) => api::SessionState::Creating,
                (Some(_), true) => api::SessionState::Established,
            },
            role: match view.established {
                Some(_) if view.initiator => api::SessionRole::Initiator,
                None if peer.initiate => api::SessionRole::Initiator,
                _ => api::SessionRole::Responder,
            },
            established_s: seconds(view.established),
            rekeyed_s: seconds(view.keys_since),
            handshakes: view.handshakes,
            seal: Some(config.seal),
            data: Some(data_state(view.seal)),
            keepalive_us: micros(peer.timing.keepalive),
            idle_keepalive_us: micros(peer.timing.idle_keepalive),
        })
    }

    /// Returns what the probes say about a path; `None` where there are none.
    pub(super) fn show_liveness(&self, id: PathId) -> Option<api::Liveness> {
        let connection = self.node.tunnels().path(id)?.connection();
        let view = self.node.sessions().path(self.node.sessions().session_of(connection)?, id)?;
        Some(api::Liveness {
            id: view.id,
            hears_us: view.hears_us,
            we_hear: view.we_hear,
            rtt_us: view.rtt.map(micros),
            rtt_variation_us: view.rtt_variation.map(micros),
            rtt_minimum_us: view.rtt_minimum.map(micros),
            dead_after_us: micros(view.dead_after),
            flaps: view.flaps.into(),
            since_ms: u64::try_from(view.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            peer_sent: view.id.map(|_| view.peer_sent),
            peer_received: view.id.map(|_| view.peer_received),
        })
    }
}

/// Returns how data is, in the words of the control API.
fn data_state(state: SealState) -> api::DataState {
    match state {
        SealState::Off => api::DataState::Plain,
        SealState::Waiting => api::DataState::Waiting,
        SealState::Sealed(Suite::Aes256Gcm) => api::DataState::Aes256Gcm,
        SealState::Sealed(Suite::ChaCha20Poly1305) => api::DataState::Chacha20Poly1305,
        SealState::PlainPeer => api::DataState::PlainPeer,
        SealState::Refused => api::DataState::Refused,
    }
}

/// Returns whole microseconds, or 0 for a duration without end, as the API has it.
fn micros(duration: Duration) -> u64 {
    match duration {
        Duration::MAX => 0,
        duration => u64::try_from(duration.as_micros()).unwrap_or(0),
    }
}
