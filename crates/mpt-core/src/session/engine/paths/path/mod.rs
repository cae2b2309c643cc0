//! One path of a session.

mod addresses;
mod pace;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::control::{Economy, PathEntry, PathState};

use self::addresses::Addresses;
use self::pace::Pace;
use super::candidate::Candidate;
use super::source::Source;
use crate::adaptive::QUICK;
use crate::liveness::{Liveness, State, Timing};
use crate::path::discovery::{Bounds, Discovery};
use crate::path::{DownReason, DownReasons};
use crate::session::engine::keys::epochs::Epoch;
use crate::session::engine::measurement::survey::{Answers, Survey};
use crate::session::engine::{Destination, SessionPathId};
use crate::session::{OneWay, RttEstimate, Unloaded};
use crate::{Path, PathId, SocketId, Tunnels};

/// The use that the owner of this end allows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnUse {
    /// The path may be used.
    Open,
    /// The administrator or the cap has taken the path out of use. Frames that say so may leave on it.
    Closed,
    /// The interface is down, so nothing can be sent.
    CutOff,
}

impl OwnUse {
    fn of(reasons: DownReasons) -> Self {
        if reasons.contains(DownReason::Interface) {
            Self::CutOff
        } else if is_closed(reasons) {
            Self::Closed
        } else {
            Self::Open
        }
    }
}

/// Returns true if the administrator or the cap has taken a path out of use.
fn is_closed(reasons: DownReasons) -> bool {
    let closing = [DownReason::Administrative, DownReason::Cap];
    closing.into_iter().any(|reason| reasons.contains(reason))
}

/// The peer's name of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerName {
    /// The name of the path in frames under keys whose handshake the peer began.
    pub(crate) id: SessionPathId,
    /// The number of completed handshakes when the name was last known to be right.
    pub(crate) bound: u64,
}

/// The authenticated frames that have come on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameCount {
    /// Their number, modulo 2^32.
    pub(crate) frames: u32,
    /// Their bytes, without anything around them.
    pub(crate) bytes: u64,
}

/// One path of a session.
#[derive(Debug)]
pub(crate) struct SessionPath {
    pub(crate) id: PathId,
    /// Its name in frames under keys whose handshake this end began.
    pub(crate) own_id: SessionPathId,
    /// Its name under the other ones, once the peer has told it.
    pub(crate) peer_name: Option<PeerName>,
    addresses: Addresses,
    /// Another address, which was asked whether the peer is there.
    pub(crate) candidate: Option<Candidate>,
    own_use: OwnUse,
    /// The last announcement of the peer about the path.
    pub(crate) peer: Option<PathEntry>,
    /// False while the peer says that it gives the path no bulk.
    pub(crate) brings_bulk: bool,
    /// Data packets the peer sent and received on it, as it says.
    pub(crate) peer_traffic: (u64, u64),
    pub(crate) received: FrameCount,
    pub(crate) liveness: Liveness,
    pace: Pace,
    /// The sizes of outer packets that the path carries.
    pub(crate) discovery: Discovery,
    /// The loss of the path, and the variation of its delays.
    pub(crate) survey: Survey,
    /// The one-way delay by the clocks in the peer's frames.
    pub(crate) one_way: OneWay,
    /// The one-way delay while the path carries no data.
    pub(crate) unloaded: Unloaded,
}

impl SessionPath {
    pub(crate) fn new(now: Instant, id: PathId, path: &Path, own_id: u16, timing: Timing) -> Self {
        let mtu = path.config().mtu;
        let mut this = Self {
            id,
            own_id,
            peer_name: None,
            addresses: Addresses::of(path),
            candidate: None,
            own_use: OwnUse::Open,
            peer: None,
            brings_bulk: true,
            peer_traffic: (0, 0),
            received: FrameCount::default(),
            liveness: Liveness::new(now, timing),
            pace: Pace::new(now, timing),
            // The true bounds follow before it is up.
            discovery: Discovery::new(now, Bounds { min: mtu, base: mtu, max: mtu }),
            survey: Survey::new(now),
            one_way: OneWay::new(),
            unloaded: Unloaded::new(),
        };
        this.follow(now, path);
        this
    }

    /// Takes over what others have changed.
    pub(crate) fn follow(&mut self, now: Instant, path: &Path) {
        self.own_use = OwnUse::of(path.down_reasons());
        if self.addresses.follow(path) {
            if !self.is_suspended() {
                self.liveness.restart(now);
            }
            self.measure_anew(now);
        }
        self.pace.set_economy(path.economy());
        self.suspend_or_restart(now);
        self.pace(now);
    }

    /// Forgets what was measured, since the way of the packets is another one.
    fn measure_anew(&mut self, now: Instant) {
        self.discovery.restart(now);
        self.survey = Survey::new(now);
        self.forget_delays();
    }

    /// Forgets the one-way delays.
    pub(crate) fn forget_delays(&mut self) {
        self.one_way = OneWay::new();
        self.unloaded = Unloaded::new();
    }

    /// Other timers from now on.
    pub(crate) fn set_timing(&mut self, now: Instant, timing: Timing) {
        self.pace.set_timing(timing);
        self.pace(now);
    }

