//! What the owner of the sessions configures, is told and sees.

pub(in crate::session::engine) mod config;
pub(in crate::session::engine) mod configure;
pub(in crate::session::engine) mod counters;
pub(in crate::session::engine) mod event;
pub(in crate::session::engine) mod outcome;
pub(in crate::session::engine) mod peers;
pub(in crate::session::engine) mod show;
pub(in crate::session::engine) mod view;
