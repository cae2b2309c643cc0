//! The person who has started the laboratory: interruption of a run, and its progress.

pub(super) mod interrupt;
pub(super) mod progress;
