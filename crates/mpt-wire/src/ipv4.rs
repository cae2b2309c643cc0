//! IPv4 headers (RFC 791).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|  IHL  |Type of Service|          Total Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Identification        |0|D|M|     Fragment Offset     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Time to Live |    Protocol   |         Header Checksum       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Source Address                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Destination Address                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Options                    |    Padding    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::fmt;
use std::net::Ipv4Addr;

use crate::bytes::{
    array_at, range, range_mut, set_array_at, set_u8_at, set_u16_at, u8_at, u16_at,
};
use crate::checksum::Sum;
use crate::ip::Malformed;

/// The length of the header without options, in bytes.
pub const HEADER_LEN: usize = HEADER_LEN_U16 as usize;
const HEADER_LEN_U16: u16 = 20;

/// The length of the packets that every host accepts (RFC 791 section 3.1), in bytes.
pub const MIN_ACCEPTED_LEN: usize = 576;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// A view of an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// A view of a whole packet; `buffer` may be longer than that.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if version, header length or total length cannot be.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Malformed> {
        let view = Self::new_header(buffer)?;
        let total_len = view.total_len();
        if total_len < view.header_len() || total_len > view.bytes().len() {
            return Err(Malformed::Length);
        }
        Ok(view)
    }

    /// A view of a header whose payload need not be there: a template, or a quoted packet.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if version or header length cannot be.
    #[inline]
    pub fn new_header(buffer: T) -> Result<Self, Malformed> {
        let bytes = buffer.as_ref();
        if bytes.len() < HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        if u8_at(bytes, 0) >> 4 != 4 {
            return Err(Malformed::Version);
        }
        let header_len = header_len(bytes);
        if header_len < HEADER_LEN || header_len > bytes.len() {
            return Err(Malformed::HeaderLength);
        }
        Ok(Self { buffer })
    }

    /// The length of the header with options, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        header_len(self.bytes())
    }

    /// Type of service: DSCP and ECN.
    #[inline]
    pub fn tos(&self) -> u8 {
        u8_at(self.bytes(), 1)
    }

    /// The length of header and payload, in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        u16_at(self.bytes(), 2).into()
    }

    /// The identification, which fragments of a datagram have in common.
    #[inline]
    pub fn identification(&self) -> u16 {
        u16_at(self.bytes(), 4)
    }

    /// Don't fragment (DF).
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        u16_at(self.bytes(), 6) & DONT_FRAGMENT != 0
    }

    /// More fragments follow (MF).
    #[inline]
    pub fn more_fragments(&self) -> bool {
        u16_at(self.bytes(), 6) & MORE_FRAGMENTS != 0
    }

    /// The offset of this fragment, in bytes.
    #[inline]
    pub fn fragment_offset(&self) -> usize {
        usize::from(u16_at(self.bytes(), 6) & OFFSET) * 8
    }

    /// Time to live, in hops.
    #[inline]
    pub fn ttl(&self) -> u8 {
        u8_at(self.bytes(), 8)
    }

    /// The protocol of the payload.
    #[inline]
    pub fn protocol(&self) -> u8 {
        u8_at(self.bytes(), 9)
    }

    /// The header checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes(), 10)
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes(), 12).into()
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes(), 16).into()
    }

    /// The options with their padding.
    #[inline]
    pub fn options(&self) -> &[u8] {
        range(self.bytes(), HEADER_LEN..self.header_len())
    }

    /// The payload, as far as it is there.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.bytes();
        range(bytes, self.header_len()..self.total_len().clamp(self.header_len(), bytes.len()))
    }

    /// True if the header sums up to its checksum.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        let mut sum = Sum::new();
        sum.add_bytes(range(self.bytes(), 0..self.header_len()));
        sum.fold() == 0xffff
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}

/// Nothing here touches the checksum but [`fill_checksum`](Packet::fill_checksum).
impl<T: AsRef<[u8]> + AsMut<[u8]>> Packet<T> {
    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_tos(&mut self, tos: u8) {
        set_u8_at(self.buffer.as_mut(), 1, tos);
    }

    /// Sets the length of header and payload, in bytes.
    #[inline]
    pub fn set_total_len(&mut self, len: u16) {
        set_u16_at(self.buffer.as_mut(), 2, len);
    }

    /// Sets the identification.
    #[inline]
    pub fn set_identification(&mut self, identification: u16) {
        set_u16_at(self.buffer.as_mut(), 4, identification);
    }

    /// Sets the time to live.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        set_u8_at(self.buffer.as_mut(), 8, ttl);
    }

    /// Computes the header checksum.
    #[inline]
    pub fn fill_checksum(&mut self) {
        let header_len = self.header_len();
        let header = range_mut(self.buffer.as_mut(), 0..header_len);
        set_u16_at(header, 10, 0);
        let mut sum = Sum::new();
        sum.add_bytes(header);
        set_u16_at(header, 10, sum.finish());
    }
}

/// The header of a packet that is whole and has no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr {
    /// The source address.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The protocol of the payload.
    pub protocol: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// The identification: of no meaning if `dont_fragment` (RFC 6864 section 4.1).
    pub identification: u16,
    /// Don't fragment.
    pub dont_fragment: bool,
    /// Time to live, in hops.
    pub ttl: u8,
    /// The length of the payload, in bytes, at most 65,515.
    pub payload_len: u16,
}

