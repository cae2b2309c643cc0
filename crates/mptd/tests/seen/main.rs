//! A running tunnel as people and their tools see it: real daemons, and the real command line beside them.
#[path = "../hosts/mod.rs"]
mod hosts;
#[path = "../sessions/support.rs"]
#[allow(dead_code, reason = "every test file uses a part of this")]
mod support;

mod browser;
mod command_line;
mod dashboard;
mod lossy;
mod machines;
mod many;
mod operations;
mod shell;
mod slow_cable;
mod ssh;
mod terminal;

mod a_browser_draws_the_dashboard;
mod a_capture_shows_what_the_manual_says;
mod a_dry_run_shows_every_change;
mod a_line_is_good_for_its_time;
mod a_setting_that_cannot_be_made_is_explained;
mod a_slow_line_is_enough_to_watch;
mod events_and_the_log_are_as_the_manual_shows;
mod names_are_resolved_through_the_tunnel;
mod nothing_is_asked_without_a_terminal;
mod one_cause_after_the_other_is_found_by_the_manual;
mod prometheus_understands_the_metrics;
mod the_commands_of_operations_work;
mod the_dashboard_serves_who_may_look;
mod the_original_is_left_by_the_manual;
mod the_pictures_of_the_readme_are_true;
mod the_programs_are_installed_by_the_manual;
mod the_status_follows_the_tunnel;
mod top_is_of_use_through_ssh;
mod top_takes_a_path_out_of_service_by_keys;
mod two_commands_join_two_hosts;
mod two_commands_join_two_sites;
mod what_keeps_a_server_from_being_reached_is_said;
mod whoever_has_joined_may_rely_on_the_tunnel;
