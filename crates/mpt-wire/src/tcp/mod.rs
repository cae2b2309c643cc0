//! TCP headers (RFC 9293 section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Source Port          |       Destination Port        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Sequence Number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Acknowledgment Number                      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Data |     |A|C|E|U|A|P|R|S|F|                               |
//! | Offset| Rsv |E|W|C|R|C|S|S|Y|I|            Window             |
//! |       |     | |R|E|G|K|H|T|N|N|                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Checksum            |         Urgent Pointer        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                           [Options]                           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

pub mod acknowledgement;
pub mod mss;

use std::fmt;
use std::ops::BitOr;

use crate::bytes::{from, range, range_mut, set_u16_at, set_u32_at, u8_at, u16_at, u32_at};
use crate::checksum::Sum;
use crate::ip::Malformed;

/// The length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;

/// The longest header, in bytes.
pub const MAX_HEADER_LEN: usize = 60;

/// The offset of the checksum, in bytes.
pub const CHECKSUM_OFFSET: usize = 16;

/// The kinds of options we look at.
pub mod option {
    /// End of the list.
    pub const END: u8 = 0;
    /// Padding.
    pub const NO_OPERATION: u8 = 1;
    /// The largest segment the sender of the option accepts, 16 bits (RFC 9293 section 3.7.1).
    pub const MAXIMUM_SEGMENT_SIZE: u8 = 2;
    /// Selective acknowledgements: blocks of sequence numbers that have arrived (RFC 2018 section 3).
    pub const SELECTIVE_ACKNOWLEDGEMENT: u8 = 5;
    /// Timestamps (RFC 7323 section 3).
    pub const TIMESTAMPS: u8 = 8;
}

/// A set of the control bits, AE (RFC 9768) included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x001);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(0x002);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x004);
    /// Push.
    pub const PSH: Flags = Flags(0x008);
    /// The acknowledgment number is valid.
    pub const ACK: Flags = Flags(0x010);
    /// The urgent pointer is valid.
    pub const URG: Flags = Flags(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x100);

    const ALL: u16 = 0x1ff;

    /// True if all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// True if any of `flags` is set.
    #[inline]
    pub const fn intersects(self, flags: Flags) -> bool {
        self.0 & flags.0 != 0
    }

    /// These without `flags`.
    #[inline]
    pub const fn without(self, flags: Flags) -> Flags {
        Flags(self.0 & !flags.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The notation of tcpdump.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & Flags::ALL == 0 {
            return f.write_str("none");
        }
        let letters = ["F", "S", "R", "P", ".", "U", "E", "W", "e"];
        let mut set = letters.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        set.try_for_each(|(_, letter)| f.write_str(letter))
    }
}

/// A view of a TCP segment. Its length is that of the buffer, for TCP has no field for it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// A view of a segment that ends with `buffer`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it is too short for the header or its data offset cannot be.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Malformed> {
        let bytes = buffer.as_ref();
        if bytes.len() < HEADER_LEN {
            return Err(Malformed::Truncated);
        }
        let header_len = header_len(bytes);
        if header_len < HEADER_LEN || header_len > bytes.len() {
            return Err(Malformed::HeaderLength);
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

    /// The sequence number.
    #[inline]
    pub fn sequence(&self) -> u32 {
        u32_at(self.bytes(), 4)
    }

    /// The acknowledgment number.
    #[inline]
    pub fn acknowledgment(&self) -> u32 {
        u32_at(self.bytes(), 8)
    }

    /// The data offset: the length of the header with options, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        header_len(self.bytes())
    }

    /// The control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(u16_at(self.bytes(), 12) & Flags::ALL)
    }

    /// The window, not scaled.
    #[inline]
    pub fn window(&self) -> u16 {
        u16_at(self.bytes(), 14)
    }

    /// The checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes(), CHECKSUM_OFFSET)
    }

    /// The urgent pointer.
    #[inline]
    pub fn urgent(&self) -> u16 {
        u16_at(self.bytes(), 18)
    }

    /// The options with their padding.
    #[inline]
    pub fn option_bytes(&self) -> &[u8] {
        range(self.bytes(), HEADER_LEN..self.header_len())
    }

    /// The options one by one, without padding.
    #[inline]
    pub fn options(&self) -> Options<'_> {
        Options { bytes: self.option_bytes(), at: 0 }
    }

    /// The data.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        from(self.bytes(), self.header_len())
    }

    /// True if the segment sums up to its checksum, given the sum of the pseudo-header
    /// ([`pseudo_header_v4`](crate::checksum::pseudo_header_v4)).
    #[inline]
    pub fn verify_checksum(&self, pseudo_header: Sum) -> bool {
        let mut sum = pseudo_header;
        sum.add_bytes(self.bytes());
        sum.fold() == 0xffff
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

    /// Sets the sequence number.
    #[inline]
    pub fn set_sequence(&mut self, sequence: u32) {
        set_u32_at(self.buffer.as_mut(), 4, sequence);
    }

    /// Sets the acknowledgment number.
    #[inline]
    pub fn set_acknowledgment(&mut self, acknowledgment: u32) {
        set_u32_at(self.buffer.as_mut(), 8, acknowledgment);
    }

    /// Sets the control bits.
    #[inline]
    pub fn set_flags(&mut self, flags: Flags) {
        let bytes = self.buffer.as_mut();
        let word = u16_at(bytes, 12) & !Flags::ALL | flags.0 & Flags::ALL;
        set_u16_at(bytes, 12, word);
    }

    /// Sets the window.
    #[inline]
    pub fn set_window(&mut self, window: u16) {
        set_u16_at(self.buffer.as_mut(), 14, window);
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        set_u16_at(self.buffer.as_mut(), CHECKSUM_OFFSET, checksum);
    }

    /// Sets the urgent pointer.
    #[inline]
    pub fn set_urgent(&mut self, urgent: u16) {
        set_u16_at(self.buffer.as_mut(), 18, urgent);
    }

    /// The options with their padding.
    #[inline]
    pub fn option_bytes_mut(&mut self) -> &mut [u8] {
        let header_len = self.header_len();
        range_mut(self.buffer.as_mut(), HEADER_LEN..header_len)
    }

    /// Computes the checksum, given the sum of the pseudo-header.
    #[inline]
    pub fn fill_checksum(&mut self, pseudo_header: Sum) {
        self.set_checksum(0);
        let mut sum = pseudo_header;
        sum.add_bytes(self.bytes());
        self.set_checksum(sum.finish());
    }
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOption<'a> {
    /// The kind, such as [`option::MAXIMUM_SEGMENT_SIZE`].
    pub kind: u8,
    /// The bytes behind kind and length.
    pub data: &'a [u8],
    /// The offset of `data` in the options, in bytes.
    pub offset: usize,
}

