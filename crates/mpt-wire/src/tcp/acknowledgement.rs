//! Acknowledgements that a later one of their flow makes needless.

use crate::bytes::u32_at;
use crate::ip::{Summary, protocol};
use crate::tcp::{Flags, Packet, option};

/// The bytes of a block in the option for selective acknowledgements.
const BLOCK_LEN: usize = 8;

/// The content of a TCP segment that does nothing but acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The acknowledgment number.
    pub number: u32,
    /// The sequence numbers above it that have arrived, too (RFC 2018).
    pub block: Option<Block>,
}

/// A range of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first one.
    pub from: u32,
    /// The one after the last.
    pub to: u32,
}

/// Returns true if sequence number `a` comes before `b` (RFC 9293 section 3.4).
const fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

impl Acknowledgement {
    /// An acknowledgement of all before `number`.
    #[must_use]
    pub const fn plain(number: u32) -> Self {
        Self { number, block: None }
    }

    /// Reads a packet that says nothing but what has arrived, and the window. It is a TCP segment without
    /// payload, whose only control bit is ACK, and whose only options are the one for timestamps (RFC 7323)
    /// and the one for selective acknowledgements with one block. Returns `None` if the packet says more, or
    /// is no such segment.
    ///
    /// ECN's echo, in which Accurate ECN counts (RFC 9768), a block that says what came twice (RFC 2883),
    /// and options that are unknown here are news by themselves. Several blocks say that several segments
    /// are missing, and come while few acknowledgements do.
    ///
    /// `summary` is that of `packet`.
    #[inline]
    #[must_use]
    pub fn of(packet: &[u8], summary: &Summary) -> Option<Self> {
        if summary.protocol != protocol::TCP || summary.fragment {
            return None;
        }
        let segment =
            Packet::new_checked(packet.get(summary.transport..summary.total_len)?).ok()?;
        if segment.flags() != Flags::ACK || !segment.payload().is_empty() {
            return None;
        }
        let (number, mut block) = (segment.acknowledgment(), None);
        for it in segment.options() {
            match it.kind {
                option::TIMESTAMPS => {}
                option::SELECTIVE_ACKNOWLEDGEMENT if block.is_none() => {
                    block = Some(Block::of(it.data)?);
                }
                _ => return None,
            }
        }
        let is_ahead = block
            .is_none_or(|block| is_before(number, block.from) && is_before(block.from, block.to));
        is_ahead.then_some(Self { number, block })
    }

    /// Returns true if `later`, which was sent after this one, says all that it does, and more (RFC 3449
    /// section 5.2.1). Two that are the same are duplicates, which say that a segment is missing.
    #[inline]
    #[must_use]
    pub fn is_superseded_by(&self, later: &Self) -> bool {
        if is_before(later.number, self.number) {
            return false;
        }
        let includes = |own: Block| {
            !is_before(later.number, own.to)
                || later.block.is_some_and(|block| {
                    !is_before(own.from, block.from) && !is_before(block.to, own.to)
                })
        };
        later != self && self.block.is_none_or(includes)
    }
}

