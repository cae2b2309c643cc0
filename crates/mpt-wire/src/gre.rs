//! GRE headers (RFC 2784; key and sequence number of RFC 2890) as they travel in UDP (RFC 8086).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |C|R|K|S|s|R|    Reserved0    | Ver |         Protocol Type     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Checksum (optional)      |       Reserved1 (optional)    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Key (optional)                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                   Sequence Number (optional)                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Bits 1, 4 and 5 were routing and source route in RFC 1701: a receiver that does not implement
//! that discards packets with any of them set. Bits 6-12 and Reserved1 are ignored (RFC 2784
//! section 2.3). The version is in bits 13-15.

use std::fmt;

use crate::bytes::{from, range_mut, set_u16_at, set_u32_at, u16_at, u32_at};
use crate::checksum::Sum;
use crate::ip::Version;

/// The UDP destination port of GRE in UDP (RFC 8086 section 8).
pub const PORT: u16 = 4754;

/// The longest header: checksum, key and sequence number all present.
pub const MAX_HEADER_LEN: usize = 16;

/// The shortest header: none of the optional fields.
pub const MIN_HEADER_LEN: usize = 4;

const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Bits 1, 4 and 5.
const DISCARD: u16 = 0x4c00;
const VERSION: u16 = 0x0007;

/// The offset of the checksum in a header that has one.
const CHECKSUM_AT: usize = 4;

/// The type of a payload: an EtherType (RFC 2784 section 2.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Protocol(pub u16);

impl Protocol {
    /// An IPv4 packet.
    pub const IPV4: Protocol = Protocol(0x0800);
    /// An IPv6 packet (RFC 7676).
    pub const IPV6: Protocol = Protocol(0x86dd);
    /// A frame of our control protocol: IEEE 802 "Local Experimental Ethertype 1".
    pub const CONTROL: Protocol = Protocol(0x88b5);
    /// A sealed inner packet: IEEE 802 "Local Experimental Ethertype 2".
    pub const SEALED: Protocol = Protocol(0x88b6);
}

impl From<Version> for Protocol {
    #[inline]
    fn from(version: Version) -> Self {
        match version {
            Version::V4 => Protocol::IPV4,
            Version::V6 => Protocol::IPV6,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Protocol::IPV4 => f.write_str("IPv4"),
            Protocol::IPV6 => f.write_str("IPv6"),
            Protocol::CONTROL => f.write_str("control"),
            Protocol::SEALED => f.write_str("sealed"),
            Protocol(other) => write!(f, "unknown (0x{other:04x})"),
        }
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol(0x{:04x})", self.0)
    }
}

/// True if a payload is what the protocol type says: an IP packet of that version.
///
/// Only the version nibble is looked at; an empty payload and every other protocol match nothing.
#[inline]
pub fn matches_inner(protocol: Protocol, payload: &[u8]) -> bool {
    match (protocol, payload.first()) {
        (Protocol::IPV4, Some(first)) => first >> 4 == 4,
        (Protocol::IPV6, Some(first)) => first >> 4 == 6,
        _ => false,
    }
}

/// Why a datagram is not a GRE packet for us. The sender is at fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// Shorter than its header.
    #[error("shorter than its GRE header")]
    Truncated,
    /// Bit 1, 4 or 5 of the flags is set (RFC 2784 section 2.3).
    #[error("GRE flags that require RFC 1701")]
    ReservedFlags,
    /// A version other than 0 (RFC 2784 section 2.3.1); version 1 is PPTP's.
    #[error("GRE version other than 0")]
    Version,
    /// The checksum is present and wrong.
    #[error("wrong GRE checksum")]
    Checksum,
}

/// The meaning of a GRE header. Whether a checksum is present is part of it, its value is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr {
    /// Type of the payload.
    pub protocol: Protocol,
    /// A checksum over header and payload is present (C).
    pub checksum: bool,
    /// The key (K).
    pub key: Option<u32>,
    /// The sequence number (S).
    pub sequence: Option<u32>,
}