/// The options of a header up to the end of the list or the first one that cannot be.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Options<'a> {
    /// The options in these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<TcpOption<'a>> {
        while *self.bytes.get(self.at)? == option::NO_OPERATION {
            self.at += 1;
        }
        let kind = *self.bytes.get(self.at)?;
        if kind == option::END {
            return None;
        }
        // The length counts kind and length, too.
        let len = usize::from(*self.bytes.get(self.at + 1)?);
        let offset = self.at + 2;
        let data = self.bytes.get(offset..self.at + len)?;
        self.at += len;
        Some(TcpOption { kind, data, offset })
    }
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr<'a> {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgment number.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window, not scaled.
    pub window: u16,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options with their padding: a multiple of 4 and at most 40 bytes.
    pub options: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Reads the header of a segment. The checksum is not verified.
    pub fn parse<T: AsRef<[u8]>>(packet: &'a Packet<T>) -> Repr<'a> {
        Repr {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
            sequence: packet.sequence(),
            acknowledgment: packet.acknowledgment(),
            flags: packet.flags(),
            window: packet.window(),
            urgent: packet.urgent(),
            options: packet.option_bytes(),
        }
    }

    /// The length of the header, in bytes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Writes the header to the first [`header_len`](Self::header_len) bytes of `buffer`, with a
    /// checksum of 0: [`Packet::fill_checksum`] has to follow.
    ///
    /// # Panics
    ///
    /// If `buffer` is shorter than that, or the options are not as they should be.
    pub fn emit(&self, buffer: &mut [u8]) {
        let header_len = self.header_len();
        assert!(
            header_len <= MAX_HEADER_LEN && header_len.is_multiple_of(4),
            "TCP options: {self:?}"
        );
        let data_offset = u16::try_from(header_len / 4).unwrap_or_default();
        let header = range_mut(buffer, 0..header_len);
        set_u16_at(header, 0, self.source_port);
        set_u16_at(header, 2, self.destination_port);
        set_u32_at(header, 4, self.sequence);
        set_u32_at(header, 8, self.acknowledgment);
        set_u16_at(header, 12, data_offset << 12 | self.flags.0 & Flags::ALL);
        set_u16_at(header, 14, self.window);
        set_u16_at(header, CHECKSUM_OFFSET, 0);
        set_u16_at(header, 18, self.urgent);
        range_mut(header, HEADER_LEN..header_len).copy_from_slice(self.options);
    }
}

/// The notation of tcpdump.
impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repr { source_port, destination_port, flags, sequence, window, .. } = self;
        write!(f, "{source_port} > {destination_port}: Flags [{flags}], seq {sequence}")?;
        if flags.contains(Flags::ACK) {
            write!(f, ", ack {}", self.acknowledgment)?;
        }
        write!(f, ", win {window}")
    }
}

