//! The paths of a session: where they lead, what both ends say of them, and what they carry.

pub(in crate::session::engine) mod all;
pub(in crate::session::engine) mod anchor;
pub(in crate::session::engine) mod candidate;
pub(in crate::session::engine) mod link;
pub(in crate::session::engine) mod locating;
pub(in crate::session::engine) mod path;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a GRE header has less than 2^16 bytes"
)]
pub(in crate::session::engine) mod path_mtu;
pub(in crate::session::engine) mod peer_table;
pub(in crate::session::engine) mod source;
pub(in crate::session::engine) mod tables;
pub(in crate::session::engine) mod turns;
