//! How long packets take: there and back, one way, and by how much that varies.

mod one_way;
pub mod rtt;
mod variation;

pub use self::one_way::OneWay;
