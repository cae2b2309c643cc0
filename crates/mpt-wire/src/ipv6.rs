//! IPv6 headers (RFC 8200 section 3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version| Traffic Class |              Flow Label               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Payload Length        |  Next Header  |   Hop Limit   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! +                  Source Address (16 bytes)                    +
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! +                Destination Address (16 bytes)                 +
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Extension headers are part of the payload here; [`ip::Summary`](crate::ip::Summary) skips them.

use std::fmt;
use std::net::Ipv6Addr;

use crate::bytes::{
    array_at, range, range_mut, set_array_at, set_u8_at, set_u16_at, set_u32_at, u8_at, u16_at,
    u32_at,
};
use crate::ip::Malformed;

/// The length of the fixed header, in bytes.
pub const HEADER_LEN: usize = 40;

/// The smallest MTU of a link that carries IPv6 (RFC 8200 section 5), in bytes.
pub const MIN_MTU: usize = 1280;

const FLOW_LABEL: u32 = 0x000f_ffff;

/// A view of an IPv6 packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// A view of a whole packet; `buffer` may be longer than that.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if version or payload length cannot be.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Malformed> {
        let view = Self::new_header(buffer)?;
        if view.total_len() > view.bytes().len() {
            return Err(Malformed::Length);
        }
        Ok(view)
    }

    /// A view of a header whose payload need not be there: a template, or a quoted packet.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it is too short or of another version.
    #[inline]
    pub fn new_header(buffer: T) -> Result<Self, Malformed> {
        let bytes = buffer.as_ref();
        if bytes.len() < HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        if u8_at(bytes, 0) >> 4 != 6 {
            return Err(Malformed::Version);
        }
        Ok(Self { buffer })
    }

    /// The traffic class: DSCP and ECN.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        ((u16_at(self.bytes(), 0) >> 4) & 0xff) as u8
    }

    /// The flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes(), 0) & FLOW_LABEL
    }

    /// The length of what follows the fixed header, in bytes.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        u16_at(self.bytes(), 4)
    }

    /// The length of header and payload, in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        HEADER_LEN + usize::from(self.payload_len())
    }

    /// The first extension header or the upper-layer protocol.
    #[inline]
    pub fn next_header(&self) -> u8 {
        u8_at(self.bytes(), 6)
    }

    /// The hop limit.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        u8_at(self.bytes(), 7)
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes(), 8).into()
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes(), 24).into()
    }

    /// Returns what follows the fixed header, as far as it is there.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.bytes();
        range(bytes, HEADER_LEN..self.total_len().min(bytes.len()))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Packet<T> {
    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_traffic_class(&mut self, traffic_class: u8) {
        let bytes = self.buffer.as_mut();
        let word = u16_at(bytes, 0) & 0xf00f | u16::from(traffic_class) << 4;
        set_u16_at(bytes, 0, word);
    }

    /// Sets the flow label; only its lower 20 bits count.
    #[inline]
    pub fn set_flow_label(&mut self, flow_label: u32) {
        let bytes = self.buffer.as_mut();
        let word = u32_at(bytes, 0) & !FLOW_LABEL | flow_label & FLOW_LABEL;
        set_u32_at(bytes, 0, word);
    }

    /// Sets the length of what follows the fixed header, in bytes.
    #[inline]
    pub fn set_payload_len(&mut self, len: u16) {
        set_u16_at(self.buffer.as_mut(), 4, len);
    }

    /// Sets the hop limit.
    #[inline]
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        set_u8_at(self.buffer.as_mut(), 7, hop_limit);
    }
}

/// The fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr {
    /// The source address.
    pub source: Ipv6Addr,
    /// The destination address.
    pub destination: Ipv6Addr,
    /// The first extension header or the upper-layer protocol.
    pub next_header: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// The hop limit.
    pub hop_limit: u8,
    /// The length of what follows the fixed header, in bytes.
    pub payload_len: u16,
}

impl Repr {
    /// Reads the header of a packet.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Repr {
        Repr {
            source: packet.source(),
            destination: packet.destination(),
            next_header: packet.next_header(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            hop_limit: packet.hop_limit(),
            payload_len: packet.payload_len(),
        }
    }

    /// Writes the header to the first 40 bytes of `buffer`.
    ///
    /// # Panics
    ///
    /// If `buffer` is shorter than that.
    #[inline]
    pub fn emit(&self, buffer: &mut [u8]) {
        let header = range_mut(buffer, 0..HEADER_LEN);
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & FLOW_LABEL;
        set_u32_at(header, 0, first);
        set_u16_at(header, 4, self.payload_len);
        set_u8_at(header, 6, self.next_header);
        set_u8_at(header, 7, self.hop_limit);
        set_array_at(header, 8, self.source.octets());
        set_array_at(header, 24, self.destination.octets());
    }
}

/// The notation of tcpdump.
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "IP6 (class 0x{:02x}, flowlabel 0x{:05x}, hlim {}, next-header {}, payload length {}) \
             {} > {}",
            self.traffic_class,
            self.flow_label,
            self.hop_limit,
            self.next_header,
            self.payload_len,
            self.source,
            self.destination,
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[rustfmt::skip]
    const PACKET: [u8; 42] = [
        0x6a, 0xbc, 0xde, 0xf0, 0x00, 0x02, 0x11, 0x40,
        0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
        0xab, 0xcd,
    ];

    pub(crate) const REPR: Repr = Repr {
        source: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        next_header: 17,
        traffic_class: 0xab,
        flow_label: 0xcdef0,
        hop_limit: 64,
        payload_len: 2,
    };

    #[test]
    fn fields_are_read() {
        let packet = Packet::new_checked(&PACKET).unwrap();
        assert_eq!(Repr::parse(&packet), REPR);
        assert_eq!(packet.total_len(), 42);
        assert_eq!(packet.payload(), [0xab, 0xcd]);
    }

    #[test]
    fn the_header_is_emitted() {
        let mut buffer = [0xff; 40];
        REPR.emit(&mut buffer);
        assert_eq!(buffer, PACKET[..40]);
        assert_eq!(
            REPR.to_string(),
            "IP6 (class 0xab, flowlabel 0xcdef0, hlim 64, next-header 17, payload length 2) \
             fd00::1 > fd00::2"
        );
    }

    #[test]
    fn fields_are_set() {
        let mut bytes = PACKET;
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        packet.set_traffic_class(0x12);
        packet.set_flow_label(0xfff3_4567);
        packet.set_payload_len(1);
        packet.set_hop_limit(3);
        let repr =
            Repr { traffic_class: 0x12, flow_label: 0x34567, payload_len: 1, hop_limit: 3, ..REPR };
        assert_eq!(Repr::parse(&packet), repr);
        assert_eq!(packet.payload(), [0xab]);
    }

    #[test]
    fn lengths_that_cannot_be() {
        let check = |bytes: &[u8]| Packet::new_checked(bytes.to_vec()).map(|_| ());
        assert_eq!(check(&PACKET[..39]), Err(Malformed::Truncated));
        assert_eq!(check(&PACKET[..41]), Err(Malformed::Length));
        assert_eq!(check(&[0x45; 60]), Err(Malformed::Version));
        assert!(Packet::new_header(&PACKET[..40]).unwrap().payload().is_empty());
    }
}