/// The header of all packets of one connection, without what each of them has of its own: its
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    /// Type of the payload.
    pub protocol: Protocol,
    /// A checksum over header and payload is present (C).
    pub checksum: bool,
    /// The key (K).
    pub key: Option<u32>,
    /// A sequence number is present (S).
    pub numbered: bool,
}

impl Template {
    /// The length of the header, 4 to 16 bytes.
    #[inline]
    pub const fn header_len(&self) -> usize {
        self.with(0).header_len()
    }

    /// The header of the packet with this number. Where packets carry none, it has none.
    #[inline]
    pub const fn with(&self, number: u32) -> Repr {
        let Self { protocol, checksum, key, numbered } = *self;
        let sequence = if numbered { Some(number) } else { None };
        Repr { protocol, checksum, key, sequence }
    }
}

impl Repr {
    /// The header in front of a frame of the control protocol: it has the key of the connection, if there is one.
    #[inline]
    pub const fn control(key: Option<u32>) -> Self {
        Self { protocol: Protocol::CONTROL, checksum: false, key, sequence: None }
    }

    /// The length of the header, 4 to 16 bytes.
    #[inline]
    pub const fn header_len(&self) -> usize {
        header_len(self.flags())
    }

    /// Reads a received datagram: the header, and the offset where the payload starts.
    ///
    /// A checksum, if there is one, is verified over the whole of `datagram`. The payload is not
    /// looked at otherwise; it may be empty (see [`matches_inner`]).
    ///
    /// # Errors
    ///
    /// [`Error`] names the first rule of RFC 2784 section 2.3 that the datagram breaks.
    #[inline]
    pub fn parse(datagram: &[u8]) -> Result<(Repr, usize), Error> {
        let header = Header::new_checked(datagram)?;
        if header.checksum().is_some() && !header.verify_checksum() {
            return Err(Error::Checksum);
        }
        Ok((header.repr(), header.header_len()))
    }

    /// Writes the header to the first [`header_len`](Self::header_len) bytes of `buffer`.
    ///
    /// The checksum field, if present, becomes zero: [`fill_checksum`](Self::fill_checksum) has to
    /// follow.
    ///
    /// # Panics
    ///
    /// If `buffer` is shorter than the header.
    // Once for each segment, and mostly with fields that its caller knows.
    #[inline(always)]
    pub fn emit(&self, buffer: &mut [u8]) {
        let buffer = range_mut(buffer, 0..self.header_len());
        set_u16_at(buffer, 0, self.flags());
        set_u16_at(buffer, 2, self.protocol.0);
        let mut at = MIN_HEADER_LEN;
        if self.checksum {
            set_u32_at(buffer, at, 0);
            at += 4;
        }
        if let Some(key) = self.key {
            set_u32_at(buffer, at, key);
            at += 4;
        }
        if let Some(sequence) = self.sequence {
            set_u32_at(buffer, at, sequence);
        }
    }

    /// Completes the checksum of an emitted `header` (the header and nothing else), given the sum
    /// of the payload. Does nothing to a header that has no checksum.
    #[inline]
    pub fn fill_checksum(header: &mut [u8], payload_sum: Sum) {
        if header.len() < CHECKSUM_AT + 2 || u16_at(header, 0) & CHECKSUM == 0 {
            return;
        }
        set_u16_at(header, CHECKSUM_AT, 0);
        let mut sum = Sum::new();
        sum.add_bytes(header);
        sum.combine(payload_sum);
        set_u16_at(header, CHECKSUM_AT, sum.finish());
    }

    const fn flags(&self) -> u16 {
        let mut flags = 0;
        if self.checksum {
            flags |= CHECKSUM;
        }
        if self.key.is_some() {
            flags |= KEY;
        }
        if self.sequence.is_some() {
            flags |= SEQUENCE;
        }
        flags
    }
}

/// The notation of tcpdump.
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.checksum, "checksum present"),
            (self.key.is_some(), "key present"),
            (self.sequence.is_some(), "sequence# present"),
        ];
        f.write_str("GREv0, Flags [")?;
        let mut separator = "";
        for (_, name) in flags.iter().filter(|(present, _)| *present) {
            write!(f, "{separator}{name}")?;
            separator = ", ";
        }
        f.write_str(if separator.is_empty() { "none]" } else { "]" })?;
        if let Some(key) = self.key {
            write!(f, ", key=0x{key:x}")?;
        }
        if let Some(sequence) = self.sequence {
            write!(f, ", seq {sequence}")?;
        }
        write!(f, ", proto {} (0x{:04x})", self.protocol, self.protocol.0)
    }
}

