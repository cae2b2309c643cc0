//! Requests of both ends, and their results.

pub(in crate::session::engine) mod answering;
pub(in crate::session::engine) mod requesting;
pub(in crate::session::engine) mod shares;
pub(in crate::session::engine) mod unanswered;
