//! Helpers that several of the tests need.
// Each test file is a crate of its own and uses only some of this.
#![allow(dead_code)]

use mpt_wire::checksum::Sum;
use mpt_wire::gre::{Protocol, Repr};

/// Every combination of the optional GRE fields, for both IP versions. The values differ, and reach
/// the ends of their ranges.
pub(crate) fn all_gre_reprs() -> Vec<Repr> {
    let mut reprs = Vec::new();
    for protocol in [Protocol::IPV4, Protocol::IPV6] {
        for bits in 0..8u32 {
            let value = |bit: u32, value: u32| (bits & bit != 0).then_some(value);
            for (key, sequence) in
                [(0, 0), (u32::MAX, u32::MAX), (0x1234_5678 + bits, 77_000 + bits)]
            {
                let checksum = bits & 1 != 0;
                reprs.push(Repr {
                    protocol,
                    checksum,
                    key: value(2, key),
                    sequence: value(4, sequence),
                });
            }
        }
    }
    reprs
}

/// A GRE packet as it goes into UDP.
pub(crate) fn gre_datagram(repr: &Repr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0xff; repr.header_len()];
    repr.emit(&mut datagram);
    let mut sum = Sum::new();
    sum.add_bytes(payload);
    Repr::fill_checksum(&mut datagram, sum);
    datagram.extend(payload);
    datagram
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "not hexadecimal: {text}");
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(byte).collect()
}