/// A view of a datagram (or only its beginning, as an ICMP error quotes it) as a GRE packet.
///
/// The flags and the version are checked and the header is complete; the checksum is verified only
/// on demand, because what is quoted in an error is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Header<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Header<T> {
    /// A view of `buffer`.
    ///
    /// # Errors
    ///
    /// Everything of [`Error`] but `Checksum`.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let bytes = buffer.as_ref();
        if bytes.len() < MIN_HEADER_LEN {
            return Err(Error::Truncated);
        }
        let flags = u16_at(bytes, 0);
        if flags & VERSION != 0 {
            return Err(Error::Version);
        }
        if flags & DISCARD != 0 {
            return Err(Error::ReservedFlags);
        }
        if bytes.len() < header_len(flags) {
            return Err(Error::Truncated);
        }
        Ok(Self { buffer })
    }

    /// The length of the header, 4 to 16 bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        header_len(self.flags())
    }

    /// Returns what the payload is.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        Protocol(u16_at(self.bytes(), 2))
    }

    /// The checksum, if present.
    #[inline]
    pub fn checksum(&self) -> Option<u16> {
        (self.flags() & CHECKSUM != 0).then(|| u16_at(self.bytes(), CHECKSUM_AT))
    }

    /// The key, if present.
    #[inline]
    pub fn key(&self) -> Option<u32> {
        let at = header_len(self.flags() & CHECKSUM);
        (self.flags() & KEY != 0).then(|| u32_at(self.bytes(), at))
    }

    /// The sequence number, if present.
    #[inline]
    pub fn sequence(&self) -> Option<u32> {
        let at = header_len(self.flags() & (CHECKSUM | KEY));
        (self.flags() & SEQUENCE != 0).then(|| u32_at(self.bytes(), at))
    }

    /// Returns what follows the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        from(self.bytes(), self.header_len())
    }

    /// True if the whole buffer sums up to its checksum. Meaningless if there is none.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        let mut sum = Sum::new();
        sum.add_bytes(self.bytes());
        sum.fold() == 0xffff
    }

    /// The meaning of the header.
    #[inline]
    pub fn repr(&self) -> Repr {
        Repr {
            protocol: self.protocol(),
            checksum: self.checksum().is_some(),
            key: self.key(),
            sequence: self.sequence(),
        }
    }

    #[inline]
    fn flags(&self) -> u16 {
        u16_at(self.bytes(), 0)
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}

