//! The tunnel in virtual time.

mod advice;
mod buffer_delay;
mod cells;
mod grid;
mod jitter;
mod model;
mod window;

pub(super) use advice::run as advice;
pub(super) use buffer_delay::run as buffer_delay;
pub(super) use cells::run as cells;
pub(super) use jitter::run as jitter;
pub(super) use model::run as model;
pub(super) use window::run as window;
