//! The exchange of two ends beside the data, without a session around it; one file per behaviour.

mod a_speed_test_finds_what_a_link_carries;
mod both_ends_agree_on_the_last_table_of_paths;
mod no_messages_confuse_an_exchange;
mod no_nonce_is_used_twice;
mod requests_are_run_once_and_results_arrive_whole;
mod the_protocols_test_vectors_hold;
