//! Traffic, wherever it is measured: TCP flows and numbered datagrams that the laboratory makes itself, and the programs iperf3 and ping.

pub(crate) mod buffer;
pub(crate) mod bulk;
mod clock;
pub(crate) mod datagrams;
pub(super) mod iperf;
pub(super) mod iperf_report;
pub(super) mod ping;
mod stop;
mod transport;

pub(crate) use clock::Moment;
pub(crate) use stop::{Flag, Stop};
pub(crate) use transport::{Options, Transport, Unconnected};
