//! The delays of packets: the round-trip time, the one-way delay, and their variation.

mod one_way;
pub mod rtt;
mod unloaded;
mod variation;

pub use self::one_way::OneWay;
pub(crate) use self::unloaded::Unloaded;
