//! Two hosts and more, real daemons with keys: one behaviour in each file.
#[path = "../hosts/mod.rs"]
mod hosts;

mod attacker;
mod concentrator;
mod nat;
mod support;

mod a_central_controller_leaves_bad_paths;
mod a_client_gets_its_connection_on_demand;
mod a_client_that_falls_silent_is_removed;
mod a_client_that_gets_another_address_is_followed;
mod a_connection_given_back_can_be_asked_for_again;
mod a_controller_steers_as_far_as_it_is_allowed;
mod a_flood_of_initiations_keeps_nobody_out;
mod a_name_is_resolved_again_while_its_path_is_dead;
mod a_path_that_swallows_everything_is_left;
mod a_planned_outage_loses_not_one_packet;
mod a_restart_of_the_server_breaks_no_stream;
mod clients_behind_a_nat_are_told_apart_and_followed;
mod control_frames_travel_as_gre_beside_the_data;
mod hostile_frames_disturb_no_session;
mod nothing_is_sent_to_who_has_not_the_right_keys;
mod the_other_end_is_told_of_a_lost_carrier;
mod the_speed_of_each_path_is_measured;
mod two_ends_that_know_each_other_establish_a_session;
mod what_a_client_may_have_is_bounded;
mod without_keepalives_the_carrier_decides;