    /// Probes it as often as both ends would like.
    pub(crate) fn pace(&mut self, now: Instant) {
        self.liveness.set_timing(now, self.pace.timing(self.economy_of_peer()));
    }

    /// Measures how much data it carries, which decides how often it is probed where that is to be
    /// spared.
    pub(crate) fn weigh(&mut self, now: Instant, path: &Path) {
        if self.pace.weigh(now, path.sent().bytes + path.received().bytes) {
            self.pace(now);
        }
    }

    /// Returns the economy that the peer has asked for.
    fn economy_of_peer(&self) -> Economy {
        self.peer.map_or(Economy::NONE, |entry| entry.economy)
    }

    /// Probes it or not, as both ends hold it for usable.
    pub(crate) fn suspend_or_restart(&mut self, now: Instant) {
        let suspended = self.is_down() || self.is_refused();
        if suspended != self.is_suspended() {
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

    /// Returns what is known of its round-trip times without queues. Where delays jitter, the least of many is none that
    /// packets have: a survey has shown the usual one. Without it, that is the smoothed one, at most twice the least,
    /// since data may have filled a queue. `None` before the first answer.
    fn answers(&self) -> Option<Answers> {
        let RttEstimate { smoothed, minimum, variation, .. } = self.liveness.rtt().known()?;
        let usual = if minimum < QUICK { minimum } else { smoothed.min(2 * minimum) };
        Some(self.survey.answers().unwrap_or(Answers { usual, deviation: variation }))
    }

    /// Returns its usual round-trip time without queues. `None` before the first answer.
    pub(crate) fn usual_rtt(&self) -> Option<Duration> {
        Some(self.answers()?.usual)
    }

    /// Returns the time in which nearly every answer comes over it without queues: of two paths the steady one is the
    /// quicker. `None` before the first answer.
    pub(crate) fn answers_within(&self) -> Option<Duration> {
        self.answers().map(|Answers { usual, deviation }| usual + 2 * deviation)
    }

    /// Returns true if it works.
    pub(crate) fn is_up(&self) -> bool {
        self.liveness.state() == State::Up
    }

    /// Returns true if it is neither probed nor used, as one of the ends wants it.
    pub(crate) fn is_suspended(&self) -> bool {
        self.liveness.is_suspended()
    }

    /// Returns true if this end does not use it: by the administrator, its cap or its interface.
    pub(crate) fn is_down(&self) -> bool {
        self.own_use != OwnUse::Open
    }

    /// Returns true if its interface is down, so that nothing can be sent.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.own_use == OwnUse::CutOff
    }

    /// Returns its name in frames under keys whose handshake the peer began, once the peer has told it.
    pub(crate) fn peer_id(&self) -> Option<SessionPathId> {
        self.peer_name.map(|name| name.id)
    }

    /// Returns its remote address, while that is known.
    pub(crate) fn remote(&self) -> Option<SocketAddr> {
        self.addresses.remote()
    }

    /// Begins anew without a remote address, which another path has now.
    pub(crate) fn lose_remote(&mut self, now: Instant) {
        self.addresses.forget_remote();
        if !self.is_suspended() {
            self.liveness.restart(now);
        }
    }

    /// Its name in frames under these keys.
    pub(crate) fn wire_id(&self, keys: &Epoch) -> Option<SessionPathId> {
        if keys.is_initiator() { Some(self.own_id) } else { self.peer_id() }
    }

    /// Returns the address to which a frame from there is answered.
    pub(crate) fn answer_to(&self, socket: SocketId, remote: SocketAddr) -> Destination {
        if self.goes_to(remote) && self.addresses.leaves_by(socket) {
            Destination::Path(self.id)
        } else {
            Destination::Address { socket, remote }
        }
    }

    /// An authentic frame of `len` bytes came on it.
    pub(crate) fn handle_frame(&mut self, now: Instant, len: usize) {
        self.received.frames = self.received.frames.wrapping_add(1);
        self.received.bytes += len as u64;
        self.liveness.handle_frame(now);
    }

    /// Returns true if its frames arrive from another address than they are sent to.
    pub(crate) fn is_elsewhere(&self, socket: SocketId, remote: SocketAddr) -> bool {
        !self.goes_to(remote) || !self.listens_on(socket)
    }

    /// Returns true if its packets go to this address.
    pub(crate) fn goes_to(&self, remote: SocketAddr) -> bool {
        self.addresses.goes_to(remote)
    }

    /// Returns true if its packets may arrive on this socket.
    pub(crate) fn listens_on(&self, socket: SocketId) -> bool {
        self.addresses.listens_on(socket)
    }

    /// Returns true if a frame from there is from the peer's end of this path, as far as that is
    /// known.
    pub(crate) fn is_from(&self, source: Source) -> bool {
        self.addresses.is_from(source)
    }

    /// Its other end has moved, and has answered from there.
    pub(crate) fn arrive_at(&mut self, now: Instant, path: &Path) {
        self.addresses.follow(path);
        self.liveness.moved(now);
        self.measure_anew(now);
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
        let state = if is_closed(reasons) {
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
