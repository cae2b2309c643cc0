//! The person who has started the laboratory: what interrupts it, and what says how far it has come.

pub(super) mod interrupt;
pub(super) mod progress;
