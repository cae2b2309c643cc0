//! The receiver of one subflow, and that of plain TCP.

use std::collections::VecDeque;

use crate::kernel::time::Time;
use crate::simulation::{self, Outgoing};
use crate::transport::ranges::Ranges;

use super::{Ack, BLOCKS, Block, Segment, WireSizes};

/// Number of blocks remembered in the order in which they changed; more are not reported.
const RECENT: usize = 8;

/// Segments of a super-packet: 64 KiB at the most.
const SUPER_PACKET: usize = 44;

/// The receiving half of one subflow: what it has, and what it acknowledges.
#[derive(Clone, Debug, Default)]
pub struct HalfReceiver {
    next: u64,
    above: Ranges,
    /// A segment of each block, the most recently received first (RFC 2018, section 4).
    recent: VecDeque<u64>,
    echo: Time,
    highest_transmission: Option<u64>,
    acks: u64,
    /// True if a segment was marked, and the sender has not answered that yet.
    congestion: bool,
}

impl HalfReceiver {
    /// Returns the number below which all segments have come.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of segments above [`HalfReceiver::next`] that have come.
    pub fn above(&self) -> u64 {
        self.above.count()
    }

    /// Handles a segment. Returns its acknowledgement, without the part of the connection.
    pub fn handle(&mut self, segment: &Segment) -> Ack {
        let sequence = segment.sequence;
        // RFC 7323, 4.3: segments above a gap do not count.
        if sequence <= self.next {
            self.echo = self.echo.max(segment.timestamp);
        }
        let out_of_order =
            self.highest_transmission.is_some_and(|highest| segment.transmission < highest);
        self.highest_transmission = self.highest_transmission.max(Some(segment.transmission));

        let duplicate = !segment.syn && (sequence < self.next || self.above.contains(sequence));
        if !duplicate && !segment.syn {
            self.take(sequence);
        }
        // RFC 3168, section 6.1.3.
        self.congestion &= !segment.ecn.reduced;
        self.congestion |= segment.ecn.congested;
        let ack = Ack {
            next: self.next,
            blocks: self.blocks(),
            duplicate: duplicate.then_some(sequence),
            echo: self.echo,
            number: self.acks,
            out_of_order,
            data_next: self.next,
            limit: u64::MAX,
            congestion: self.congestion,
        };
        self.acks += 1;
        ack
    }

    fn take(&mut self, sequence: u64) {
        if sequence > self.next {
            self.above.insert(sequence, sequence + 1, |_, _| {});
            if self.recent.len() == RECENT {
                self.recent.pop_back();
            }
            self.recent.push_front(sequence);
            return;
        }
        self.next += 1;
        if let Some((from, to)) = self.above.first()
            && from == self.next
        {
            self.next = to;
            self.above.remove_below(to);
        }
    }

    fn blocks(&mut self) -> [Block; BLOCKS] {
        let mut blocks = [Block::default(); BLOCKS];
        if self.above.count() == 0 {
            self.recent.clear();
            return blocks;
        }
        let mut used = 0;
        let above = &self.above;
        // The latest of the segments that have grown into one block stands for it.
        self.recent.retain(|&sequence| {
            let Some((from, to)) = above.run_of(sequence) else { return false };
            let block = Block { from, to };
            if blocks[..used].contains(&block) {
                return false;
            }
            if used < BLOCKS {
                blocks[used] = block;
                used += 1;
            }
            true
        });
        blocks
    }
}

/// The receiver of plain TCP.
#[derive(Clone, Debug)]
pub struct Receiver {
    half: HalfReceiver,
    sizes: WireSizes,
    acks: VecDeque<Outgoing<Ack>>,
}

impl Receiver {
    /// Returns a receiver that has nothing yet.
    pub fn new(sizes: WireSizes) -> Self {
        Self { half: HalfReceiver::default(), sizes, acks: VecDeque::new() }
    }

    /// Merges the acknowledgements of segments that came in sequence at one time into one, as Linux acknowledges the super-packet that it makes of
    /// them (GRO).
    pub fn merge_acks(&mut self) {
        if self.acks.len() < 2 {
            return;
        }
        let is_plain = |ack: &Ack| ack.duplicate.is_none() && ack.sacked().next().is_none();
        let mut acks = std::mem::take(&mut self.acks).into_iter().peekable();
        let mut segments = 1;
        while let Some(ack) = acks.next() {
            let followed = acks.peek().is_some_and(|Outgoing { packet: next, .. }| {
                is_plain(&ack.packet) && is_plain(next) && next.next == ack.packet.next + 1
            });
            if followed && segments < SUPER_PACKET {
                segments += 1;
            } else {
                segments = 1;
                self.acks.push_back(ack);
            }
        }
    }
}