#[inline]
const fn header_len(flags: u16) -> usize {
    // C, K and S bring four bytes each. Not `count_ones`: without target features that is a loop's
    // worth of instructions.
    MIN_HEADER_LEN
        + 4 * (flags >> 15 & 1) as usize
        + 4 * (flags >> 13 & 1) as usize
        + 4 * (flags >> 12 & 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: [u8; 3] = [0x45, 0x00, 0xff];

    #[rustfmt::skip]
    const FULL: [u8; 19] = [
        0xb0, 0x00, 0x08, 0x00, // C, K, S; IPv4
        0x66, 0x36, 0x00, 0x00, // checksum
        0xde, 0xad, 0xbe, 0xef, // key
        0x00, 0x00, 0x00, 0x2a, // sequence number
        0x45, 0x00, 0xff,
    ];

    const FULL_REPR: Repr = Repr {
        protocol: Protocol::IPV4,
        checksum: true,
        key: Some(0xdead_beef),
        sequence: Some(42),
    };

    #[test]
    fn the_plain_header_is_four_bytes() {
        let repr = Repr { protocol: Protocol::IPV6, checksum: false, key: None, sequence: None };
        let mut buffer = [0xff; 4];
        repr.emit(&mut buffer);
        assert_eq!(buffer, [0x00, 0x00, 0x86, 0xdd]);
        assert_eq!(Repr::parse(&buffer), Ok((repr, 4)));
        assert_eq!(repr.to_string(), "GREv0, Flags [none], proto IPv6 (0x86dd)");
    }

    #[test]
    fn the_full_header() {
        let mut buffer = [0xff; 19];
        FULL_REPR.emit(&mut buffer);
        buffer[16..].copy_from_slice(&PAYLOAD);
        let mut sum = Sum::new();
        sum.add_bytes(&PAYLOAD);
        Repr::fill_checksum(&mut buffer[..16], sum);
        assert_eq!(buffer, FULL);
        assert_eq!(Repr::parse(&FULL), Ok((FULL_REPR, 16)));
        assert_eq!(Header::new_checked(&FULL).unwrap().payload(), PAYLOAD);
        assert_eq!(
            FULL_REPR.to_string(),
            "GREv0, Flags [checksum present, key present, sequence# present], key=0xdeadbeef, \
             seq 42, proto IPv4 (0x0800)"
        );
    }

    #[test]
    fn filling_twice_is_filling_once() {
        let mut datagram = FULL;
        let mut sum = Sum::new();
        sum.add_bytes(&PAYLOAD);
        Repr::fill_checksum(&mut datagram[..16], sum);
        assert_eq!(datagram, FULL);
    }

    #[test]
    fn a_header_without_checksum_is_not_filled() {
        let mut header = [0x10, 0, 0x08, 0, 0, 0, 0, 7];
        Repr::fill_checksum(&mut header, Sum::new());
        assert_eq!(header, [0x10, 0, 0x08, 0, 0, 0, 0, 7]);
    }

    #[test]
    fn every_flipped_bit_is_found_by_the_checksum() {
        // The flags, the protocol type and Reserved1 are covered, too.
        for bit in 0..FULL.len() * 8 {
            let mut datagram = FULL;
            datagram[bit / 8] ^= 0x80 >> (bit % 8);
            // Without the C bit nothing says that there is a checksum to verify.
            if bit != 0 {
                assert!(Repr::parse(&datagram).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn every_value_of_the_flags() {
        for flags in 0..=u16::MAX {
            let bit = |number: u32| flags >> (15 - number) & 1 == 1;
            let mut datagram = [0; 16];
            datagram[..2].copy_from_slice(&flags.to_be_bytes());
            Repr::fill_checksum(&mut datagram, Sum::new());
            let expected = if flags & 7 != 0 {
                Err(Error::Version)
            } else if bit(1) || bit(4) || bit(5) {
                Err(Error::ReservedFlags)
            } else {
                let fields = [bit(0), bit(2), bit(3)];
                Ok((fields, 4 + 4 * fields.iter().filter(|field| **field).count()))
            };
            let parsed = Repr::parse(&datagram).map(|(repr, offset)| {
                ([repr.checksum, repr.key.is_some(), repr.sequence.is_some()], offset)
            });
            assert_eq!(parsed, expected, "flags 0x{flags:04x}");
        }
    }

    #[test]
    fn reserved1_is_ignored() {
        let mut datagram = FULL;
        datagram[6..8].copy_from_slice(&[0x12, 0x34]);
        let mut sum = Sum::new();
        sum.add_bytes(&PAYLOAD);
        Repr::fill_checksum(&mut datagram[..16], sum);
        assert_eq!(Repr::parse(&datagram), Ok((FULL_REPR, 16)));
    }

    #[test]
    fn a_header_cut_anywhere_is_truncated() {
        for len in 0..16 {
            assert_eq!(Repr::parse(&FULL[..len]), Err(Error::Truncated), "{len} bytes");
        }
    }

    #[test]
    fn the_inner_version_has_to_match() {
        assert!(matches_inner(Protocol::IPV4, &[0x45]));
        assert!(matches_inner(Protocol::IPV6, &[0x60]));
        assert!(!matches_inner(Protocol::IPV4, &[0x60]));
        assert!(!matches_inner(Protocol::IPV6, &[0x45]));
        assert!(!matches_inner(Protocol::IPV4, &[]));
        assert!(!matches_inner(Protocol::CONTROL, &[0x45]));
        assert!(!matches_inner(Protocol(0x6558), &[0x45]));
    }
}
