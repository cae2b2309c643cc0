//! Paths that change, fail, or have no room.

mod a_change_of_a_path_is_told_once;
mod a_full_socket_holds_up_no_other_path;
mod a_line_that_dies_is_left;
mod a_path_mtu_that_icmp_reports_is_believed_for_ten_minutes;
mod packets_wait_for_paths_to_have_room;
