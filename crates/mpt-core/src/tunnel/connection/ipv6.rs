//! IPv6 on a connection of which some paths are too narrow for it.
//!
//! An IPv6 link carries packets of 1280 bytes (RFC 8200, section 5), and no IPv6 host makes its
//! packets smaller than that when it is told so. A path that carries less is not used for IPv6: the
//! other paths share these packets in proportion to their weights, and where there is none, IPv6 is
//! refused at once, rather than carried until the first large packet.

use crate::path::{Path, mtu};
use crate::scheduler::{Member, Scheduler};
use crate::{ConnectionConfig, PathConfig};

/// The paths of a connection that carry IPv6, where not all of them do.
#[derive(Debug)]
pub(crate) struct Ipv6Paths {
    /// The largest inner packet in bytes; `None` where no path carries IPv6.
    pub(crate) mtu: Option<u16>,
    pub(crate) scheduler: Scheduler,
    /// By slot: whether the path carries IPv6.
    carries: Vec<bool>,
}

impl Ipv6Paths {
    /// `None` where all of these paths (with their slots) carry IPv6.
    pub(crate) fn new<'a>(
        config: &ConnectionConfig,
        paths: impl Iterator<Item = (&'a Path, Member)> + Clone,
    ) -> Option<Box<Self>> {
        let inner = |path: &Path| config.inner_mtu_of(&path.config, path.mtu());
        if paths.clone().all(|(path, _)| inner(path) >= mtu::IPV6_MINIMUM) {
            return None;
        }
        let mut this =
            Self { mtu: None, scheduler: Scheduler::new(config.mapping), carries: Vec::new() };
        for (path, member) in paths {
            let (slot, inner) = (usize::from(path.slot), inner(path));
            if inner < mtu::IPV6_MINIMUM {
                continue;
            }
            this.mtu = Some(this.mtu.map_or(inner, |mtu| mtu.min(inner)));
            this.scheduler.set(slot, Some(member));
            this.carries.resize(this.carries.len().max(slot + 1), false);
            this.carries[slot] = true;
        }
        Some(Box::new(this))
    }

    /// A path has changed, but for its MTU.
    pub(crate) fn update(&mut self, slot: usize, member: Member) {
        if self.carries.get(slot) == Some(&true) {
            self.scheduler.set(slot, Some(member));
        }
    }

    /// A path is gone.
    pub(crate) fn remove(&mut self, slot: usize) {
        if let Some(carries) = self.carries.get_mut(slot)
            && std::mem::take(carries)
        {
            self.scheduler.set(slot, None);
        }
    }
}

impl ConnectionConfig {
    /// Largest inner packet in bytes on one path with this path MTU.
    pub(crate) fn inner_mtu_of(&self, path: &PathConfig, path_mtu: u16) -> u16 {
        mtu::inner(path_mtu, path.outer(), self.encapsulation()).min(self.mtu.unwrap_or(u16::MAX))
    }
}
