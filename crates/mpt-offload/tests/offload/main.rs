//! The promises of segmenting and coalescing, one behaviour per file.

#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

mod a_packet_is_merged_only_with_its_like;
mod a_super_packet_cut_and_joined_is_unchanged;
mod coalescing_loses_and_reorders_nothing_within_a_flow;
mod lies_about_a_super_packet_are_errors;
mod runs_stand_for_their_segments;
mod segments_equal_those_of_an_independent_implementation;
mod support;
