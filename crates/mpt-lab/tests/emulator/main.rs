//! The promises of emulated links, one behaviour per file. The tests need root.

mod a_cable_can_be_pulled_out;
mod a_full_queue_does_not_hold_up_other_flows;
mod a_shared_channel_has_one_rate;
mod bad_plans_are_told;
mod bytes_arrive_as_they_were_sent;
mod congestion_marks_what_understands_it;
mod harness;
mod loss_is_what_the_counters_say;
mod nothing_arrives_too_early;
mod rates_are_kept;
mod the_emulator_ends_with_the_laboratory;
