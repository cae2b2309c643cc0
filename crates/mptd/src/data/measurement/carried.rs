//! The traffic of paths with a cap, and how sparingly paths are used.

use std::collections::BTreeMap;
use std::time::Instant;

use mpt_api::AtCap;
use mpt_core::{DownReason, PathId};
use mpt_wire::control::Economy;
use mpt_wire::gre;

use super::capped::{Carried, Counters, Place};
use crate::data::system::System;
use crate::data::{DataPath, Wanted};

impl<S: System> DataPath<S> {
    /// Takes how much each path with a cap has carried since it was last asked.
    pub(crate) fn take_carried(&mut self) -> Vec<(Place, Carried)> {
        self.count_carried();
        let meters = self.capped.paths.iter_mut();
        meters.map(|(place, it)| (place.clone(), std::mem::take(&mut it.carried))).collect()
    }

    /// Notes what was carried so far, before paths are replaced.
    pub(in crate::data) fn count_carried(&mut self) {
        let mut capped = std::mem::take(&mut self.capped);
        for ((connection, path), meter) in &mut capped.paths {
            if let Ok(id) = self.find_path(connection, path) {
                meter.look(self.counters_of(id));
            }
        }
        self.capped = capped;
    }

    /// Says which paths have reached their caps, and what becomes of them. All others have not.
    pub(crate) fn set_reached(&mut self, reached: &BTreeMap<Place, AtCap>) {
        let now = self.system.now();
        let mut changed = Vec::new();
        for (place, meter) in &mut self.capped.paths {
            let to = reached.get(place).copied();
            if meter.reached != to {
                meter.reached = to;
                changed.push(place.clone());
            }
        }
        for (connection, path) in changed {
            if let Ok(id) = self.find_path(&connection, &path) {
                let metered = self.is_metered(id);
                self.spare(now, id, &(connection, path), metered);
            }
        }
        self.settle();
    }

    /// Takes over which paths have caps and which are metered, after a change.
    pub(in crate::data) fn follow_caps(&mut self, now: Instant, wanted: &[Wanted]) {
        let before = std::mem::take(&mut self.capped.paths);
        let of_configuration = wanted.iter().filter(|it| it.client.is_none());
        for config in of_configuration.map(|it| &it.config) {
            for path in &config.paths {
                let Ok(id) = self.find_path(&config.name, &path.name) else { continue };
                let place = (config.name.clone(), path.name.clone());
                if path.cap.is_some() {
                    let mut meter = before.get(&place).copied().unwrap_or_default();
                    // A path that has come in the place of another begins at 0.
                    meter.seen = self.counters_of(id);
                    self.capped.paths.insert(place.clone(), meter);
                }
                self.spare(now, id, &place, path.metered);
            }
        }
    }

    /// Sets how sparingly a path is used, as its configuration and its cap say.
    fn spare(&mut self, now: Instant, id: PathId, place: &Place, metered: bool) {
        let reached = self.capped.paths.get(place).and_then(|meter| meter.reached);
        let mut economy = if metered { Economy::METERED } else { Economy::NONE };
        if reached == Some(AtCap::Backup) {
            economy = economy.with(Economy::LAST_RESORT);
        }
        self.node.set_economy(now, id, economy);
        self.node.set_path_state(now, id, DownReason::Cap, reached == Some(AtCap::Stop));
    }

    fn is_metered(&self, id: PathId) -> bool {
        let path = self.node.tunnels().path(id);
        path.is_some_and(|path| path.economy().contains(Economy::METERED))
    }

    /// The counters of a path in bytes of whole IP packets: UDP and IP headers are added here.
    fn counters_of(&self, id: PathId) -> Counters {
        let Some(path) = self.node.tunnels().path(id) else { return Counters::default() };
        let outer = u64::from(mpt_core::path::mtu::overhead(path.config().outer(), 0));
        let connection = self.node.tunnels().connection(path.connection());
        let config = connection.map(mpt_core::Connection::config);
        let encapsulation = config.map_or(0, mpt_core::ConnectionConfig::encapsulation);
        let key = config.and_then(|config| config.key);
        let header = gre::Repr::control(key).header_len();

        let io = self.paths.get(id);
        let data = io.map(crate::data::paths::PathIo::counters).unwrap_or_default();
        let messages = io.map(|io| io.messages).unwrap_or_default();
        let session = self.node.sessions().session_of(path.connection());
        let view = session.and_then(|session| self.node.sessions().path(session, id));
        let received = path.received();
        Counters {
            data_sent: data.bytes + data.sent * outer,
            control_sent: messages.bytes + messages.count * outer,
            data_received: received.bytes + received.packets * (outer + u64::from(encapsulation)),
            control_received: view.map_or(0, |view| {
                view.frame_bytes + u64::from(view.frames) * (outer + header as u64)
            }),
        }
    }
}
