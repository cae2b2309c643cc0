//! What a session is, and what it does when its time has come.

pub(in crate::session::engine) mod activity;
pub(in crate::session::engine) mod lifetime;
pub(in crate::session::engine) mod origin;
pub(in crate::session::engine) mod session;
#[expect(clippy::indexing_slicing, reason = "a loop counts through the session's paths")]
pub(in crate::session::engine) mod timeout;
pub(in crate::session::engine) mod traffic;
