//! The events of the table, each in a file of its own.

mod black_hole;
mod blackout;
mod carrier;
mod churn;
mod dead_at_start;
mod flaps;
mod full_queue;
mod one_way;
mod planned;
mod restart;
mod returning;
mod roaming;

use super::event::Event;

/// Every event, in the order of the table.
pub(super) const EVENTS: &[&Event] = &[
    &carrier::EVENT,
    &black_hole::EVENT,
    &one_way::TOWARDS_B,
    &one_way::TOWARDS_A,
    &returning::TCP,
    &returning::UDP,
    &flaps::EVENT,
    &blackout::EVENT,
    &dead_at_start::EVENT,
    &churn::EVENT,
    &planned::EVENT,
    &full_queue::EVENT,
    &roaming::REBINDING,
    &roaming::ADDRESS,
    &restart::KILLED,
    &restart::TERMINATED,
];
