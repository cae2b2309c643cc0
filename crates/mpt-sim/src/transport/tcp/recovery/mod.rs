//! Loss recovery: the segments known to have arrived, the detection of losses, the transmissions that follow, and whether the response was due.

pub(super) mod door;
pub(super) mod frto;
pub(super) mod prr;
pub(super) mod rack;
pub(super) mod scoreboard;
pub(super) mod undo;
