//! What sessions say about paths steers the data of their connections.

#[path = "../../../../tests/common/mod.rs"]
mod common;

mod a_quiet_connection_tells_of_its_next_packet;
mod tcp_is_held_on_a_shorter_path;
mod what_a_session_tells_steers_the_receive_window;
