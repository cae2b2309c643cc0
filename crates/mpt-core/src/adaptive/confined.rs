//! Flows that do not take whichever path has credit: short ones, and those that the other end does not put in order.
//! Their packets wait for one path, and keep no others waiting.

use std::time::Instant;

use mpt_wire::ip::{Summary, protocol};

use super::load::Load;
use super::path::Sender;
use super::tag::Way;
use super::unordered::Keeps;
use super::wants::Wants;
use super::{ALIKE, Adaptive, is_bulk};
use crate::StoreId;

/// The flows in a row that are passed over in the search for one that may send.
const MOST_PASSED: usize = 16;
/// An odd number with well mixed bits (the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Adaptive {
    /// Notes a packet, or super-packet, of segments of `largest` bytes that is to be sent. Returns its way. `flow` is its
    /// hash in the queue. `sealed`: the packet can say that it is to be delivered at once. `now` is in the microseconds
    /// of [`Self::micros`].
    #[inline]
    pub(crate) fn way(
        &mut self,
        now: i64,
        (summary, packet, largest): (&Summary, &[u8], u32),
        sealed: bool,
        flow: impl FnOnce() -> u64,
    ) -> Way {
        if summary.protocol == protocol::TCP {
            let alone = self.short.alone().filter(|_| sealed && !summary.fragment);
            let Some(alone) = alone else { return Way::default() };
            let load = self.path_at(alone.slot).map_or_else(Load::default, |path| path.confined);
            let at_once = self.short.note(now, (alone, load), summary, packet);
            Way { only: at_once.then_some(alone.slot), at_once, unordered: false }
        } else {
            let keeps = self.differ && is_bulk(largest);
            let only = if keeps { self.keeps_to(now, summary, flow) } else { None };
            Way { only, at_once: false, unordered: true }
        }
    }

    /// Returns the slot of the path that short flows keep to, and the bytes up to which they end sooner over it alone.
    pub(crate) fn short_flows(&self) -> Option<(u16, u64)> {
        self.short.alone().map(|alone| (alone.slot, alone.bytes))
    }

    /// Returns true if the paths that carry bulk are not equally long.
    pub(super) fn paths_differ(&self) -> bool {
        let mut arrivals = self.bulk_paths().map(|(_, path)| arrival(path));
        let first = arrivals.next();
        first.zip(arrivals.last()).is_some_and(|(first, last)| last - first > ALIKE)
    }

    /// Returns the path of the next packet of a flow that the other end does not put in order: the one that was the
    /// best when the flow began. A flow that sends more than this carries, and takes no notice of a drop, has all
    /// paths from then on: the one over which the packet arrives the soonest, so that they still come in order.
    fn keeps_to(&mut self, now: i64, summary: &Summary, flow: impl FnOnce() -> u64) -> Option<u16> {
        let known = self.unordered.note(now, summary);
        let works = |slot| self.bulk_paths().any(|(other, _)| other == slot);
        let keeps = match known {
            Some(keeps) if keeps.only.is_none_or(works) => keeps,
            _ => {
                let all = known.is_some_and(|known| known.all);
                let keeps = Keeps { only: self.best_for_one(now), all };
                self.unordered.set(now, summary, keeps);
                keeps
            }
        };
        if self.queue.is_empty() {
            return keeps.only;
        }
        let flow = flow();
        let ahead = |slot| self.queue.bytes_of(flow_over(flow, Some(slot)));
        let own = self.bulk_paths().filter(|&(slot, _)| ahead(slot) > 0).count();
        // Each other flow that waits has its turn.
        let turns = self.queue.flows().saturating_sub(own) + 1;
        let wait = |slot, path: &Sender| (turns * ahead(slot)) as f64 / path.model.rate();
        if keeps.all {
            let arrives = |(slot, path): (u16, &Sender)| (slot, arrival(path) + wait(slot, path));
            let soonest = self.bulk_paths().map(arrives).min_by(|a, b| a.1.total_cmp(&b.1));
            return soonest.map(|(slot, _)| slot);
        }
        let path = self.path_at(keeps.only?)?;
        if wait(keeps.only?, path) > self.queue.longest_wait().as_micros() as f64 {
            self.unordered.set(now, summary, Keeps { all: true, ..keeps });
        }
        keeps.only
    }

    /// Returns the paths that carry bulk, the shortest first.
    pub(super) fn bulk_paths(&self) -> impl Iterator<Item = (u16, &Sender)> {
        self.ordered().filter(|(_, path)| path.role.carries_bulk())
    }

    /// Returns the one path that a packet may take. `None`: it may take any.
    #[inline]
    pub(super) fn only_slot(&self, wants: Wants) -> Option<u16> {
        let slot = wants.way.only?;
        let path = self.path_at(slot).filter(|path| !wants.ipv6 || path.ipv6);
        path.filter(|_| self.order.contains(&slot)).map(|_| slot)
    }

    /// Returns the packet whose segment would leave next, where the first one is confined to a path. A flow that its
    /// path has no credit for keeps no other one waiting. One that finds no path at all goes behind the confined ones,
    /// whose path it would always take otherwise.
    #[cold]
    pub(super) fn next_past_confined(&mut self, now: Instant) -> Option<StoreId> {
        let micros = self.micros(now);
        let flows = self.queue.flows();
        let mut next = if flows <= MOST_PASSED { Some(i64::MAX) } else { None };
        for _ in 0..flows.min(MOST_PASSED) {
            let head = self.queue.peek(now)?;
            let wants = Wants::of(&head);
            if self.choose(micros, wants).is_some() {
                return Some(head.tag.packet);
            }
            let path = self.only_slot(wants).and_then(|slot| self.path_at(slot));
            next = next.zip(path).map(|(next, path)| next.min(path.pacer.next()));
            self.queue.end_turn();
        }
        self.refused_at = Some(micros);
        // The other paths may have credit meanwhile.
        self.confined_until = next;
        None
    }
}

/// Returns the hash of a flow in the queue whose packets wait for this path only.
pub(crate) fn flow_over(flow: u64, only: Option<u16>) -> u64 {
    flow.wrapping_add(u64::from(only.unwrap_or(0)).wrapping_mul(SPREAD))
}

/// Returns how long a packet takes over a path, in microseconds, up to a constant.
fn arrival(path: &Sender) -> f64 {
    path.delay + path.foreign_queue
}
