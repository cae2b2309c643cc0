//! Bytes to types and back: GRE in UDP, IP, UDP, TCP and ICMP headers, checksums.
//!
//! Nothing here does I/O, keeps state, allocates or locks, and no bytes whatsoever make a parser
//! panic. There are two layers, as in smoltcp: a *view* (`Packet<T>`, `Header<T>`) checks lengths
//! once and then reads and writes fields in place; a `Repr` is the subset of a header that means
//! something to us, by value. On the packet path stand [`gre::Repr`], [`ip::Summary`],
//! [`checksum::Sum`], [`tcp::mss::clamp`] and [`ecn`]; everything there is one pass over the headers.
//!
//! All multi-byte fields are big-endian on the wire and in host order in every signature.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

pub mod checksum;
pub mod compat;
pub mod control;
pub mod ecn;
pub mod gre;
pub mod icmp;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod tcp;
pub mod udp;

mod bytes;
