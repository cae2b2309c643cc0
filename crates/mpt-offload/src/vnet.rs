//! The `virtio_net_hdr` in front of every packet of a TUN device opened with `IFF_VNET_HDR`.
//!
//! ```text
//!  0        1          2         4          6            8              10
//! +--------+----------+---------+----------+------------+--------------+
//! | flags  | gso_type | hdr_len | gso_size | csum_start | csum_offset  |
//! +--------+----------+---------+----------+------------+--------------+
//! ```
//!
//! The layout is that of the virtio specification 1.2, section 5.1.6, without `num_buffers`. The 16-bit fields are in the
//! host's byte order, the default of a TUN device (`TUNSETVNETLE` and `TUNSETVNETBE` are left alone).

use thiserror::Error;

/// The checksum at `csum_start + csum_offset` is incomplete: the field holds the folded sum of the pseudo-header, and the
/// bytes from `csum_start` on are still to be added.
pub const NEEDS_CSUM: u8 = 1;
/// The checksum is there and was found right.
pub const DATA_VALID: u8 = 2;

/// The packet is no super-packet.
pub const GSO_NONE: u8 = 0;
/// TCP over IPv4.
pub const GSO_TCPV4: u8 = 1;
/// TCP over IPv6.
pub const GSO_TCPV6: u8 = 4;
/// UDP datagrams of equal size, over either IP version (`UDP_SEGMENT`; not the older fragmentation offload).
pub const GSO_UDP_L4: u8 = 5;
/// Or'ed to a TCP type: CWR is set and belongs to the first segment only.
pub const GSO_ECN: u8 = 0x80;

/// The description of a packet that is read from or written to a TUN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// [`NEEDS_CSUM`], [`DATA_VALID`] or 0.
    pub flags: u8,
    /// One of the `GSO_` constants, [`GSO_ECN`] or'ed to it.
    pub gso_type: u8,
    /// Bytes of all headers together. A hint: the kernel may count payload that happens to lie beside them.
    pub hdr_len: u16,
    /// Payload bytes of every segment but the last.
    pub gso_size: u16,
    /// The offset at which summing starts, in bytes from the IP header.
    pub csum_start: u16,
    /// The offset of the checksum field, in bytes from `csum_start`.
    pub csum_offset: u16,
}

/// The reason why a packet from the TUN device does not fit its [`VnetHeader`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than the headers it claims to have, or they are not where they are said to be.
    #[error("packet ends within its headers")]
    Truncated,
    /// Longer than the length fields of its headers can say.
    #[error("super-packet too long")]
    TooLong,
    /// A GSO type that was never negotiated, or one that contradicts the packet's IP version or protocol.
    #[error("GSO type does not fit the packet")]
    GsoType,
    /// A super-packet with segments of zero bytes, or without payload.
    #[error("super-packet without segments")]
    GsoSize,
    /// The checksum field is outside the packet or not the transport protocol's.
    #[error("checksum field out of place")]
    ChecksumField,
}

impl VnetHeader {
    /// Bytes on the file descriptor (`TUNSETVNETHDRSZ`).
    pub const LEN: usize = 10;

    /// Reads the header in front of a packet. The fields are not checked here but by [`Segmenter::new`], against the packet.
    ///
    /// [`Segmenter::new`]: crate::Segmenter::new
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let bytes: &[u8; Self::LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Ok(VnetHeader {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        })
    }

    /// The bytes to write in front of a packet.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0] = self.flags;
        bytes[1] = self.gso_type;
        bytes[2..4].copy_from_slice(&self.hdr_len.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.gso_size.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.csum_start.to_ne_bytes());
        bytes[8..10].copy_from_slice(&self.csum_offset.to_ne_bytes());
        bytes
    }

    /// True if the packet is a super-packet.
    pub fn is_gso(&self) -> bool {
        self.gso_type & !GSO_ECN != GSO_NONE
    }

    /// True if the packet's checksum is incomplete.
    pub fn needs_checksum(&self) -> bool {
        self.flags & NEEDS_CSUM != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn emit_reverses_parse(bytes in any::<[u8; VnetHeader::LEN]>()) {
            prop_assert_eq!(VnetHeader::parse(&bytes).unwrap().emit(), bytes);
        }
    }

    #[test]
    fn fields_are_in_host_order() {
        let mut bytes = vec![NEEDS_CSUM, GSO_TCPV6 | GSO_ECN];
        for word in [72u16, 1424, 40, 16] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.push(0x60); // The packet follows at once.
        let header = VnetHeader::parse(&bytes).unwrap();
        assert_eq!(
            (header.hdr_len, header.gso_size, header.csum_start, header.csum_offset),
            (72, 1424, 40, 16)
        );
        assert!(header.is_gso() && header.needs_checksum());
    }

    #[test]
    fn nine_bytes_are_no_header() {
        assert_eq!(VnetHeader::parse(&[0; 9]), Err(Malformed::Truncated));
    }
}
