//! Bad input, and a system that changes under the daemon: one behaviour in each file.
#[path = "../hosts/mod.rs"]
mod hosts;
mod support;

mod a_datagram_of_any_content_is_counted_and_harms_nothing;
mod a_full_socket_holds_up_no_other_path;
mod a_path_changed_by_hand_loses_nothing;
mod a_path_follows_its_interface;
mod a_peer_that_lies_about_its_sequence_numbers_costs_order_only;
mod a_reload_disturbs_no_traffic;
mod a_reload_that_is_refused_changes_nothing;
mod an_end_leaves_nothing_behind;
mod each_connection_has_its_own_address_as_source;
mod outer_packets_routed_into_the_tunnel_cause_no_storm;
mod packets_waiting_take_no_more_memory_than_they_may;
mod paths_to_one_address_leave_by_their_own_interfaces;
mod the_daemon_runs_without_privileges;
mod the_exit_code_says_what_went_wrong;
mod the_mtu_follows_the_paths;
