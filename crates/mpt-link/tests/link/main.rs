//! The effects of an emulated link on packets; one file per behaviour.

mod common;

mod a_fair_link_is_never_idle_while_packets_wait;
mod a_fair_queue_agrees_with_a_naive_one;
mod a_shared_medium_is_paid_for;
mod components_do_not_shift_each_other;
mod jitter_follows_its_distribution;
mod link_agrees_with_a_naive_model;
mod loss_is_what_was_asked_for;
mod order_is_kept_where_asked;
mod queue_limits_hold;
mod rate_is_exact_however_odd_it_is;
mod same_seed_same_trace;
