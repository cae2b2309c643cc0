//! The other end is the papers' prototype: a stand-in written in Python from what is known of it (`mptsrv.py`), quirks included, in network
//! namespaces, with real TUN devices at both ends.
#[path = "../hosts/mod.rs"]
mod hosts;

mod a_lost_path_is_left_and_taken_again;
mod both_ends_move_one_after_the_other;
mod connections_are_created;
mod data_travels_both_ways;
mod it_restarts_without_a_word;
mod no_prototype_fills_the_log;
mod prototype;
mod strangers_change_nothing;
mod the_other_end_takes_paths_up_and_down;
mod we_take_paths_up_and_down;
