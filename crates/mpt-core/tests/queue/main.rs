//! The fair queue, in virtual time and against a naive model.

#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

mod harness;
mod model;

mod a_later_acknowledgement_makes_those_before_it_needless;
mod a_naive_model_agrees_on_every_segment;
mod a_rate_that_falls_for_a_while_costs_a_flow_nothing;
mod a_sparse_flow_waits_for_one_turn_at_most;
mod a_standing_queue_costs_one_segment_at_a_time;
mod an_idle_queue_holds_no_memory;
mod at_a_bound_the_fattest_flow_loses;
mod bulk_flows_share_by_bytes;
mod ecn_capable_packets_are_marked_instead;
mod nothing_is_allocated_in_a_steady_state;
mod one_cubic_flow_keeps_its_link_full;
mod what_is_peeked_at_leaves_next;
