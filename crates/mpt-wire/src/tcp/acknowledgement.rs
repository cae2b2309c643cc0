//! Acknowledgements that a later one of their flow makes needless.

use crate::ip::{Summary, protocol};
use crate::tcp::{Flags, Packet, option};

/// Returns the acknowledgment number of a packet that says nothing but this number and the window:
/// a TCP segment without payload, whose only control bit is ACK and whose only option is the one for
/// timestamps (RFC 7323). `None`: the packet says more, or is no such segment.
///
/// A later one of the same flow with a higher number says all that it does (RFC 3449 section 5.2.1).
/// Two with the same number say that a segment is missing. Selective acknowledgements (RFC 2018), ECN's
/// echo, in which Accurate ECN counts (RFC 9768), and options that are unknown here are news by
/// themselves, so segments with them are not among these.
///
/// `summary` is that of `packet`.
#[inline]
#[must_use]
pub fn plain(packet: &[u8], summary: &Summary) -> Option<u32> {
    if summary.protocol != protocol::TCP || summary.fragment {
        return None;
    }
    let segment = Packet::new_checked(packet.get(summary.transport..summary.total_len)?).ok()?;
    if segment.flags() != Flags::ACK || !segment.payload().is_empty() {
        return None;
    }
    let known = segment.options().all(|it| it.kind == option::TIMESTAMPS);
    known.then(|| segment.acknowledgment())
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

    fn numbers(flags: Flags, options: &[u8], payload: usize) -> [Option<u32>; 2] {
        packets(flags, options, payload)
            .map(|packet| plain(&packet, &Summary::parse(&packet).unwrap()))
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
    fn cut_bytes_and_other_protocols_are_not_plain() {
        for packet in packets(Flags::ACK, TIMESTAMPS, 0) {
            let summary = Summary::parse(&packet).unwrap();
            for len in 0..packet.len() {
                assert_eq!(plain(&packet[..len], &summary), None);
            }
            assert_eq!(plain(&packet, &Summary { fragment: true, ..summary }), None);
            let udp = Summary { protocol: protocol::UDP, ..summary };
            assert_eq!(plain(&packet, &udp), None);
        }
    }
}
