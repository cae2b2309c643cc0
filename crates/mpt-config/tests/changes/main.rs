//! A configuration is changed while it is in use, and saved; one file per behaviour.

mod a_change_at_run_time_is_checked_like_the_file;
mod a_reload_changes_only_what_differs;
mod every_key_is_compared_and_saved;
