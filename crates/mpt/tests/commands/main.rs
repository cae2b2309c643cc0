//! The commands of `mpt` against a daemon that plays a part; one file per behaviour.

#[path = "../example/mod.rs"]
mod example;
mod fake;

mod a_daemon_elsewhere_is_asked_in_a_session;
mod a_monitor_runs_a_program_for_each_event;
mod a_name_that_is_not_there_is_answered_with_those_that_are;
mod advice_is_given_for_paths_that_are_told;
mod completions_know_the_names;
mod exit_codes_and_output_tell_what_the_daemon_said;
mod keys_are_made_and_kept_from_others;
mod status_says_how_the_tunnel_is;
mod the_help_is_short;
