//! Bad input, and a system that changes under the daemon: one behaviour in each file.
#[path = "../hosts/mod.rs"]
mod hosts;
mod support;

mod a_datagram_of_any_content_is_counted_and_harms_nothing;
mod a_peer_that_lies_about_its_sequence_numbers_costs_order_only;
mod an_end_leaves_nothing_behind;
