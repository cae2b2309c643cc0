//! The thread of the data path and the bounds of one of its rounds.

pub(super) mod rounds;
pub(super) mod thread;
