//! Short flows, which keep to one path where that alone is much quicker than all paths together.
//!
//! Bulk is held for the longest path from its first packet on, since a flow that is held only later leaves slow start
//! at once. A flow that ends before it fills a path pays for that in each of its round-trip times, and gains nothing.
//! Whether a flow stays short is not known when it begins. But flows of the same server and port are mostly alike,
//! so those before it tell.
//!
//! `docs/adaptive.md` has the rules, and the reasons for them.

mod flows;
mod services;

use mpt_wire::ip::Summary;
use mpt_wire::tcp;

use self::flows::{Ends, Flows, Keeps, Seen};
use self::services::Services;
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
    flows: Flows,
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
        let Some(seen) = seen(summary, packet) else { return false };
        let Some(mut place) = self.flows.find(now, summary.flow_hash(0)) else { return false };
        let services = &mut self.services;
        if let Some(former) = place.take_ended(now) {
            services.note(former.service, former.bytes);
        }
        let flow = place.flow();
        if flow.begins() {
            flow.service = services::of(summary);
            flow.short |= services.are_short(flow.service) && load.share(now, alone.rate) < FULL;
        }
        if flow.add(now, seen) > alone.bytes && !flow.long {
            flow.long = true;
            services.note_long(flow.service);
        }
        let short = flow.short;
        if seen.ends == Ends::Yes
            && let Some(ended) = place.end()
        {
            services.note(ended.service, ended.bytes);
        }
        short
    }

    /// Notes a packet, or super-packet, of a flow that the other end does not put in order. Returns what the flow keeps
    /// to: what was to `choose` when it began, or is now where that path no longer `works`.
    #[inline(never)]
    pub(super) fn note_unordered(
        &mut self,
        now: i64,
        summary: &Summary,
        works: impl FnOnce(u16) -> bool,
        choose: impl FnOnce() -> Option<u16>,
    ) -> Keeps {
        let Some(mut place) = self.flows.find(now, summary.flow_hash(0)) else {
            return Keeps { only: choose(), all: false };
        };
        place.take_ended(now);
        let flow = place.flow();
        if flow.begins() {
            flow.keeps = Keeps { only: choose(), all: false };
        } else if flow.keeps.only.is_some_and(|slot| !works(slot)) {
            flow.keeps.only = choose();
        }
        flow.add(now, Seen { bytes: summary.total_len as u32, acknowledged: None, ends: Ends::No });
        flow.keeps
    }

    /// Lets a flow that the other end does not put in order have all paths, until it pauses.
    pub(super) fn spread(&mut self, now: i64, summary: &Summary) {
        if let Some(mut place) = self.flows.find(now, summary.flow_hash(0)) {
            place.flow().keeps.all = true;
        }
    }

    /// Forgets the flows, but not what those that have ended have shown.
    pub(super) fn rest(&mut self) {
        self.flows.clear();
    }
}

/// Returns what a TCP packet shows of its flow. `None`: it is cut off.
fn seen(summary: &Summary, packet: &[u8]) -> Option<Seen> {
    let segment =
        tcp::Packet::new_checked(packet.get(summary.transport..summary.total_len)?).ok()?;
    let flags = segment.flags();
    let acknowledged = flags.contains(tcp::Flags::ACK).then(|| segment.acknowledgment());
    let ends = flags.intersects(tcp::Flags::FIN | tcp::Flags::RST);
    let ends = if ends { Ends::Yes } else { Ends::No };
    Some(Seen { bytes: summary.total_len as u32, acknowledged, ends })
}

#[cfg(test)]
mod tests;
