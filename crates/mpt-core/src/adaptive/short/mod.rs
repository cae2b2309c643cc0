//! Short flows, which keep to one path where that alone is much quicker than all paths together.
//!
//! Bulk is held for the longest path from its first packet on, since a flow that is held only later leaves slow start
//! at once. A flow that ends before it fills a path pays for that in each of its round-trip times, and gains nothing.
//! Nothing says whether a flow stays short when it begins. But flows of the same server and port are mostly alike,
//! so those before it tell.
//!
//! `docs/adaptive.md` has the rules, and the reasons for them.

mod flow;
mod services;

use mpt_wire::ip::Summary;

use self::flow::{Flow, Seen};
use self::services::Services;
use super::flow_table::{FlowTable, Found};
use super::load::Load;

/// The share of their path that flows may take before further ones have all paths.
const FULL: f64 = 0.7;

/// A path that is quicker alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alone {
    pub(super) slot: u16,
    /// The bytes up to which a flow ends sooner over this path alone than over all.
    pub(super) bytes: u64,
    /// The rate of the path, in bytes per microsecond.
    pub(super) rate: f64,
}

/// The short flows of one sender. Times are microseconds of the sender's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortFlows {
    /// The path over which short flows end the soonest; `None` where they do over all paths together.
    alone: Option<Alone>,
    flows: FlowTable<Flow>,
    services: Services,
}

impl ShortFlows {
    /// Returns the path to which short flows keep, if they keep to one.
    #[inline]
    pub(super) fn alone(&self) -> Option<Alone> {
        self.alone
    }

    /// Sets the path to which short flows keep.
    pub(super) fn set_alone(&mut self, alone: Option<Alone>) {
        self.alone = alone;
    }

    /// Notes a TCP packet, or super-packet, that is sent. Returns true if its flow is expected to stay short. `load`
    /// is what flows take of the path that short ones keep to.
    // Where no path alone is quicker, nothing of this happens.
    #[inline(never)]
    pub(super) fn note(
        &mut self,
        now: i64,
        (alone, load): (Alone, Load),
        summary: &Summary,
        packet: &[u8],
    ) -> bool {
        let Some(seen) = Seen::of(summary, packet) else { return false };
        let (services, tag) = (&mut self.services, summary.flow_hash(0));
        let Some(Found { flow, begins, ended }) = self.flows.note(now, tag) else { return false };
        if let Some(ended) = ended {
            ended.tell(services);
        }
        if begins {
            flow.begin(services::of(summary));
            flow.short |= services.are_short(flow.service) && load.share(now, alone.rate) < FULL;
        }
        if flow.add(seen) > alone.bytes && !flow.long {
            flow.long = true;
            services.note_long(flow.service);
        }
        let short = flow.short;
        if seen.ends {
            flow.tell(services);
            self.flows.remove(tag);
        }
        short
    }

    /// Forgets the flows, but not what those that have ended have shown.
    pub(super) fn rest(&mut self) {
        self.flows.clear();
    }
}

#[cfg(test)]
mod tests;
