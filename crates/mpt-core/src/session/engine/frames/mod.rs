//! Frames that come and go: which session each is for, what its messages lead to, and those that are sent.

pub(crate) mod clock;
pub(crate) mod incoming;
pub(crate) mod outbox;
pub(crate) mod receive;
pub(crate) mod send;
