//! Liveness of paths, one file per behaviour; two ends in seeded virtual time.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

mod a_black_hole_is_found_within_300_ms;
mod a_flapping_path_is_held_back_longer_each_time;
mod a_keepalive_of_0_asks_and_judges_nothing;
mod a_path_that_returns_is_up_within_a_second;
mod a_path_that_stood_still_is_not_held_back;
mod a_process_that_stood_still_blames_no_path;
mod any_sequence_of_calls_keeps_the_rules;
mod harness;
mod late_is_not_dead;
mod lost_probes_are_not_a_dead_path;
mod nothing_dies_when_traffic_starts_after_a_pause;
mod one_broken_direction_leaves_the_other_up;
mod probes_cost_what_the_documentation_says;
