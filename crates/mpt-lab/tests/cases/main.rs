//! `mpt-lab case`: one measurement, from a specification to a result. One behaviour in each file.
mod support;

mod a_broken_path_leaves_the_rate_of_the_other;
mod a_file_is_fetched_by_ftp_and_http;
mod a_link_alone_gives_its_rate;
mod delays_and_their_jitter_are_measured;
mod interruptions_leave_nothing_behind;
mod links_add_up;
mod loss_is_that_of_the_links;
mod what_is_missing_is_named;
mod what_runs_beside_the_traffic_is_observed;
