//! Packets from outside and from inside: the connection that they belong to, the reasons to refuse them, and the counters; one file per behaviour.

#[path = "../common/mod.rs"]
mod common;
#[path = "../virtual_network/mod.rs"]
mod virtual_network;

mod a_learnt_address_is_followed;
mod a_loose_connection_leaves_to_prototypes_what_is_no_ip_packet;
mod bad_datagrams_end_in_named_counters;
mod bad_inner_packets_end_in_named_counters;
mod connections_on_one_tuple_are_kept_apart_by_their_keys;
mod every_packet_ends_in_one_counter;
mod icmp_errors_from_outside_pass_if_they_are_about_our_packets;
mod outer_headers_get_dscp_and_ecn_as_configured;
mod outer_ip_versions_mix_in_one_connection;
mod outer_packets_routed_back_are_dropped;
mod packets_with_and_without_numbers_may_be_mixed;
