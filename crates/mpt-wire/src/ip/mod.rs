//! The common parts of both IP versions: the version, protocol numbers, and the [`Summary`] of a
//! packet that classification works on.

mod flow_hash;
mod malformed;
pub mod protocol;
mod summary;
mod version;

pub use malformed::Malformed;
pub use summary::Summary;
pub use version::Version;
