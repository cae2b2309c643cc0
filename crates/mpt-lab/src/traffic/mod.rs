//! Traffic that the laboratory makes itself: TCP flows and numbered datagrams, wherever they are measured.

pub(crate) mod buffer;
pub(crate) mod bulk;
mod clock;
pub(crate) mod datagrams;
mod stop;
mod transport;

pub(crate) use clock::Moment;
pub(crate) use stop::{Flag, Stop};
pub(crate) use transport::{Options, Transport, Unconnected};
