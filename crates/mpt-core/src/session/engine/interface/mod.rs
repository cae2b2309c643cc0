//! The interface to the owner of the sessions: configuration, events and views.

pub(crate) mod config;
pub(crate) mod configure;
pub(crate) mod counters;
pub(crate) mod event;
pub(crate) mod outcome;
pub(crate) mod peers;
pub(crate) mod show;
pub(crate) mod view;
