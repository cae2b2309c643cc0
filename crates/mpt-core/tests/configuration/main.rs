//! Node that are configured, changed and removed while they run; one file per behaviour.

#[path = "../common/mod.rs"]
mod common;

mod a_reload_changes_only_what_differs;
mod a_removed_connection_delivers_what_waited;
mod configuration_errors_name_the_culprits;
mod every_change_of_a_paths_state_is_told_once;
mod the_key_of_a_connection_can_change;
mod timeouts_of_many_connections_come_in_order;
