//! Packets leave in the order in which they came in, whatever their paths do; one file per behaviour.

#[path = "../common/mod.rs"]
mod common;
#[path = "../virtual_network/mod.rs"]
mod virtual_network;

mod a_forged_number_costs_order_never_delivery;
mod a_path_not_used_for_sending_is_still_waited_for;
mod a_path_that_goes_and_returns_takes_nothing_with_it;
mod a_peer_that_restarts_at_0_is_heard_again;
mod data_over_many_paths_arrives_whole_and_once;
mod dropping_late_packets_inverts_nothing_at_all;
mod duplicate_mapping_delivers_once_over_lossy_paths;
mod flows_arrive_in_order_over_one_path_each;
mod numbers_wrap_around;
mod waiting_for_the_maximum_delay_inverts_nothing;
