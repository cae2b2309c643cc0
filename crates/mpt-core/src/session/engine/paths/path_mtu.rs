//! Path MTU discovery in a session (RFC 8899): padded probes out, their echoes in, and what is found
//! to the tunnels.
//!
//! A padded probe is a Probe followed by a Pad. It takes no part in liveness and round-trip times:
//! its token is known to [`Discovery`](crate::path::discovery::Discovery) alone, so that the loss of
//! a probe that is too large says nothing about the path.

use std::time::Instant;

use mpt_wire::control::frame::{SEALED_HEADER_LEN, TAG_LEN};
use mpt_wire::control::{Message, Writer};
use mpt_wire::{gre, ip};

use super::path::SessionPath;
use crate::path::discovery::{Bounds, Heard};
use crate::path::mtu;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::session::engine::{PathEvent, Sessions};
use crate::{ConnectionId, Path, PathId, Tunnels};

impl Sessions {
    /// Returns true if the session of a connection finds the MTUs of its paths. It does not without
    /// a session, nor where probes are switched off.
    #[must_use]
    pub fn finds_path_mtus(&self, connection: ConnectionId) -> bool {
        let slot = self.by_connection.get(&connection);
        let session = slot.and_then(|&slot| self.sessions.get(slot as usize)?.as_deref());
        session.is_some_and(|session| !session.terms.timing.is_off())
    }

    /// An ICMP message says that a path carries outer packets of at most `mtu` bytes. Probes find out
    /// whether it is true. Returns whether they are sent: not if the size is no news, or if another
    /// message was followed up a moment ago.
    pub(crate) fn check_path_mtu(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        path: PathId,
        mtu: u16,
    ) -> bool {
        let Some(&slot) = self.by_connection.get(&connection) else { return false };
        let Some(session) = self.at(slot) else { return false };
        let mut paths = session.paths.iter_mut().filter(|it| it.id == path);
        let checked = paths.next().is_some_and(|path| path.discovery.hint(now, mtu));
        self.arm(slot);
        checked
    }
}

impl Session {
    /// Lets the searches go on, and tells the tunnels what they have found.
    pub(crate) fn follow_path_mtus<P: Copy>(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        if self.terms.timing.is_off() {
            return;
        }
        let Some(config) = tunnels.connection(connection).map(crate::Connection::config) else {
            return;
        };
        let encapsulation = config.encapsulation();
        let has_keys = self.keys.sending(now).is_some();
        for path in &mut self.paths {
            let Some(data) = tunnels.path(path.id) else { continue };
            let (before, link) = (data.mtu(), data.config().mtu);
            path.search_mtu(now, bounds(data, encapsulation), has_keys);
            let found = path.discovery.mtu();
            let device = tunnels.limit_path_mtu(path.id, (found < link).then_some(found));
            if found != before {
                shared.tell(PathEvent::Mtu { path: path.id, before, found, device });
            }
        }
    }

    /// Sends the padded probe that is due on a path, if one is.
    pub(crate) fn probe_path_mtu<P: Copy>(
        &mut self,
        now: Instant,
        i: usize,
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        if self.paths[i].discovery.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        let token = shared.random.u64();
        // A probe that cannot leave, since there are no keys or no address, counts as lost.
        if let Some(size) = self.paths[i].discovery.poll_probe(now, token)
            && let Some(place) = self.keys.sending(now)
            && let Some(outer) = tunnels.path(self.paths[i].id).map(|path| path.config().outer())
        {
            self.send_padded_probe(shared, place, i, token, size, outer);
        }
    }

    fn send_padded_probe(
        &mut self,
        shared: &mut Shared,
        place: Place,
        i: usize,
        token: u64,
        size: u16,
        outer: ip::Version,
    ) {
        let Some((wire_id, destination)) = self.way(place, i) else { return };
        let key = self.identity.key;
        let gre = gre::Repr::control(key).header_len();
        let frame = usize::from(mtu::inner(size, outer, gre as u16));
        let len = frame.saturating_sub(SEALED_HEADER_LEN + TAG_LEN);
        let mut payload = std::mem::take(&mut shared.payload);
        payload.clear();
        let mut writer = Writer::of_path_probe(&mut payload, len);
        let written = writer.push(&Message::Probe { token }).is_ok() && writer.pad_to(len).is_ok();
        let sent = written
            && self.keys.at_mut(place).is_some_and(|keys| {
                shared.outbox.send(&mut shared.counters, destination, key, |frame| {
                    keys.transport.seal(wire_id, &payload, frame).is_ok()
                })
            });
        if sent && self.test.is_some() {
            self.note_sent(place, wire_id, payload.len());
        }
        shared.counters.probes_sent += u64::from(sent);
        shared.payload = payload;
    }
}

impl SessionPath {
    /// Lets the search for its MTU go on, within these bounds.
    fn search_mtu(&mut self, now: Instant, bounds: Bounds, has_keys: bool) {
        let up = has_keys && !self.is_suspended() && self.is_up();
        self.discovery.set_bounds(now, bounds);
        self.discovery.set_up(now, up);
        if self.discovery.next_timeout().is_some_and(|at| at <= now) {
            let heard = Heard {
                confirmed: self.liveness.confirmed_at(now),
                echo_within: self.liveness.rtt().longest_expected(),
            };
            self.discovery.handle_timeout(now, heard);
        }
    }
}

/// Between which sizes the MTU of a path is searched, if its data is encapsulated in as many bytes: the
/// base is what it takes to carry IPv6 inside.
fn bounds(path: &Path, encapsulation: u16) -> Bounds {
    let outer = path.config().outer();
    Bounds {
        min: mtu::minimum(outer),
        base: mtu::outer(mtu::IPV6_MINIMUM, outer, encapsulation),
        max: path.config().mtu,
    }
}
