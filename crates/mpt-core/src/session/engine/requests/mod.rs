//! Requests of both ends, and their results.

pub(crate) mod answering;
pub(crate) mod requesting;
pub(crate) mod shares;
pub(crate) mod unanswered;
