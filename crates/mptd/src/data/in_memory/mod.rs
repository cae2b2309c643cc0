//! Two daemons' data paths in memory and in virtual time: devices, sockets and links that are nothing but queues.
//!
//! No privileges, no kernel, no thread: what a test sees is the data path's own doing, and the same on every run.

mod system;

mod a_change_of_a_path_is_told_once;
mod a_full_socket_holds_up_no_other_path;
mod a_late_thread_measures_no_delay_of_its_own;
mod a_line_that_dies_is_left;
mod a_path_mtu_that_icmp_reports_is_believed_for_ten_minutes;
mod a_peer_that_restarts_is_met_again;
mod a_reload_disturbs_no_traffic;
mod data_arrives_whole_and_once;
mod datagrams_of_any_content_are_counted;
mod packets_wait_for_paths_to_have_room;
mod sealed_data_arrives_whole_and_once;
mod what_is_lost_of_a_call_is_restored;
mod what_will_not_come_is_told;
