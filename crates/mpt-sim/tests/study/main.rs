//! MPTCP with packet reordering, as in the paper that studied it by simulation, and what this model of TCP adds to it; one file per behaviour.

mod a_path_that_dies_gives_its_data_to_the_others;
mod coupled_subflows_take_one_share;
mod dead_paths_end_with_a_clear_state;
mod every_transfer_ends_whatever_the_network;
mod single_path_tcp_agrees_with_ns3_vectors;
mod tables_1_and_2_are_reproduced;
mod the_cliff_is_the_minimum_timeout;
mod the_effect_is_the_receivers;
mod the_four_scenarios_end_as_stated;
mod the_papers_claims_are_graded;
mod treatments_do_what_they_are_for;
