//! The time in which the daemon follows its interfaces. It is apart from all other tests, so that none of them is measured.
#[path = "../hosts/mod.rs"]
mod hosts;

mod a_lost_carrier_stops_its_path_at_once;
