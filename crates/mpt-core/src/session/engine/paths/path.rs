//! One path of a session.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::control::{Economy, PathEntry, PathState};

use super::candidate::Candidate;
use super::source::Source;
use crate::liveness::{Liveness, State, Timing};
use crate::path::discovery::{Bounds, Discovery};
use crate::session::OneWay;
use crate::session::engine::keys::epochs::Epoch;
use crate::session::engine::measurement::survey::Survey;
use crate::session::engine::{Destination, SessionPathId};
use crate::{DownReason, Path, PathConfig, PathId, SocketId, Tunnels};

/// A path that carries so many bytes of data in a second, both ways together, is busy: the probes of
/// the usual keepalive are about a tenth of it.
const BUSY: f64 = 25_000.0;
/// The time over which that is looked at.
const WEIGHED_OVER: Duration = Duration::from_secs(1);

/// One path of a session.
#[derive(Debug)]
pub(crate) struct SessionPath {
    pub(crate) id: PathId,
    /// Tells it from another path that was given the same id after its removal.
    name: String,
    /// Its name in frames under keys whose handshake this end began.
    pub(crate) own_id: SessionPathId,
    /// Its name under the other ones, once the peer has told it.
    pub(crate) peer_id: Option<SessionPathId>,
    pub(crate) liveness: Liveness,
    /// The timers where nothing is to be spared.
    timing: Timing,
    /// The economy that is configured for the path.
    economy: Economy,
    /// True while the path carries so much data that its probes do not matter.
    busy: bool,
    /// Bytes of data that it had carried, and when.
    weighed: (u64, Instant),
    /// The sizes of outer packets that the path carries.
    pub(crate) discovery: Discovery,
    /// The loss of the path, and the variation of its delays.
    pub(crate) survey: Survey,
    /// Authenticated frames received on it.
    pub(crate) frames: u32,
    /// Their bytes, without anything around them.
    pub(crate) frame_bytes: u64,
    /// Its interface is down, so nothing can be sent.
    pub(crate) cut_off: bool,
    /// Down by the administrator, its cap or its interface.
    pub(crate) down: bool,
    /// The last announcement of the peer about the path.
    pub(crate) peer: Option<PathEntry>,
    /// Data packets the peer sent and received on it, as it says.
    pub(crate) peer_traffic: (u64, u64),
    pub(crate) candidate: Option<Candidate>,
    /// By the clocks in the peer's frames.
    pub(crate) one_way: OneWay,
    /// Under how many handshakes `peer_id` was known to be right last.
    pub(crate) bound: u64,
    suspended: bool,
    sockets: Vec<SocketId>,
    local: Option<std::net::IpAddr>,
    /// The remote address of the path, while that is known.
    pub(crate) remote: Option<SocketAddr>,
}

impl SessionPath {
    pub(crate) fn new(now: Instant, id: PathId, path: &Path, own_id: u16, timing: Timing) -> Self {
        let mtu = path.config().mtu;
        let mut this = Self {
            id,
            name: path.name().to_owned(),
            own_id,
            peer_id: None,
            liveness: Liveness::new(now, timing),
            timing,
            economy: Economy::NONE,
            busy: false,
            weighed: (0, now),
            // The true bounds follow before it is up.
            discovery: Discovery::new(now, Bounds { min: mtu, base: mtu, max: mtu }),
            survey: Survey::new(now),
            frames: 0,
            frame_bytes: 0,
            cut_off: false,
            down: false,
            peer: None,
            peer_traffic: (0, 0),
            candidate: None,
            one_way: OneWay::new(),
            bound: 0,
            suspended: false,
            sockets: path.config().sockets.clone(),
            local: path.config().local,
            remote: None,
        };
        this.follow(now, path);
        this
    }

    /// Returns true if this is that path of the tunnels.
    pub(crate) fn is(&self, id: PathId, path: &Path) -> bool {
        self.id == id && self.name == path.name()
    }

