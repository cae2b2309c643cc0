//! Two hosts, real daemons, real traffic: one behaviour in each file.
#[path = "../hosts/mod.rs"]
mod hosts;

mod a_backup_path_carries_data_only_while_the_main_one_is_down;
mod a_connection_can_carry_packets_one_way_only;
mod a_flow_keeps_to_one_path;
mod a_foreign_end_of_gre_in_udp_is_talked_to;
mod connections_with_the_same_ends_are_kept_apart_by_their_keys;
mod data_arrives_whole_and_once_over_2_and_12_paths;
mod duplicate_mapping_survives_the_loss_of_a_path;
mod each_direction_has_weights_of_its_own;
mod inner_and_outer_ip_versions_combine;
mod multicast_travels_only_where_it_is_asked_for;
mod networks_behind_the_ends_reach_each_other;
mod outer_headers_are_as_configured;
mod shares_per_path_equal_the_weights;
mod tshark_decodes_every_data_packet;
mod without_numbers_and_key_it_is_plain_rfc_8086;