impl simulation::Receiver for Receiver {
    type Data = Segment;
    type Ack = Ack;

    fn handle_data(&mut self, _now: Time, path: usize, segment: &Segment) {
        let packet = self.half.handle(segment);
        self.acks.push_back(Outgoing { path, size: self.sizes.of_ack(&packet), packet });
    }

    fn poll_transmit(&mut self) -> Option<Outgoing<Ack>> {
        self.acks.pop_front()
    }

    fn delivered(&self) -> u64 {
        self.half.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Receiver as _;
    use crate::transport::tcp::Ecn;

    fn segment(sequence: u64, sent: u64) -> Segment {
        let timestamp = Time::from_nanos(sent);
        let ecn = Ecn::default();
        Segment {
            syn: false,
            sequence,
            data_sequence: sequence,
            timestamp,
            transmission: sent,
            ecn,
        }
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.sacked().map(|block| (block.from, block.to)).collect()
    }

    #[test]
    fn blocks_come_by_the_time_of_their_last_segment() {
        let mut receiver = HalfReceiver::default();
        let list = [0, 2, 4, 6, 8, 3];
        let acks: Vec<Ack> =
            list.iter().zip(0..).map(|(&at, sent)| receiver.handle(&segment(at, sent))).collect();
        assert_eq!(blocks(&acks[0]), []);
        assert_eq!(blocks(&acks[2]), [(4, 5), (2, 3)]);
        assert_eq!(blocks(&acks[4]), [(8, 9), (6, 7), (4, 5)]);
        assert_eq!(blocks(&acks[5]), [(2, 5), (8, 9), (6, 7)]);
        assert!(acks.iter().all(|ack| ack.next == 1 && ack.duplicate.is_none()));
        let filled = receiver.handle(&segment(1, 9));
        assert_eq!((filled.next, blocks(&filled)), (5, vec![(8, 9), (6, 7)]));
    }

    #[test]
    fn duplicates_are_reported_wherever_they_are() {
        let mut receiver = HalfReceiver::default();
        for (at, sent) in [(0, 0), (1, 1), (3, 2)] {
            assert_eq!(receiver.handle(&segment(at, sent)).duplicate, None);
        }
        assert_eq!(receiver.handle(&segment(0, 3)).duplicate, Some(0));
        assert_eq!(receiver.handle(&segment(3, 4)).duplicate, Some(3));
    }

    #[test]
    fn timestamps_of_what_came_before_its_turn_are_not_echoed() {
        let mut receiver = HalfReceiver::default();
        assert_eq!(receiver.handle(&segment(0, 5)).echo, Time::from_nanos(5));
        assert_eq!(receiver.handle(&segment(2, 7)).echo, Time::from_nanos(5));
        assert_eq!(receiver.handle(&segment(1, 6)).echo, Time::from_nanos(6));
    }

    #[test]
    fn what_comes_at_one_time_is_acknowledged_once() {
        let mut receiver = Receiver::new(WireSizes::ipv4(1412, 0, 0));
        let mut acknowledged = |sequences: &[u64]| -> Vec<u64> {
            for &sequence in sequences {
                receiver.handle_data(Time::ZERO, 0, &segment(sequence, sequence));
            }
            receiver.merge_acks();
            std::iter::from_fn(|| receiver.poll_transmit()).map(|ack| ack.packet.next).collect()
        };
        assert_eq!(acknowledged(&[0, 1, 2]), [3]);
        assert_eq!(acknowledged(&[3, 5, 6]), [4, 4, 4], "each of those above a gap");
        assert_eq!(acknowledged(&[4]), [7]);
        assert_eq!(acknowledged(&(7..107).collect::<Vec<_>>()), [51, 95, 107]);
    }

    #[test]
    fn a_mark_is_repeated_until_the_sender_has_slowed_down() {
        let mut receiver = HalfReceiver::default();
        let mut told = |at, congested, reduced| {
            let ecn = Ecn { capable: true, congested, reduced };
            receiver.handle(&Segment { ecn, ..segment(at, at) }).congestion
        };
        assert!(!told(0, false, false));
        assert!(told(1, true, false) && told(2, false, false));
        assert!(!told(3, false, true));
        assert!(told(4, true, true), "marked once more");
    }

    #[test]
    fn being_overtaken_is_noticed() {
        let mut receiver = HalfReceiver::default();
        let flags = [(0, 0), (2, 2), (1, 1), (3, 3)]
            .map(|(at, sent)| receiver.handle(&segment(at, sent)).out_of_order);
        assert_eq!(flags, [false, false, true, false]);
    }
}
