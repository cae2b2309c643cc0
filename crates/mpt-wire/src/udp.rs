//! UDP headers (RFC 768).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Source Port          |        Destination Port       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Length            |            Checksum           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::fmt;

use crate::bytes::{from, range, set_u16_at, u16_at};
use crate::checksum::Sum;
use crate::ip::Malformed;

/// The length of the header, in bytes.
pub const HEADER_LEN: usize = HEADER_LEN_U16 as usize;
const HEADER_LEN_U16: u16 = 8;

/// A view of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// A view of a whole datagram; `buffer` may be longer than that.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it is too short for the header or for its length field.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Malformed> {
        let bytes = buffer.as_ref();
        if bytes.len() < HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        let len = usize::from(u16_at(bytes, 4));
        if len < HEADER_LEN || len > bytes.len() {
            return Err(Malformed::Length);
        }
        Ok(Self { buffer })
    }

    /// The source port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16_at(self.bytes(), 0)
    }

    /// The destination port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        u16_at(self.bytes(), 2)
    }

    /// The length of header and payload, in bytes.
    #[inline]
    pub fn len(&self) -> u16 {
        u16_at(self.bytes(), 4)
    }

    /// True if there is no payload.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.payload().is_empty()
    }

    /// The checksum; 0 means that there is none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes(), 6)
    }

    /// The payload.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        from(self.datagram(), HEADER_LEN)
    }

    /// True if the datagram sums up to its checksum, given the sum of the pseudo-header
    /// ([`pseudo_header_v4`](crate::checksum::pseudo_header_v4)). A checksum of 0 is right over
    /// IPv4; over IPv6 it is for the caller to refuse (RFC 8200 section 8.1, RFC 6936).
    #[inline]
    pub fn verify_checksum(&self, pseudo_header: Sum) -> bool {
        if self.checksum() == 0 {
            return true;
        }
        let mut sum = pseudo_header;
        sum.add_bytes(self.datagram());
        sum.fold() == 0xffff
    }

    #[inline]
    fn datagram(&self) -> &[u8] {
        let bytes = self.bytes();
        range(bytes, 0..usize::from(self.len()).clamp(HEADER_LEN, bytes.len()))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Packet<T> {
    /// Sets the source port.
    #[inline]
    pub fn set_source_port(&mut self, port: u16) {
        set_u16_at(self.buffer.as_mut(), 0, port);
    }

    /// Sets the destination port.
    #[inline]
    pub fn set_destination_port(&mut self, port: u16) {
        set_u16_at(self.buffer.as_mut(), 2, port);
    }

    /// Sets the length of header and payload, in bytes.
    #[inline]
    pub fn set_len(&mut self, len: u16) {
        set_u16_at(self.buffer.as_mut(), 4, len);
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16_at(self.buffer.as_mut(), 6, checksum);
    }

    /// Computes the checksum, given the sum of the pseudo-header.
    #[inline]
    pub fn fill_checksum(&mut self, pseudo_header: Sum) {
        self.set_checksum(0);
        let mut sum = pseudo_header;
        sum.add_bytes(self.datagram());
        // 0 means "no checksum", 0xffff is the same number.
        let checksum = match sum.finish() {
            0 => 0xffff,
            checksum => checksum,
        };
        self.set_checksum(checksum);
    }
}

/// A UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The length of the payload, in bytes, at most 65,527.
    pub payload_len: u16,
}

impl Repr {
    /// Reads the header of a datagram. The checksum is not verified.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Repr {
        Repr {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
            payload_len: u16::try_from(packet.payload().len()).unwrap_or(u16::MAX),
        }
    }

    /// Writes the header to the first 8 bytes of `buffer`, with the checksum 0: none.
    ///
    /// # Panics
    ///
    /// If `buffer` is shorter than that, or `payload_len` above its limit.
    #[inline]
    pub fn emit(&self, buffer: &mut [u8]) {
        set_u16_at(buffer, 0, self.source_port);
        set_u16_at(buffer, 2, self.destination_port);
        set_u16_at(buffer, 4, HEADER_LEN_U16 + self.payload_len);
        set_u16_at(buffer, 6, 0);
    }
}

/// The notation of tcpdump.
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repr { source_port, destination_port, payload_len } = self;
        write!(f, "{source_port} > {destination_port}: UDP, length {payload_len}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::pseudo_header_v4;

    const DATAGRAM: [u8; 11] = [0x04, 0xd2, 0x12, 0x92, 0x00, 0x0b, 0x5d, 0xb5, 0xaa, 0xbb, 0xcc];
    const REPR: Repr = Repr { source_port: 1234, destination_port: 4754, payload_len: 3 };

    fn pseudo_header() -> Sum {
        pseudo_header_v4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 17, 11)
    }

    #[test]
    fn fields_are_read() {
        let packet = Packet::new_checked(&DATAGRAM).unwrap();
        assert_eq!(Repr::parse(&packet), REPR);
        assert_eq!(packet.len(), 11);
        assert!(!packet.is_empty());
        assert_eq!(packet.payload(), [0xaa, 0xbb, 0xcc]);
        assert!(packet.verify_checksum(pseudo_header()));
        assert_eq!(REPR.to_string(), "1234 > 4754: UDP, length 3");
    }

    #[test]
    fn the_header_is_emitted() {
        let mut bytes = [0xff; 11];
        REPR.emit(&mut bytes);
        bytes[8..].copy_from_slice(&[0xaa, 0xbb, 0xcc]);
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        assert!(packet.verify_checksum(pseudo_header()), "no checksum is right");
        packet.fill_checksum(pseudo_header());
        assert_eq!(bytes, DATAGRAM);
    }

    #[test]
    fn a_wrong_checksum() {
        let mut bytes = DATAGRAM;
        bytes[8] ^= 1;
        assert!(!Packet::new_checked(&bytes).unwrap().verify_checksum(pseudo_header()));
    }

    #[test]
    fn a_checksum_of_zero_is_sent_as_all_ones() {
        // The last word makes the sum 0xffff.
        let mut bytes = [0, 1, 0, 2, 0, 10, 0, 0, 0xff, 0xff - 1 - 2 - 10];
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        packet.fill_checksum(Sum::new());
        assert_eq!(packet.checksum(), 0xffff);
        assert!(packet.verify_checksum(Sum::new()));
    }

    #[test]
    fn fields_are_set() {
        let mut bytes = DATAGRAM;
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        packet.set_source_port(1);
        packet.set_destination_port(2);
        packet.set_len(8);
        packet.set_checksum(3);
        let repr = Repr { source_port: 1, destination_port: 2, payload_len: 0 };
        assert_eq!((Repr::parse(&packet), packet.checksum()), (repr, 3));
        assert!(packet.is_empty());
    }

    #[test]
    fn lengths_that_cannot_be() {
        let check = |bytes: &[u8]| Packet::new_checked(bytes.to_vec()).map(|_| ());
        assert_eq!(check(&DATAGRAM[..7]), Err(Malformed::Truncated));
        assert_eq!(check(&DATAGRAM[..10]), Err(Malformed::Length));
        let mut bytes = DATAGRAM;
        bytes[5] = 7;
        assert_eq!(check(&bytes), Err(Malformed::Length));
    }
}
