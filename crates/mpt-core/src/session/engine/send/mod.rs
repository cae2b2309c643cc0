//! Frames that are sent: how they are written, which way they take, and where they wait.

pub(crate) mod allowance;
pub(crate) mod answer;
pub(crate) mod clock;
pub(crate) mod frames;
pub(crate) mod outbox;
pub(crate) mod reply;
