//! Frames that arrive: which session each is for, and what its messages lead to.

pub(crate) mod address;
pub(crate) mod arrival;
pub(crate) mod context;
pub(crate) mod incoming;
pub(crate) mod message;
pub(crate) mod sealed;
pub(crate) mod told;
pub(crate) mod wanted;