#[inline]
fn header_len(bytes: &[u8]) -> usize {
    usize::from(u8_at(bytes, 12) >> 4) * 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::pseudo_header_v4;

    #[rustfmt::skip]
    const SEGMENT: [u8; 30] = [
        0x04, 0xd2, 0x00, 0x50, 0x00, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x00, 0x02, 0x71, 0x12, 0x20, 0x00, // data offset 28; AE, SYN, ACK
        0xd1, 0x97, 0x00, 0x03,
        0x01, 0x02, 0x04, 0x05, 0xb4, 0x00, 0x00, 0x00, // NOP, MSS 1460, end
        0xca, 0xfe,
    ];

    const REPR: Repr<'static> = Repr {
        source_port: 1234,
        destination_port: 80,
        sequence: 1,
        acknowledgment: 2,
        flags: Flags(0x112),
        window: 0x2000,
        urgent: 3,
        options: &[0x01, 0x02, 0x04, 0x05, 0xb4, 0x00, 0x00, 0x00],
    };

    fn pseudo_header() -> Sum {
        pseudo_header_v4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6, 30)
    }

    #[test]
    fn fields_are_read() {
        let packet = Packet::new_checked(&SEGMENT).unwrap();
        assert_eq!(Repr::parse(&packet), REPR);
        assert_eq!(packet.header_len(), 28);
        assert_eq!(packet.payload(), [0xca, 0xfe]);
        assert!(packet.verify_checksum(pseudo_header()));
        let options: Vec<_> = packet.options().collect();
        assert_eq!(options, [TcpOption { kind: 2, data: &[0x05, 0xb4], offset: 3 }]);
        assert_eq!(REPR.to_string(), "1234 > 80: Flags [S.e], seq 1, ack 2, win 8192");
    }

    #[test]
    fn the_header_is_emitted() {
        let mut bytes = [0xff; 30];
        REPR.emit(&mut bytes);
        bytes[28..].copy_from_slice(&[0xca, 0xfe]);
        Packet::new_checked(&mut bytes).unwrap().fill_checksum(pseudo_header());
        assert_eq!(bytes, SEGMENT);
    }

    #[test]
    fn fields_are_set() {
        let mut bytes = SEGMENT;
        bytes[12] |= 0x0e; // the reserved bits stay
        let mut packet = Packet::new_checked(&mut bytes).unwrap();
        packet.set_source_port(11);
        packet.set_destination_port(12);
        packet.set_sequence(13);
        packet.set_acknowledgment(14);
        packet.set_flags(Flags::FIN | Flags::ACK);
        packet.set_window(15);
        packet.set_urgent(16);
        packet.option_bytes_mut().copy_from_slice(&[1; 8]);
        let expected = Repr {
            source_port: 11,
            destination_port: 12,
            sequence: 13,
            acknowledgment: 14,
            flags: Flags(0x011),
            window: 15,
            urgent: 16,
            options: &[1; 8],
        };
        assert_eq!(Repr::parse(&packet), expected);
        assert!(!packet.verify_checksum(pseudo_header()));
        packet.fill_checksum(pseudo_header());
        assert!(packet.verify_checksum(pseudo_header()));
        assert_eq!(bytes[12], 0x7e);
    }

    #[test]
    fn flags_are_a_set() {
        let flags = Flags::SYN | Flags::ACK;
        assert!(flags.contains(Flags::SYN) && !flags.contains(Flags::SYN | Flags::FIN));
        assert!(flags.intersects(Flags::SYN | Flags::FIN) && !flags.intersects(Flags::RST));
        assert_eq!(flags.without(Flags::SYN), Flags::ACK);
        assert_eq!(Flags::default().to_string(), "none");
        assert_eq!((Flags::PSH | Flags::ACK).to_string(), "P.");
    }

    #[test]
    fn malformed_options_end_the_list() {
        let kinds = |bytes| Options::new(bytes).map(|option| option.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&[]), []);
        assert_eq!(kinds(&[1, 1, 1]), []);
        assert_eq!(kinds(&[8, 2, 0, 9, 2]), [8]);
        assert_eq!(kinds(&[4, 2, 2]), [4], "no length");
        assert_eq!(kinds(&[4, 2, 2, 0, 4, 2]), [4], "length 0");
        assert_eq!(kinds(&[4, 2, 2, 1, 4, 2]), [4], "length 1");
        assert_eq!(kinds(&[4, 2, 2, 5, 4, 2]), [4], "beyond the end");
    }

    #[test]
    fn lengths_that_cannot_be() {
        let check = |bytes: &[u8]| Packet::new_checked(bytes.to_vec()).map(|_| ());
        assert_eq!(check(&SEGMENT[..19]), Err(Malformed::Truncated));
        assert_eq!(check(&SEGMENT[..27]), Err(Malformed::HeaderLength));
        assert_eq!(check(&SEGMENT[..28]), Ok(()));
        let mut bytes = SEGMENT;
        bytes[12] = 0x40;
        assert_eq!(check(&bytes), Err(Malformed::HeaderLength));
    }
}
