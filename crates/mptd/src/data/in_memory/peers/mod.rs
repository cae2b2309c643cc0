//! Peers that send what no mptd would.

mod a_peer_that_lies_about_its_numbers_costs_order_only;
mod datagrams_of_any_content_are_counted;
mod one_peer_leaves_others_room_for_what_waits;
