//! Loss recovery: what is known to have arrived, what counts as lost and when, what is sent then, and whether the response was due.

pub(super) mod door;
pub(super) mod frto;
pub(super) mod prr;
pub(super) mod rack;
pub(super) mod scoreboard;
pub(super) mod undo;