impl Block {
    /// Reads the data of an option. Returns `None` unless it has one block.
    fn of(data: &[u8]) -> Option<Self> {
        (data.len() == BLOCK_LEN).then(|| Self { from: u32_at(data, 0), to: u32_at(data, 4) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ipv4, ipv6, tcp};

    /// The options of Linux on an acknowledgement: padding and timestamps.
    const TIMESTAMPS: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];

    /// An acknowledgement of 7 over IPv4 and over IPv6, with `payload` bytes behind the header.
    fn packets(flags: Flags, options: &[u8], payload: usize) -> [Vec<u8>; 2] {
        let repr = tcp::Repr {
            source_port: 1234,
            destination_port: 80,
            sequence: 1,
            acknowledgment: 7,
            flags,
            window: 64,
            urgent: 0,
            options,
        };
        let mut segment = vec![0; repr.header_len()];
        repr.emit(&mut segment);
        segment.resize(segment.len() + payload, 0);
        let payload_len = segment.len() as u16;
        let mut v4 = vec![0; 20];
        ipv4::Repr { protocol: 6, payload_len, ..ipv4::tests::REPR }.emit(&mut v4);
        let mut v6 = vec![0; 40];
        ipv6::Repr { next_header: 6, payload_len, ..ipv6::tests::REPR }.emit(&mut v6);
        [v4, v6].map(|header| [header, segment.clone()].concat())
    }

    fn read(flags: Flags, options: &[u8], payload: usize) -> [Option<Acknowledgement>; 2] {
        packets(flags, options, payload)
            .map(|packet| Acknowledgement::of(&packet, &Summary::parse(&packet).unwrap()))
    }

    fn numbers(flags: Flags, options: &[u8], payload: usize) -> [Option<u32>; 2] {
        let plain = |it: Acknowledgement| it.block.is_none().then_some(it.number);
        read(flags, options, payload).map(|it| it.and_then(plain))
    }

    #[test]
    fn a_segment_that_acknowledges_and_does_nothing_else_is_plain() {
        for options in [&[][..], TIMESTAMPS, &[1, 1, 1, 0], &[0, 5, 2, 0]] {
            assert_eq!(numbers(Flags::ACK, options, 0), [Some(7); 2], "{options:?}");
        }
    }

    #[test]
    fn whatever_says_more_is_not_plain() {
        let sack = [TIMESTAMPS, &[1, 1, 5, 10, 0, 0, 0, 8, 0, 0, 0, 9]].concat();
        let multipath = &[30, 8, 0x20, 1, 0, 0, 0, 1];
        let echo = Flags::ACK | Flags::ECE;
        for (flags, options, payload) in [
            (Flags::ACK, TIMESTAMPS, 1),
            (Flags::ACK, &sack, 0),
            (Flags::ACK, multipath, 0),
            (echo, TIMESTAMPS, 0),
            (Flags::ACK | Flags::AE, &[], 0),
            (Flags::ACK | Flags::CWR, &[], 0),
            (Flags::ACK | Flags::FIN, &[], 0),
            (Flags::ACK | Flags::SYN, &[], 0),
            (Flags::ACK | Flags::RST, &[], 0),
            (Flags::ACK | Flags::PSH, &[], 0),
            (Flags(0), &[], 0),
        ] {
            assert_eq!(numbers(flags, options, payload), [None; 2], "{flags} {options:?}");
        }
    }

    #[test]
    fn a_block_beyond_the_number_is_read() {
        let with = |data: &[u8]| {
            let mut options = [TIMESTAMPS, &[1, 1, 5, 2 + data.len() as u8], data].concat();
            options.resize(options.len().next_multiple_of(4), 1);
            read(Flags::ACK, &options, 0)
        };
        let block = |from: u32, to: u32| [from.to_be_bytes(), to.to_be_bytes()].concat();
        let read = Acknowledgement { number: 7, block: Some(Block { from: 8, to: 900 }) };
        assert_eq!(with(&block(8, 900)), [Some(read); 2]);
        for data in [
            block(3, 5),
            block(7, 9),
            block(9, 9),
            block(9, 8),
            block(8, 9)[..7].to_vec(),
            [block(20, 30), block(10, 12)].concat(),
            Vec::new(),
        ] {
            assert_eq!(with(&data), [None; 2], "{data:?}");
        }
    }

    #[test]
    fn an_acknowledgement_supersedes_those_of_which_it_has_everything() {
        let of = |number: u32, block: Option<(u32, u32)>| {
            let near = |n: u32| n.wrapping_sub(20);
            let block = block.map(|(from, to)| Block { from: near(from), to: near(to) });
            Acknowledgement { number: near(number), block }
        };
        let one = of(5, Some((10, 20)));
        for (later, supersedes) in [
            (of(5, Some((10, 21))), true),
            (of(5, Some((9, 20))), true),
            (of(6, Some((10, 20))), true),
            (of(20, None), true),
            (of(25, Some((30, 31))), true),
            (one, false),
            (of(4, Some((10, 30))), false),
            (of(5, Some((11, 30))), false),
            (of(5, Some((10, 19))), false),
            (of(19, None), false),
            (of(6, Some((30, 31))), false),
        ] {
            assert_eq!(one.is_superseded_by(&later), supersedes, "{later:?}");
        }
        let plain = of(5, None);
        assert!(plain.is_superseded_by(&one) && !one.is_superseded_by(&plain));
        assert!(!plain.is_superseded_by(&plain), "a duplicate");
    }

    #[test]
    fn cut_bytes_and_other_protocols_are_not_plain() {
        for packet in packets(Flags::ACK, TIMESTAMPS, 0) {
            let summary = Summary::parse(&packet).unwrap();
            for len in 0..packet.len() {
                assert_eq!(Acknowledgement::of(&packet[..len], &summary), None);
            }
            assert_eq!(Acknowledgement::of(&packet, &Summary { fragment: true, ..summary }), None);
            let udp = Summary { protocol: protocol::UDP, ..summary };
            assert_eq!(Acknowledgement::of(&packet, &udp), None);
        }
    }
}
