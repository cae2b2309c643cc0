//! Sessions: which peers may have one, what they carry, and the requests in them.

use std::time::Instant;

use mpt_wire::control::{Reason, Suites};

use super::Node;
use crate::session::{
    JoinToken, Limits, Peer, PrivateKey, PublicKey, RequestRefused, SessionConfig, SessionId,
    SessionPathId, TestConfig, TestRefused,
};
use crate::{ConnectionId, PathId};

impl<P: Copy> Node<P> {
    /// Sets the key of this end. Without one there are no handshakes. Another key ends all keys
    /// made with the one before: the sessions begin anew.
    pub fn set_identity(&mut self, now: Instant, key: Option<PrivateKey>) {
        self.sessions.set_identity(now, key);
    }

    /// Sets the suites that this end can seal data with, in handshakes to come. The default is
    /// ChaCha20-Poly1305 alone.
    pub fn set_suites(&mut self, suites: Suites) {
        self.sessions.set_suites(suites);
    }

    /// Sets the peers that may open sessions that are not configured: the complete list.
    ///
    /// A session that its peer may no longer have ends at once: its keys are erased, the peer is sent a
    /// Goodbye (refused), and [`Event::Closed`](crate::session::Event::Closed) tells the owner, who
    /// removes the connection. All other sessions go on under the timers and limits of the list.
    pub fn set_peers(&mut self, now: Instant, peers: Vec<Peer>) {
        self.follow_changes();
        self.sessions.set_peers(now, peers, &mut self.tunnels);
    }

    /// Sets the tokens with which hosts that are not known may open sessions of kind joining: the
    /// complete list. A session whose token is not in the list any more ends at once, as with
    /// [`Self::set_peers`].
    pub fn set_join_tokens(&mut self, now: Instant, tokens: Vec<JoinToken>) {
        self.sessions.set_join_tokens(now, tokens);
    }

    /// Sets the bounds of what peers may have.
    pub fn set_limits(&mut self, limits: Limits) {
        self.sessions.set_limits(limits);
    }

    /// Adds a session. If it has a connection, [`Self::attach`] has to follow.
    pub fn add_session(&mut self, now: Instant, config: SessionConfig) -> SessionId {
        self.sessions.add_session(now, config)
    }

    /// Changes a session of the configuration. If its connection or its paths have changed,
    /// [`Self::attach`] has to follow. Another peer or pre-shared key ends its keys, and it begins
    /// anew. Returns true if there is such a session.
    pub fn update_session(&mut self, now: Instant, id: SessionId, config: SessionConfig) -> bool {
        self.sessions.update_session(now, id, config)
    }

    /// Gives a session its connection, with all of its paths that take part: by the names that this
    /// end gives them if it initiates, or that are known to be given by the other end if not. A path
    /// without a name is given one, or its name is learnt. From then on a path is
    /// used only after the peer has confirmed that it hears us there. The owner calls it again with
    /// all paths whenever one was added; what the session knows of the others stays.
    pub fn attach(
        &mut self,
        now: Instant,
        id: SessionId,
        connection: ConnectionId,
        paths: &[(Option<SessionPathId>, PathId)],
    ) {
        self.sessions.attach(now, id, connection, paths, &mut self.tunnels);
        self.touch(now, connection);
    }

    /// Lets a session with [`SessionConfig::create`] use its connection, because the peer has
    /// created its own.
    pub fn open(&mut self, now: Instant, id: SessionId) {
        self.follow_changes();
        self.sessions.open(now, id, &mut self.tunnels);
    }

    /// Says goodbye to the peer, giving `reason`, and removes the session without an event. The paths
    /// of its connection remain as they are.
    pub fn close_session(&mut self, now: Instant, id: SessionId, reason: Reason) {
        self.sessions.close_session(now, id, reason);
    }

    /// Ends a session for good, though its peer may open another one: sends a Goodbye (refused), erases
    /// its keys and tells the owner by [`Event::Closed`](crate::session::Event::Closed). The owner
    /// removes its connection after the Goodbye was sent.
    pub fn refuse_session(&mut self, now: Instant, id: SessionId) {
        self.sessions.refuse_session(now, id);
    }

    /// Says goodbye to every peer, because the daemon ends. The owner has to send the messages of
    /// this call before it does.
    pub fn close_all(&mut self, now: Instant) {
        self.sessions.close_all(now);
    }

    /// Sends a request to the peer: `body` has at most 1024 bytes. The number comes back with
    /// [`Event::Result`](crate::session::Event::Result).
    ///
    /// # Errors
    ///
    /// [`RequestRefused`]
    pub fn request(
        &mut self,
        now: Instant,
        id: SessionId,
        body: Vec<u8>,
    ) -> Result<u32, RequestRefused> {
        self.sessions.request(now, id, body)
    }

    /// Answers a request that [`Event::Request`](crate::session::Event::Request) gave. Every
    /// request has to be answered, also when its session has ended meanwhile: until then it counts
    /// as one that the owner works on. Returns false if there is no such session or the answer is
    /// longer than 1 MiB; then the owner can give another answer.
    pub fn answer(&mut self, now: Instant, id: SessionId, request: u32, body: Vec<u8>) -> bool {
        self.sessions.answer(now, id, request, body)
    }

    /// Takes the number of requests of each peer that were refused since the last time. The owner
    /// calls it about once a minute.
    pub fn take_refused(&mut self, now: Instant) -> Vec<(PublicKey, u64)> {
        self.sessions.take_refused(now)
    }

    /// Begins to measure how fast a path is in the sending direction.
    ///
    /// # Errors
    ///
    /// [`TestRefused`]
    pub fn start_test(
        &mut self,
        now: Instant,
        id: SessionId,
        config: TestConfig,
    ) -> Result<(), TestRefused> {
        self.sessions.start_test(now, id, config)
    }

    /// Takes an ICMP message by which a path carries outer packets of at most `mtu` bytes. Probes
    /// find out whether it is true. Returns true if they are sent.
    pub fn check_path_mtu(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        path: PathId,
        mtu: u16,
    ) -> bool {
        self.sessions.check_path_mtu(now, connection, path, mtu)
    }

    /// Has the session of a connection follow a change of it before anything comes out.
    pub(super) fn touch(&mut self, now: Instant, connection: ConnectionId) {
        self.changed_at = Some(now);
        self.changed.insert(connection);
    }

    /// Has the sessions follow all changes of their connections.
    #[inline]
    pub(super) fn follow_changes(&mut self) {
        while let Some((local, remote)) = self.sessions.take_erased() {
            self.tunnels.erase_keys(local, remote);
        }
        if let Some(now) = self.changed_at.take() {
            while let Some(connection) = self.changed.pop_first() {
                self.sessions.paths_changed(now, connection, &mut self.tunnels);
            }
        }
    }
}
