//! The receive window, in virtual time and against a naive model.

#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

mod forged_numbers_cost_what_the_protocol_says;
mod harness;
mod random;

mod a_naive_model_agrees_on_every_packet;
mod announced_changes_cost_nothing;
mod no_numbers_end_the_window;
mod packets_of_shorter_paths_are_held;
mod scenarios_keep_their_figures;
mod the_window_follows_its_configuration;
mod timeouts_are_exact;
mod what_cannot_be_kept_is_delivered;
mod wrong_positions_heal;
