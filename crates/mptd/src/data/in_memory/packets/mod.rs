//! Packets of every kind, and those that are lost on their way.

mod data_arrives_whole_and_once;
mod sealed_data_arrives_whole_and_once;
mod what_is_lost_of_a_call_is_restored;
mod what_will_not_come_is_told;
