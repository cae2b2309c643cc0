//! Frames that come and go: which session each is for, what its messages lead to, and those that are sent.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod arrival;
pub(crate) mod clock;
pub(crate) mod context;
pub(crate) mod incoming;
pub(crate) mod message;
pub(crate) mod outbox;
pub(crate) mod receive;
pub(crate) mod reply;
pub(crate) mod send;
pub(crate) mod told;
pub(crate) mod wanted;
