//! The simulator's variant of D-SACK: duplicates are counted for a hole, wherever it is.

use super::PATHS;
use super::packet::Blocks;
use super::subflow::Subflow;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DSack {
    /// Number in the connection of the last hole that was preferred to another subflow's.
    last_preferred: u64,
}

/// The meaning of the blocks of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The blocks have no consequence.
    None,
    /// A retransmission was not needed: this subflow returns to its saved window.
    Return(usize),
    /// A duplicate for the first outstanding packet of this subflow.
    Duplicate(usize),
}

impl DSack {
    /// Reads the blocks of an acknowledgement that came on `path`.
    pub(super) fn handle(
        &mut self,
        path: usize,
        blocks: Blocks,
        subflows: &mut [Subflow; PATHS],
    ) -> Verdict {
        for subflow in subflows.iter_mut() {
            report(subflow, (blocks.own, blocks.own + 1));
            report(subflow, blocks.lowest);
        }
        let Some(hole) = self.hole(subflows) else { return Verdict::None };
        let own = &subflows[path].outstanding;
        let index = own.partition_point(|packet| packet.data_sequence < blocks.own);
        let spurious = own.get(index).is_some_and(|packet| {
            packet.data_sequence == blocks.own
                && packet.retransmitted.is_some()
                && packet.reports > 1
        });
        if spurious { Verdict::Return(hole) } else { Verdict::Duplicate(hole) }
    }

    /// Returns the subflow whose first outstanding packet is missing.
    fn hole(&mut self, subflows: &[Subflow; PATHS]) -> Option<usize> {
        let first = |path: usize| {
            let packet = subflows[path].outstanding.front()?;
            (packet.reports == 0).then_some(packet.data_sequence)
        };
        let mut found = first(0).map(|data_sequence| (0, data_sequence));
        for path in 1..PATHS {
            let Some(candidate) = first(path) else { continue };
            match found {
                None => found = Some((path, candidate)),
                Some((_, data_sequence)) => {
                    if candidate < data_sequence && candidate > self.last_preferred {
                        self.last_preferred = candidate;
                        found = Some((path, candidate));
                    }
                }
            }
        }
        found.map(|(path, _)| path)
    }
}

/// Counts one report for every outstanding packet from `from` up to `to`.
fn report(subflow: &mut Subflow, (from, to): (u64, u64)) {
    let start = subflow.outstanding.partition_point(|packet| packet.data_sequence < from);
    for packet in subflow.outstanding.range_mut(start..) {
        if packet.data_sequence >= to {
            break;
        }
        packet.reports = packet.reports.saturating_add(1);
    }
}