impl Repr {
    /// Reads the header of a packet. `None` if it is a fragment, has options or a wrong checksum.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Option<Repr> {
        let plain = packet.header_len() == HEADER_LEN
            && !packet.more_fragments()
            && packet.fragment_offset() == 0
            && packet.verify_checksum();
        plain.then(|| Repr {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            tos: packet.tos(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            ttl: packet.ttl(),
            payload_len: u16_at(packet.bytes(), 2).saturating_sub(HEADER_LEN_U16),
        })
    }

    /// Writes the header, checksum included, to the first 20 bytes of `buffer`.
    ///
    /// # Panics
    ///
    /// If `buffer` is shorter than that, or `payload_len` above its limit.
    #[inline]
    pub fn emit(&self, buffer: &mut [u8]) {
        let header = range_mut(buffer, 0..HEADER_LEN);
        set_u8_at(header, 0, 0x45);
        set_u8_at(header, 1, self.tos);
        set_u16_at(header, 2, HEADER_LEN_U16 + self.payload_len);
        set_u16_at(header, 4, self.identification);
        set_u16_at(header, 6, if self.dont_fragment { DONT_FRAGMENT } else { 0 });
        set_u8_at(header, 8, self.ttl);
        set_u8_at(header, 9, self.protocol);
        set_array_at(header, 12, self.source.octets());
        set_array_at(header, 16, self.destination.octets());
        Packet { buffer: header }.fill_checksum();
    }
}

/// The notation of tcpdump.
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = if self.dont_fragment { "DF" } else { "none" };
        write!(
            f,
            "IP (tos 0x{:x}, ttl {}, id {}, flags [{flags}], proto {}, length {}) {} > {}",
            self.tos,
            self.ttl,
            self.identification,
            self.protocol,
            HEADER_LEN + usize::from(self.payload_len),
            self.source,
            self.destination,
        )
    }
}

#[inline]
fn header_len(bytes: &[u8]) -> usize {
    usize::from(u8_at(bytes, 0) & 0x0f) * 4
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[rustfmt::skip]
    const PACKET: [u8; 24] = [
        0x45, 0xb8, 0x00, 0x18, 0x12, 0x34, 0x40, 0x00,
        0x40, 0x11, 0x13, 0xe7, 10, 0, 0, 1, 10, 0, 0, 2,
        0xde, 0xad, 0xbe, 0xef,
    ];

    pub(crate) const REPR: Repr = Repr {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        protocol: 17,
        tos: 0xb8,
        identification: 0x1234,
        dont_fragment: true,
        ttl: 64,
        payload_len: 4,
    };

    #[test]
    fn fields_are_read() {
        let packet = Packet::new_checked(&PACKET).unwrap();
        assert_eq!(Repr::parse(&packet), Some(REPR));
        assert_eq!((packet.header_len(), packet.total_len()), (20, 24));
        assert!(packet.dont_fragment() && !packet.more_fragments());
        assert_eq!(packet.fragment_offset(), 0);
        assert_eq!(packet.checksum(), 0x13e7);
        assert!(packet.verify_checksum());
        assert!(packet.options().is_empty());
        assert_eq!(packet.payload(), [0xde, 0xad, 0xbe, 0xef]);
    }

    #[test]
    fn the_header_is_emitted() {
        let mut buffer = [0xff; 20];
        REPR.emit(&mut buffer);
        assert_eq!(buffer, PACKET[..20]);
        assert_eq!(
            REPR.to_string(),
            "IP (tos 0xb8, ttl 64, id 4660, flags [DF], proto 17, length 24) 10.0.0.1 > 10.0.0.2"
        );
    }

    #[test]
    fn fields_are_set() {
        let mut bytes = PACKET;
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        packet.set_tos(3);
        packet.set_total_len(22);
        packet.set_identification(9);
        packet.set_ttl(1);
        assert!(!packet.verify_checksum());
        packet.fill_checksum();
        let repr = Repr { tos: 3, payload_len: 2, identification: 9, ttl: 1, ..REPR };
        assert_eq!(Repr::parse(&packet), Some(repr));
    }

    #[test]
    fn options_and_fragments() {
        let mut bytes = [0u8; 32];
        bytes[..20].copy_from_slice(&PACKET[..20]);
        bytes[0] = 0x46;
        bytes[3] = 28;
        bytes[6..8].copy_from_slice(&[0x20, 0x03]);
        bytes[20..24].copy_from_slice(&[1, 2, 3, 4]);
        let mut packet = Packet::new_checked(bytes).unwrap();
        packet.fill_checksum();
        assert!(packet.verify_checksum());
        assert_eq!(packet.options(), [1, 2, 3, 4]);
        assert_eq!(packet.payload(), [0; 4]);
        assert!(packet.more_fragments());
        assert_eq!(packet.fragment_offset(), 24);
        assert_eq!(Repr::parse(&packet), None);
    }

    #[test]
    fn lengths_that_cannot_be() {
        let check = |bytes: &[u8]| Packet::new_checked(bytes.to_vec()).map(|_| ());
        assert_eq!(check(&PACKET[..19]), Err(Malformed::Truncated));
        assert_eq!(check(&PACKET[..23]), Err(Malformed::Length));
        assert!(Packet::new_header(&PACKET[..20]).unwrap().payload().is_empty());
        let with = |at: usize, value: u8| {
            let mut bytes = PACKET;
            bytes[at] = value;
            check(&bytes)
        };
        assert_eq!(with(0, 0x65), Err(Malformed::Version));
        assert_eq!(with(0, 0x44), Err(Malformed::HeaderLength));
        assert_eq!(with(0, 0x47), Err(Malformed::HeaderLength));
        assert_eq!(with(3, 19), Err(Malformed::Length));
    }
}
