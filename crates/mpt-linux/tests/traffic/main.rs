//! Sockets, TUN devices and namespaces that packets pass through; one file per behaviour.

#[path = "../network/mod.rs"]
mod network;
mod sockets;

mod a_batch_arrives_as_the_datagrams_it_was_made_of;
mod a_device_that_exists_is_never_joined;
mod a_late_reader_knows_when_datagrams_arrived;
mod a_path_fails_rather_than_leave_by_another_interface;
mod a_socket_says_how_full_it_is;
mod a_step_of_the_clock_makes_no_delays;
mod namespaces_are_seen_by_other_programs_and_vanish_when_dropped;
mod paths_to_one_remote_leave_by_their_own_interfaces;
mod the_kernel_and_the_offloads_understand_each_other;
