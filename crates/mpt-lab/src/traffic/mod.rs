//! Traffic that the laboratory makes itself: TCP flows and numbered datagrams, wherever they are measured.

pub(crate) mod buffer;
pub(crate) mod bulk;
mod clock;
pub(crate) mod datagrams;

pub(crate) use clock::Moment;
