//! What the owner of the sessions configures, is told and sees.

pub(crate) mod config;
pub(crate) mod configure;
pub(crate) mod counters;
pub(crate) mod event;
pub(crate) mod outcome;
pub(crate) mod peers;
pub(crate) mod show;
pub(crate) mod view;
