//! The paths of a session: where they lead, what both ends say of them, and what they carry.

pub(crate) mod all;
pub(crate) mod anchor;
pub(crate) mod candidate;
pub(crate) mod exchange;
pub(crate) mod link;
pub(crate) mod locating;
pub(crate) mod path;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a GRE header has less than 2^16 bytes"
)]
pub(crate) mod path_mtu;
pub(crate) mod peer_table;
pub(crate) mod source;
pub(crate) mod tables;
pub(crate) mod turns;
