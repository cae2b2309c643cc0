//! A session: its state, and the work that is due at its timers.

pub(crate) mod activity;
pub(crate) mod lifetime;
pub(crate) mod origin;
pub(crate) mod session;
#[expect(clippy::indexing_slicing, reason = "a loop counts through the session's paths")]
pub(crate) mod timeout;
pub(crate) mod traffic;
