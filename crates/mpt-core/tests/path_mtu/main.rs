//! The path MTU: the largest packets that a path carries, and the search for them; one file per behaviour.

#[path = "../common/mod.rs"]
mod common;

mod a_lower_path_mtu_lowers_that_of_the_device;
mod a_path_too_narrow_for_ipv6_carries_none;
mod a_reported_path_mtu_is_believed_for_ten_minutes;
mod the_path_mtu_is_found_by_probes;
