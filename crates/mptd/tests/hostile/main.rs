//! The hostile kit: an independent peer in Python, written from `docs/protocol.md` alone, with a valid key and bad manners; an attacker off the paths;
//! one on them. Real daemons run beside them, and what counts is what becomes of the correct peers: their packets, their sessions, the daemon's memory
//! and its log.
//!
//! `HOSTILE_SECONDS` is the time for all kinds of attacks together, `HOSTILE_SOAK_SECONDS` that for all of them at once. Without these each is as short as
//! still shows something. `make hostile` runs minutes.
#![expect(
    clippy::print_stdout,
    reason = "the rates and the memory are what `make hostile` is run for"
)]

#[path = "../hosts/mod.rs"]
mod hosts;
mod kit;
mod scene;

mod forged_data_costs_what_the_protocol_says;
mod memory_stays_flat;
mod no_client_disturbs_another;
mod nobody_joins_without_a_token_of_its_own;
mod nobody_off_the_paths_disturbs_a_peer;
mod nobody_on_a_path_disturbs_more_than_that_path;
mod the_document_is_enough_to_write_a_peer;
