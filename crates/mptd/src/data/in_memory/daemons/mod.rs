//! Daemons that are late, begin anew, or take another configuration.

mod a_late_thread_measures_no_delay_of_its_own;
mod a_machine_that_is_too_slow_gives_bulk_a_signal;
mod a_peer_that_restarts_is_met_again;
mod a_reload_disturbs_no_traffic;
