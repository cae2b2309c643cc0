//! Clamping of the TCP maximum segment size, so that hosts behind the tunnel send what fits.

use crate::bytes::{set_u16_at, u16_at};
use crate::checksum::update16;
use crate::ip::{Summary, protocol};
use crate::tcp::{self, Flags, Packet, option};

/// The content of the checksum field of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChecksumState {
    /// The checksum of the segment; it has to follow every change.
    Complete,
    /// Only the sum of the pseudo-header: whoever finishes it sums the segment as it is by then.
    /// So it is with packets from a TUN device that offloads checksums.
    Partial,
}

/// Lowers the MSS option of a SYN or SYN-ACK to what fits into `inner_mtu`, the largest inner packet
/// in bytes: less 40 over IPv4 and less 60 over IPv6, the headers without any options (RFC 9293
/// section 3.7.1, RFC 6691). Returns whether the packet has been changed.
///
/// `summary` is that of `packet`. A smaller MSS stays as it is; so does a SYN without the option,
/// because the default then (536 or 1220) is smaller than what any tunnel of ours carries.
#[inline]
pub fn clamp(
    packet: &mut [u8],
    summary: &Summary,
    inner_mtu: u16,
    checksum: ChecksumState,
) -> bool {
    if summary.protocol != protocol::TCP || summary.fragment {
        return false;
    }
    let Some(segment) = packet.get_mut(summary.transport..summary.total_len) else {
        return false;
    };
    let Ok(mut segment) = Packet::new_checked(segment) else {
        return false;
    };
    if !segment.flags().contains(Flags::SYN) {
        return false;
    }
    let headers = summary.version.header_len() + tcp::HEADER_LEN;
    let limit = inner_mtu.saturating_sub(u16::try_from(headers).unwrap_or(u16::MAX));
    clamp_options(&mut segment, limit, checksum)
}

fn clamp_options(segment: &mut Packet<&mut [u8]>, limit: u16, checksum: ChecksumState) -> bool {
    let mut changed = false;
    // There should be one such option; receivers differ in which of several they take.
    while let Some((offset, mss)) = larger_option(segment, limit) {
        set_u16_at(segment.option_bytes_mut(), offset, limit);
        if checksum == ChecksumState::Complete {
            // The header and its fixed part are even; at an odd offset the value's bytes belong to
            // two words, in which they stand swapped.
            let (old, new) = match offset % 2 {
                0 => (mss, limit),
                _ => (mss.swap_bytes(), limit.swap_bytes()),
            };
            segment.set_checksum(update16(segment.checksum(), old, new));
        }
        changed = true;
    }
    changed
}