    /// Takes over what others have changed.
    pub(crate) fn follow(&mut self, now: Instant, path: &Path) {
        let reasons = path.down_reasons();
        self.cut_off = reasons.contains(DownReason::Interface);
        let ours = [DownReason::Administrative, DownReason::Cap, DownReason::Interface];
        self.down = ours.into_iter().any(|reason| reasons.contains(reason));
        let config = path.config();
        self.remote = path.remote();
        let is_other = !self.has_same_sockets(config) || self.local != config.local;
        self.sockets.clone_from(&config.sockets);
        self.local = config.local;
        if is_other {
            if !self.suspended {
                self.liveness.restart(now);
            }
            self.discovery.restart(now);
            self.survey = Survey::new(now);
            self.one_way = OneWay::new();
        }
        self.economy = path.economy();
        self.suspend_or_restart(now);
        self.pace(now);
    }

    /// Other timers from now on.
    pub(crate) fn set_timing(&mut self, now: Instant, timing: Timing) {
        self.timing = timing;
        self.pace(now);
    }

    /// Probes it as often as both ends would like.
    pub(crate) fn pace(&mut self, now: Instant) {
        let economy = self.economy.with(self.economy_of_peer());
        let timing = match economy {
            Economy::NONE => self.timing,
            // A late death would cost more than the probes.
            _ if self.busy => self.timing,
            _ => self.timing.sparing(),
        };
        self.liveness.set_timing(now, timing);
    }

    /// Looks how much data it carries, if it is to be used sparingly.
    pub(crate) fn weigh(&mut self, now: Instant, path: &Path) {
        let (before, then) = self.weighed;
        let elapsed = now.saturating_duration_since(then);
        if elapsed < WEIGHED_OVER {
            return;
        }
        let bytes = path.sent().bytes + path.received().bytes;
        self.weighed = (bytes, now);
        let rate = bytes.saturating_sub(before) as f64 / elapsed.as_secs_f64();
        let busy = rate >= if self.busy { BUSY / 2.0 } else { BUSY };
        if busy != std::mem::replace(&mut self.busy, busy) {
            self.pace(now);
        }
    }

    /// Returns the economy that the peer has asked for.
    fn economy_of_peer(&self) -> Economy {
        self.peer.map_or(Economy::NONE, |entry| entry.economy)
    }

    /// Returns true if confirmations with its sockets so far also hold for those of `config`. Order
    /// and repetition do not matter. A path that learns its remote address collects the sockets on
    /// which it was heard, and a socket that is removed is no longer needed.
    fn has_same_sockets(&self, config: &PathConfig) -> bool {
        let is_within =
            |these: &[SocketId], those: &[SocketId]| these.iter().all(|it| those.contains(it));
        is_within(&config.sockets, &self.sockets)
            && (config.remote.is_learnt() || is_within(&self.sockets, &config.sockets))
    }

    /// Probes it or not, as both ends hold it for usable.
    pub(crate) fn suspend_or_restart(&mut self, now: Instant) {
        let suspended = self.down || self.is_refused();
        if suspended != std::mem::replace(&mut self.suspended, suspended) {
            if suspended {
                self.liveness.suspend(now);
            } else {
                self.liveness.restart(now);
                self.discovery.restart(now);
                self.survey.resume(now);
            }
        }
    }

    /// Returns true if the peer has asked not to send on the path.
    pub(crate) fn is_refused(&self) -> bool {
        self.peer.is_some_and(|entry| entry.state.is_down())
    }

    /// Returns true if the peer has announced that its interface is gone. Unlike a path that was
    /// taken out of use, such a path delivers nothing any more.
    fn peer_lost_interface(&self) -> bool {
        self.peer.is_some_and(|entry| entry.state == PathState::INTERFACE_DOWN)
    }

