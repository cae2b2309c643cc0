//! Reports to the control side: notices as things happen, and snapshots of the state when it asks.

pub(super) mod facts;
pub(super) mod notice;
mod notices;
mod path_events;
mod session_snapshot;
pub(super) mod snapshot;
pub(super) mod states;
