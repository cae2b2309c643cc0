//! Loss: the evidence that a number is lost, and the numbers that the peer will not send again.

pub(super) mod evidence;
mod refusals;
pub(super) mod refused;