    /// Returns true if it works.
    pub(crate) fn is_up(&self) -> bool {
        self.liveness.state() == State::Up
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Its name in frames under these keys.
    pub(crate) fn wire_id(&self, keys: &Epoch) -> Option<SessionPathId> {
        if keys.is_initiator() { Some(self.own_id) } else { self.peer_id }
    }

    /// Returns the address to which a frame from there is answered.
    pub(crate) fn answer_to(&self, socket: SocketId, remote: SocketAddr) -> Destination {
        if self.goes_to(remote) && self.sockets.first() == Some(&socket) {
            Destination::Path(self.id)
        } else {
            Destination::Address { socket, remote }
        }
    }

    /// An authentic frame of `len` bytes came on it.
    pub(crate) fn handle_frame(&mut self, now: Instant, len: usize) {
        self.frames = self.frames.wrapping_add(1);
        self.frame_bytes += len as u64;
        self.liveness.handle_frame(now);
    }

    /// Returns true if its frames arrive from another address than they are sent to.
    pub(crate) fn is_elsewhere(&self, socket: SocketId, remote: SocketAddr) -> bool {
        !self.goes_to(remote) || !self.sockets.contains(&socket)
    }

    pub(crate) fn goes_to(&self, remote: SocketAddr) -> bool {
        self.remote.is_some_and(|own| {
            own.port() == remote.port() && own.ip().to_canonical() == remote.ip().to_canonical()
        })
    }

    /// Returns true if a frame from there is from the peer's end of this path, as far as that is
    /// known. The port is not compared, since there may be a NAT.
    pub(crate) fn is_from(&self, source: Source) -> bool {
        let same =
            |remote: SocketAddr| remote.ip().to_canonical() == source.remote.ip().to_canonical();
        self.listens_on(source.socket) && self.remote.is_some_and(same)
    }

    /// Its other end has moved, and has answered from there.
    pub(crate) fn arrive_at(&mut self, now: Instant, path: &Path) {
        self.remote = path.remote();
        self.sockets.clone_from(&path.config().sockets);
        self.local = path.config().local;
        self.liveness.moved(now);
        self.discovery.restart(now);
        self.survey = Survey::new(now);
        self.one_way = OneWay::new();
    }

    pub(crate) fn listens_on(&self, socket: SocketId) -> bool {
        self.sockets.contains(&socket)
    }

    /// An authentic, fresh frame came from elsewhere. Gives the token of a challenge to be sent
    /// there now, if so.
    pub(crate) fn challenge(
        &mut self,
        now: Instant,
        source: Source,
        token: impl FnOnce() -> u64,
    ) -> Option<u64> {
        Candidate::challenge(&mut self.candidate, now, source, token)
    }

    /// Returns true if an echo from there answers the challenge.
    pub(crate) fn meets_challenge(&self, now: Instant, source: Source, token: u64) -> bool {
        self.candidate.is_some_and(|it| it.is_met(now, source, token))
    }

    /// Returns the announcement of the path. `carries` is true if data is sent on it now.
    pub(crate) fn entry(&self, wire_id: SessionPathId, path: &Path, carries: bool) -> PathEntry {
        let reasons = path.down_reasons();
        let taken = [DownReason::Administrative, DownReason::Cap];
        let state = if taken.into_iter().any(|reason| reasons.contains(reason)) {
            PathState::ADMINISTRATIVELY_DOWN
        } else if reasons.contains(DownReason::Interface) {
            PathState::INTERFACE_DOWN
        } else {
            match self.liveness.state() {
                State::Up => PathState::USABLE,
                State::Dead => PathState::DEAD,
                State::Probing => PathState::PROBING,
            }
        };
        let weight = if carries { path.config().weight_out } else { 0 };
        let economy = path.economy();
        PathEntry { path_id: wire_id, weight, wish: path.config().weight_in, state, economy }
    }

    /// Tells the tunnels what is held of it. `usable`: whether the session lets its paths carry
    /// data at all. Whether anything was different.
    pub(crate) fn apply<P: Copy>(
        &self,
        now: Instant,
        usable: bool,
        tunnels: &mut Tunnels<P>,
    ) -> bool {
        let Some(path) = tunnels.path(self.id) else { return false };
        let (reasons, was_silent) = (path.down_reasons(), path.is_silent());
        let state = self.liveness.state();
        let wanted = [
            (DownReason::Dead, state == State::Dead),
            (DownReason::Unproven, state == State::Probing || (state == State::Up && !usable)),
            (DownReason::Peer, self.is_refused()),
        ];
        let mut changed = false;
        // First what takes it down, so that it is not up in between.
        for (reason, present) in wanted {
            if present && !reasons.contains(reason) {
                tunnels.set_path_down(now, self.id, reason);
                changed = true;
            }
        }
        for (reason, present) in wanted {
            if !present && reasons.contains(reason) {
                tunnels.set_path_up(now, self.id, reason);
                changed = true;
            }
        }
        tunnels.set_economy_of_peer(now, self.id, self.economy_of_peer());
        // A peer whose interface lost its carrier has lost the packets in its queue, so none of them is waited for.
        let silent = self.liveness.is_silent() || self.peer_lost_interface();
        if silent != was_silent {
            tunnels.set_path_silent(now, self.id, silent);
        }
        changed
    }
}
