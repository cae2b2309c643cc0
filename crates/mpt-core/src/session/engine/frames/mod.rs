//! Frames that come and go: which session each is for, what its messages lead to, and those that are sent.

pub(in crate::session::engine) mod clock;
pub(in crate::session::engine) mod incoming;
pub(in crate::session::engine) mod outbox;
pub(in crate::session::engine) mod receive;
pub(in crate::session::engine) mod send;
