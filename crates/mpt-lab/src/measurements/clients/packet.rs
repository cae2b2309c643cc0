//! Packets made by the measurement itself.

use std::net::{Ipv4Addr, SocketAddrV4};

use mpt_wire::ip::protocol;
use mpt_wire::{ipv4, udp};

/// UDP payload of an inner packet, in bytes.
const PAYLOAD: usize = 172;
/// IPv4 and UDP headers.
const HEADERS: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
/// Length of an inner packet, in bytes.
pub(super) const INNER: usize = HEADERS + PAYLOAD;
/// Length of an inner packet that waits for others, in bytes: those that fit into a window of 16,384 with gaps of [`STEP`] fill the
/// share that one of 1,000 clients has of 64 MiB.
pub(super) const HELD: usize = 860;
/// Distance of the numbers of such packets: each page of the memory that the daemon has for a window is touched.
pub(super) const STEP: u32 = 190;
/// Largest difference of the lengths where no two packets in a row are equal.
const SPREAD: usize = 144;

/// The lengths of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    /// All lengths are equal: packets to one client can leave as one batch, cut by the kernel or the device (`UDP_SEGMENT`).
    Equal,
    /// Each packet is longer than the one before, and after the longest comes the shortest: no two can leave as one. The average is that of the equal
    /// lengths.
    Growing,
}

impl Lengths {
    /// Returns the UDP payload of the packet of this number, in bytes.
    pub(super) fn payload(self, number: u64) -> usize {
        match self {
            Self::Equal => PAYLOAD,
            Self::Growing => PAYLOAD - SPREAD / 2 + (number % (SPREAD as u64 + 1)) as usize,
        }
    }
}

/// Writes an inner packet, a UDP datagram over IPv4 without UDP checksum, to all of `packet`.
pub(super) fn inner(packet: &mut [u8], from: SocketAddrV4, to: SocketAddrV4) {
    packet.fill(0);
    packet[0] = 0x45;
    let length = packet.len();
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet[8] = 64;
    packet[9] = protocol::UDP;
    packet[12..16].copy_from_slice(&from.ip().octets());
    packet[16..20].copy_from_slice(&to.ip().octets());
    let checksum = header_checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet[20..22].copy_from_slice(&from.port().to_be_bytes());
    packet[22..24].copy_from_slice(&to.port().to_be_bytes());
    packet[24..26].copy_from_slice(&((length - 20) as u16).to_be_bytes());
}

/// Returns the checksum of a header (RFC 791): the complement of the sum of the header's words.
fn header_checksum(header: &[u8]) -> u16 {
    let words =
        header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns the address `number` places after the beginning of a network of 65,536.
pub(super) fn address(network: [u8; 2], number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(network[0], network[1], high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_differ_around_the_usual_one() {
        let growing: Vec<_> = (0..145).map(|number| Lengths::Growing.payload(number)).collect();
        assert!(growing.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(growing.iter().sum::<usize>(), 145 * Lengths::Equal.payload(0));
        assert_eq!(Lengths::Growing.payload(145), growing[0]);
    }

    #[test]
    fn an_inner_packet_is_what_ip_says_it_is() {
        let mut packet = [0xff; INNER];
        let (from, to) = ("10.96.1.2:1000".parse().unwrap(), "10.96.0.1:9".parse().unwrap());
        inner(&mut packet, from, to);
        assert_eq!(header_checksum(&packet[..20]), 0, "the checksum includes itself");
        let words = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        assert_eq!((words(2), words(20), words(22), words(24)), (200, 1000, 9, 180));
        assert_eq!(packet[12..16], [10, 96, 1, 2]);
        assert_eq!(address([10, 81], 258), Ipv4Addr::new(10, 81, 1, 2));
    }
}
