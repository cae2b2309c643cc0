//! Answers and events of the daemon as text for people, and such text as JSON.

pub(super) mod events;
pub(super) mod json_lines;
pub(super) mod show;
pub(super) mod steer;
