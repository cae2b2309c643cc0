//! Explicit congestion notification through a tunnel (RFC 6040).

use std::fmt;

use crate::bytes::{set_u8_at, set_u16_at, u8_at, u16_at};
use crate::checksum::update16;

/// The ECN field: the low two bits of what was the IPv4 TOS and the IPv6 traffic class
/// (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, codepoint 1 (L4S, RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable transport, codepoint 0.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The ECN field of a TOS or traffic class.
    #[inline]
    pub const fn from_tos(tos: u8) -> Ecn {
        match tos & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// A TOS or traffic class with this ECN field and the rest of `tos`.
    #[inline]
    pub const fn with_tos(self, tos: u8) -> u8 {
        tos & !0b11 | self as u8
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ecn::NotEct => "Not-ECT",
            Ecn::Ect1 => "ECT(1)",
            Ecn::Ect0 => "ECT(0)",
            Ecn::Ce => "CE",
        })
    }
}

/// Treatment of ECN at the entrance of the tunnel (RFC 6040 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The outer field is a copy of the inner one. Only where the exit of the tunnel is known to
    /// comply with RFC 6040, RFC 4301 or RFC 3168: another would lose the marks.
    Normal,
    /// The outer field is Not-ECT, so that a congested router drops instead of marking.
    #[default]
    Compatibility,
}

/// A packet that has to be dropped: the path marked "congestion experienced" on a packet whose
/// sender does not understand ECN, so that only a loss can tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("congestion experienced on a packet that is not ECN-capable")]
pub struct Drop;

/// The outer field at the entrance of the tunnel (RFC 6040 section 4.1, figure 3).
#[inline]
pub const fn encapsulate(inner: Ecn, mode: Mode) -> Ecn {
    match mode {
        Mode::Normal => inner,
        Mode::Compatibility => Ecn::NotEct,
    }
}

/// The field of the packet that leaves the tunnel (RFC 6040 section 4.2, figure 4).
///
/// # Errors
///
/// [`Drop`] if the packet must not leave it.
#[inline]
pub const fn decapsulate(inner: Ecn, outer: Ecn) -> Result<Ecn, Drop> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => Err(Drop),
        (Ecn::NotEct, _) => Ok(Ecn::NotEct),
        (_, Ecn::Ce) => Ok(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => Ok(Ecn::Ect1),
        (inner, _) => Ok(inner),
    }
}

/// Sets the ECN field of an IP packet and updates the checksum of an IPv4 header. Leaves alone
/// what is no IP packet.
#[inline]
pub fn set(packet: &mut [u8], ecn: Ecn) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 12 => {
            let old = u16_at(packet, 0);
            set_u8_at(packet, 1, ecn.with_tos(u8_at(packet, 1)));
            let checksum = update16(u16_at(packet, 10), old, u16_at(packet, 0));
            set_u16_at(packet, 10, checksum);
        }
        Some(6) if packet.len() >= 2 => {
            set_u8_at(packet, 1, u8_at(packet, 1) & !0x30 | (ecn as u8) << 4);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn::{Ce, Ect0, Ect1, NotEct};
    use super::*;

    const ALL: [Ecn; 4] = [NotEct, Ect0, Ect1, Ce];

    #[test]
    fn the_codepoints_of_rfc_3168() {
        for (bits, ecn) in [(0, NotEct), (1, Ect1), (2, Ect0), (3, Ce)] {
            assert_eq!(Ecn::from_tos(0xb8 | bits), ecn);
            assert_eq!(ecn.with_tos(0xbb), 0xb8 | bits);
        }
    }

    #[test]
    fn figure_3_of_rfc_6040() {
        for inner in ALL {
            assert_eq!(encapsulate(inner, Mode::Compatibility), NotEct);
            assert_eq!(encapsulate(inner, Mode::Normal), inner);
        }
    }

    #[test]
    fn figure_4_of_rfc_6040() {
        // Rows: arriving inner header; columns: arriving outer header, both in the order of ALL.
        let table = [
            [Ok(NotEct), Ok(NotEct), Ok(NotEct), Err(Drop)],
            [Ok(Ect0), Ok(Ect0), Ok(Ect1), Ok(Ce)],
            [Ok(Ect1), Ok(Ect1), Ok(Ect1), Ok(Ce)],
            [Ok(Ce), Ok(Ce), Ok(Ce), Ok(Ce)],
        ];
        for (inner, row) in ALL.into_iter().zip(table) {
            for (outer, expected) in ALL.into_iter().zip(row) {
                assert_eq!(decapsulate(inner, outer), expected, "{inner} in {outer}");
            }
        }
    }

    #[test]
    fn setting_keeps_the_ipv4_checksum_right() {
        for (from, to) in ALL.into_iter().flat_map(|from| ALL.map(|to| (from, to))) {
            let mut packet = [0; 20];
            crate::ipv4::Repr { tos: from.with_tos(0xb8), ..crate::ipv4::tests::REPR }
                .emit(&mut packet);
            set(&mut packet, to);
            let view = crate::ipv4::Packet::new_header(&packet[..]).unwrap();
            assert_eq!(view.tos(), to.with_tos(0xb8));
            assert!(view.verify_checksum(), "{from} to {to}");
        }
    }

    #[test]
    fn setting_in_ipv6_touches_two_bits() {
        for ecn in ALL {
            for fill in [0x00, 0xff] {
                let mut packet = [fill; 40];
                packet[0] = 0x60 | fill & 0x0f;
                let before = packet;
                set(&mut packet, ecn);
                assert_eq!(packet[1] >> 4 & 0b11, ecn as u8);
                packet[1] = packet[1] & !0x30 | before[1] & 0x30;
                assert_eq!(packet, before);
            }
        }
    }

    #[test]
    fn setting_leaves_everything_else_alone() {
        for mut bytes in [vec![], vec![0x45; 11], vec![0x60], vec![0x50; 40]] {
            let before = bytes.clone();
            set(&mut bytes, Ce);
            assert_eq!(bytes, before);
        }
    }
}