/// Offset and value of the first MSS option above the limit.
fn larger_option(segment: &Packet<&mut [u8]>, limit: u16) -> Option<(usize, u16)> {
    segment
        .options()
        .filter(|option| option.kind == option::MAXIMUM_SEGMENT_SIZE && option.data.len() == 2)
        .map(|option| (option.offset, u16_at(option.data, 0)))
        .find(|(_, mss)| *mss > limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{Sum, pseudo_header_v4, pseudo_header_v6};
    use crate::{ipv4, ipv6};
    use std::net::IpAddr;

    fn pseudo_header(summary: &Summary) -> Sum {
        let len = summary.total_len - summary.transport;
        match (summary.source, summary.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                pseudo_header_v4(source, destination, 6, len as u16)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                pseudo_header_v6(source, destination, 6, len as u32)
            }
            _ => unreachable!("one version"),
        }
    }

    fn segment(flags: Flags, options: &[u8]) -> Vec<u8> {
        let repr = tcp::Repr {
            source_port: 1234,
            destination_port: 80,
            sequence: 7,
            acknowledgment: 0,
            flags,
            window: 64,
            urgent: 0,
            options,
        };
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes);
        bytes
    }

    /// IPv4, and IPv6 with a hop-by-hop header.
    fn packets(flags: Flags, options: &[u8]) -> [Vec<u8>; 2] {
        let segment = segment(flags, options);
        let mut v4 = vec![0; 20];
        let v4_repr =
            ipv4::Repr { protocol: 6, payload_len: segment.len() as u16, ..ipv4::tests::REPR };
        v4_repr.emit(&mut v4);
        v4.extend(&segment);
        let mut v6 = vec![0; 40];
        let v6_repr = ipv6::Repr {
            next_header: protocol::HOP_BY_HOP,
            payload_len: segment.len() as u16 + 8,
            ..ipv6::tests::REPR
        };
        v6_repr.emit(&mut v6);
        v6.extend([protocol::TCP, 0, 1, 4, 0, 0, 0, 0]);
        v6.extend(&segment);
        [v4, v6].map(|mut packet| {
            let summary = Summary::parse(&packet).unwrap();
            let mut segment = Packet::new_checked(&mut packet[summary.transport..]).unwrap();
            segment.fill_checksum(pseudo_header(&summary));
            packet
        })
    }

    fn is_intact(packet: &[u8]) -> bool {
        let summary = Summary::parse(packet).unwrap();
        let segment = Packet::new_checked(&packet[summary.transport..]).unwrap();
        segment.verify_checksum(pseudo_header(&summary))
    }

    fn option_values(packet: &[u8]) -> Vec<u16> {
        let summary = Summary::parse(packet).unwrap();
        let segment = Packet::new_checked(&packet[summary.transport..]).unwrap();
        segment.options().filter(|o| o.kind == 2).map(|o| u16_at(o.data, 0)).collect()
    }

    #[test]
    fn syn_and_syn_ack_are_clamped() {
        // Even and odd offsets of the value, behind another option, and twice.
        for (options, count) in [
            (&[2, 4, 0x23, 0x00][..], 1),
            (&[1, 2, 4, 0x23, 0x00, 0, 0, 0], 1),
            (&[4, 2, 1, 2, 4, 0x23, 0x00, 0], 1),
            (&[2, 4, 0x23, 0x00, 1, 2, 4, 0x22, 0x01, 0, 0, 0], 2),
        ] {
            for flags in [Flags::SYN, Flags::SYN | Flags::ACK] {
                for (mut packet, mss) in packets(flags, options).into_iter().zip([1424, 1404]) {
                    let summary = Summary::parse(&packet).unwrap();
                    assert!(clamp(&mut packet, &summary, 1464, ChecksumState::Complete));
                    assert_eq!(option_values(&packet), vec![mss; count], "{options:?}");
                    assert!(is_intact(&packet), "{options:?}");
                    assert!(!clamp(&mut packet, &summary, 1464, ChecksumState::Complete));
                }
            }
        }
    }

    #[test]
    fn a_partial_checksum_is_not_touched() {
        for mut packet in packets(Flags::SYN, &[2, 4, 0x23, 0x00]) {
            let summary = Summary::parse(&packet).unwrap();
            let at = summary.transport + tcp::CHECKSUM_OFFSET;
            let before = u16_at(&packet, at);
            assert!(clamp(&mut packet, &summary, 1464, ChecksumState::Partial));
            assert_eq!(u16_at(&packet, at), before);
        }
    }

    #[test]
    fn what_stays_as_it_is() {
        let syn = Flags::SYN;
        for (flags, options) in [
            (Flags::ACK, &[2, 4, 0x23, 0x00][..]),
            (syn, &[2, 4, 0x05, 0x7c]), // 1404
            (syn, &[]),
            (syn, &[1, 1, 1, 0]),
            (syn, &[0, 2, 4, 0x23]),
            (syn, &[2, 3, 0x23, 0x00]),
            (syn, &[2, 0, 0x23, 0x00]),
            (syn, &[1, 1, 2, 4]),
            (syn, &[8, 4, 0x23, 0x00]),
        ] {
            for mut packet in packets(flags, options) {
                let before = packet.clone();
                let summary = Summary::parse(&packet).unwrap();
                assert!(!clamp(&mut packet, &summary, 1464, ChecksumState::Complete));
                assert_eq!(packet, before, "{flags} {options:?}");
            }
        }
    }

    #[test]
    fn fragments_and_other_protocols_stay_as_they_are() {
        for mut packet in packets(Flags::SYN, &[2, 4, 0x23, 0x00]) {
            let summary = Summary::parse(&packet).unwrap();
            for other in [
                Summary { fragment: true, ..summary },
                Summary { protocol: protocol::UDP, ..summary },
                Summary { total_len: packet.len() + 1, ..summary },
                Summary { transport: packet.len() - 19, ..summary },
                Summary { transport: packet.len() + 5, ..summary },
            ] {
                assert!(!clamp(&mut packet, &other, 1464, ChecksumState::Complete), "{other:?}");
            }
        }
    }

    #[test]
    fn an_mtu_below_the_headers() {
        for mut packet in packets(Flags::SYN, &[2, 4, 0x23, 0x00]) {
            let summary = Summary::parse(&packet).unwrap();
            assert!(clamp(&mut packet, &summary, 30, ChecksumState::Complete));
            assert_eq!(option_values(&packet), [0]);
            assert!(is_intact(&packet));
        }
    }
}
