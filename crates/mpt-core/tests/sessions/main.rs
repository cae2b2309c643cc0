//! Control sessions between two daemons, in virtual time.
#![allow(unreachable_pub, reason = "the network is for all files of this test")]

mod frames;
mod host;
mod hub;
mod network;
mod raw;
mod recordings;

mod a_broken_path_is_left;
mod a_host_that_begins_anew_is_met_again;
mod a_path_is_measured;
mod a_path_is_spared_at_both_ends;
mod a_path_that_returns_is_used;
mod a_peer_that_flaps_is_answered_at_a_pace;
mod a_revoked_peer_has_no_session;
mod a_revoked_peer_sends_sealed_data_in_vain;
mod a_session_comes_up;
mod a_suspended_host_goes_on_with_sealed_data;
mod a_token_lets_its_owner_register_a_key;
mod a_wrong_message_makes_its_frame_ineffective;
mod addresses_are_followed;
mod an_unproved_address_gets_no_more_than_it_sent;
mod changes_by_hand_lose_nothing;
mod data_is_sealed;
mod keys_are_renewed_without_loss;
mod learning_costs_no_more_than_the_budget;
mod moved_packets_say_little_of_their_path;
mod new_keys_lose_nothing_on_bad_paths;
mod no_bytes_let_a_host_join;
mod no_messages_of_a_peer_end_the_daemon;
mod no_number_is_sealed_twice_under_a_key;
mod nobody_on_a_path_changes_sealed_data;
mod one_peer_takes_no_more_than_its_share;
mod path_mtus_are_found;
mod recorded_initiations_keep_nobody_out;
mod recorded_initiations_take_no_sessions;
mod requests_are_answered_over_any_path;
mod sealed_flows_do_not_wait;
mod sealed_numbers_go_far_beyond_32_bits;
mod sealed_numbers_wrap_under_any_keys;
mod sessions_are_opened_by_those_who_may;
mod shorter_paths_are_known_by_their_lead;
mod strangers_change_nothing;
mod used_up_keys_stop_data;
mod what_an_end_announces_is_in_the_registry;
mod whatever_happens_it_converges;
