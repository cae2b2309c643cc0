//! The paths of a connection: how they join and leave it, and what follows from their changes.

use std::time::{Duration, Instant};

use super::Connection;
use super::protection::Protection;
use crate::path::mtu::IPV6_MINIMUM;
use crate::path::{Path, Paths};
use crate::reorder::EqualizedBuffer;
use crate::scheduler::{Member, flow_identity};
use crate::tunnel::connection::ipv6::Ipv6Paths;
use crate::tunnel::filter::Sources;
use crate::tunnel::{DeviceSink, ToDevice};
use crate::{Mapping, PathConfig, PathId};

impl<P: Copy> Connection<P> {
    /// Gives a slot to a path.
    pub(crate) fn free_slot(&mut self) -> usize {
        let free = self.slots.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    /// Takes a new path into use.
    pub(crate) fn attach(&mut self, now: Instant, id: PathId, path: &Path) {
        let slot = usize::from(path.slot);
        self.slots[slot] = Some(id);
        self.set_member(slot, Some(path));
        if let Some(reorder) = &mut self.reorder {
            attach_to(reorder, now, path);
        }
    }

    /// Takes a path out of use.
    pub(crate) fn detach(&mut self, now: Instant, path: &Path) {
        let slot = usize::from(path.slot);
        self.slots[slot] = None;
        self.set_member(slot, None);
        if let Some(ipv6) = &mut self.tally.ipv6 {
            ipv6.remove(slot);
        }
        if let Some(reorder) = &mut self.reorder {
            reorder.remove_path(now, slot);
            if let Some(observer) = reorder.observer_mut() {
                observer.remove(slot);
            }
        }
    }

    /// Applies what has changed of a path; `was` is how it was before.
    pub(crate) fn update_path(&mut self, now: Instant, path: &Path, was: (bool, u16)) {
        let slot = usize::from(path.slot);
        self.set_member(slot, Some(path));
        if let Some(ipv6) = &mut self.tally.ipv6 {
            ipv6.update(slot, member(path));
        }
        if let Some(reorder) = &mut self.reorder {
            let (was_heard, weight_in) = was;
            if weight_in != path.config.weight_in {
                reorder.buffer_mut().set_weight(slot, path.config.weight_in);
            }
            match (was_heard, path.is_heard()) {
                (true, false) => reorder.path_down(now, slot),
                (false, true) if !path.unused => reorder.buffer_mut().path_up(now, slot),
                _ => {}
            }
        }
    }

    /// The peer announced the weight of a path in what it sends, from its number `from` on.
    pub(crate) fn announce(&mut self, now: Instant, from: u32, path: &Path, weight: u16) {
        let Some(reorder) = &mut self.reorder else { return };
        let slot = usize::from(path.slot);
        if path.is_heard() {
            reorder.buffer_mut().announce(now, from, slot, weight);
        } else if weight > 0 {
            // It stays down in the buffer until something arrives on it again.
            reorder.buffer_mut().set_weight_of_down(slot, weight);
        }
    }

    /// Sets by how much packets of a path arrive earlier than on the longest path. Copies of one
    /// packet are not made equally late, since the first one is wanted at once.
    pub(crate) fn set_lead(&mut self, slot: usize, lead: Duration) {
        let equal = matches!(self.config.mapping, Mapping::Packet | Mapping::Adaptive);
        if let Some(reorder) = &mut self.reorder {
            reorder.set_lead(slot, if equal { lead } else { Duration::ZERO });
        }
    }

    /// Applies the configuration to everything that follows from it, but for the reorder buffer.
    pub(crate) fn refresh(&mut self, paths: &Paths) {
        self.scheduler.set_mapping(self.config.mapping);
        self.sources = Sources::new(&self.config.sources);
        self.key = self.config.key;
        self.refresh_seal();
        self.direction = self.config.direction;
        self.ecn = self.config.ecn;
        self.copy_dscp = self.config.copy_dscp;
        self.device = self.config.device;
        self.refresh_paths(paths);
    }

    /// Applies the configuration to the reorder buffer; one that is no longer wanted is emptied.
    pub(crate) fn refresh_reorder<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        paths: &Paths,
        sink: &mut S,
    ) {
        let sink = &mut ToDevice { device: self.config.device, sink };
        match &mut self.reorder {
            Some(reorder) if self.config.reorders() => {
                reorder.set_config(now, self.config.reorder, sink);
            }
            Some(reorder) => {
                reorder.flush(now, sink);
                self.reorder = None;
            }
            None => self.start_reorder(now, paths),
        }
    }

    /// Makes the reorder buffer, if one is wanted.
    pub(crate) fn start_reorder(&mut self, now: Instant, paths: &Paths) {
        if self.config.reorders() {
            let mut reorder = EqualizedBuffer::new(self.config.reorder);
            reorder.buffer_mut().set_evidence(!self.tally.entropy);
            reorder.buffer_mut().expect_restarts(self.config.loose);
            reorder.buffer_mut().trust_numbers(self.protection == Protection::Sealed);
            for path in self.paths().filter_map(|id| paths.get(id)) {
                attach_to(&mut reorder, now, path);
            }
            self.reorder = Some(Box::new(reorder));
        }
    }

    /// Updates what follows from the paths.
    pub(crate) fn refresh_paths(&mut self, paths: &Paths) {
        let entropy = self.known_paths(paths).any(|path| path.config.entropy);
        self.tally.entropy = entropy;
        self.hash_flows = entropy || self.config.mapping == Mapping::Flow;
        if let Some(reorder) = &mut self.reorder {
            reorder.buffer_mut().set_evidence(!entropy);
        }
        let inner = |path: &Path| self.config.inner_mtu_of(&path.config, path.mtu());
        let smallest = self.known_paths(paths).map(inner).min();
        if let Some(smallest) = smallest {
            self.inner_mtu = smallest;
        }
        if let Some(adaptive) = &mut self.tally.adaptive {
            for id in self.slots.iter().copied().flatten() {
                if let Some(path) = paths.get(id) {
                    let inner = self.config.inner_mtu_of(&path.config, path.mtu());
                    adaptive.set_ipv6(usize::from(path.slot), inner >= IPV6_MINIMUM);
                }
            }
        }
        let members = self.known_paths(paths).map(|path| (path, member(path)));
        let ipv6 = Ipv6Paths::new(&self.config, members);
        self.tally.ipv6 = ipv6;
    }

    fn known_paths<'a>(&'a self, paths: &'a Paths) -> impl Iterator<Item = &'a Path> + Clone {
        self.paths().filter_map(|id| paths.get(id))
    }
}

pub(super) fn member(path: &Path) -> Member {
    let PathConfig { ref name, weight_out, .. } = *path.config;
    let tier = path.effective_tier();
    Member { weight: weight_out, tier, up: path.is_up(), identity: flow_identity(name) }
}

fn attach_to<P: Copy>(reorder: &mut EqualizedBuffer<P>, now: Instant, path: &Path) {
    let slot = usize::from(path.slot);
    reorder.buffer_mut().add_path(now, slot, path.config.weight_in);
    if !path.is_heard() || path.unused {
        reorder.path_down(now, slot);
    }
}
