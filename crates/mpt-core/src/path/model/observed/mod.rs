//! The measurements that reports make of a path, each on its own.

pub(super) mod arrivals;
pub(crate) mod delay;
pub(super) mod loss;
pub(super) mod marks;
pub(super) mod overflow;
pub(super) mod rate;
pub(crate) mod window;
