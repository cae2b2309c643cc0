//! Measurements that have a command and limits of their own: speed, failover, many clients, the cost of a property, and the demonstration.

pub(super) mod bench;
pub(super) mod clients;
pub(super) mod cost;
pub(super) mod demo;
pub(super) mod failover;
mod live;
pub(super) mod performance;
mod turns;
