//! The mapping of packets to paths, and the numbers that they get; one file per behaviour.

#[path = "../common/mod.rs"]
mod common;
#[path = "../virtual_network/mod.rs"]
mod virtual_network;

mod a_path_that_goes_down_leaves_the_others_their_ratio;
mod a_returning_path_gets_no_catch_up_burst;
mod duplicate_mapping_sends_a_copy_on_every_path;
mod flows_stay_on_their_path;
mod lower_tiers_carry_data_only_while_the_higher_are_down;
mod multicast_travels_on_one_connection;
mod packet_mapping_reproduces_algorithm_1;
mod selectors_have_a_precedence;
mod shares_per_path_equal_the_weights;
mod super_packets_are_numbered_in_order;
