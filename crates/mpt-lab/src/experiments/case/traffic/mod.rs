//! The traffic of a measurement, from host a to host b, and what it says about itself.

mod download;
mod flows;
mod iperf;
mod listening;
mod ping;
mod rtp;
mod running;

pub(super) use download::PYTHON;

use anyhow::{Result, bail};

use super::{Method, Traffic};
use crate::traffic::Transport;
use listening::wait_until_it_listens;
pub(super) use running::{Ends, GRACE, Outcome, Ready, Running};

/// Makes ready what the traffic needs at its receiver or server. `congestion`: the congestion control to use.
pub(super) fn prepare(
    traffic: &Traffic,
    method: &Method,
    congestion: &str,
    ends: Ends<'_>,
) -> Result<Box<dyn Ready>> {
    Ok(match (traffic, method) {
        (&Traffic::Tcp { flows, duration, .. }, Method::Mptcp) => {
            Box::new(flows::Ready::for_time(Transport::Mptcp, flows, duration, congestion, ends)?)
        }
        (&Traffic::Tcp { flows, duration, own: true, .. }, _) => {
            Box::new(flows::Ready::for_time(Transport::Tcp, flows, duration, congestion, ends)?)
        }
        (&Traffic::Download { bytes, limit, .. }, Method::Mptcp) => {
            Box::new(flows::Ready::of_a_file(bytes, limit, congestion, ends)?)
        }
        (_, Method::Mptcp) => bail!("Multipath TCP carries TCP only"),
        (&Traffic::Tcp { flows, duration, .. }, _) => {
            Box::new(iperf::Ready::tcp(flows, duration, congestion, ends)?)
        }
        (&Traffic::Udp { rate, duration, size }, _) => {
            Box::new(iperf::Ready::udp(rate, duration, size, ends)?)
        }
        (&Traffic::Rtp { rate, size, duration, both_ways, dscp }, _) => {
            let call = rtp::Call { rate, size, duration, both_ways, dscp };
            Box::new(rtp::Ready::new(call, ends)?)
        }
        (&Traffic::Ping { count, interval }, _) => Box::new(ping::Ready { count, interval }),
        (&Traffic::Download { protocol, bytes, limit, .. }, _) => {
            Box::new(download::Ready::new(protocol, bytes, limit, ends)?)
        }
    })
}

/// Returns the programs of this traffic, each with the arguments that print its version.
pub(super) fn programs(
    traffic: &Traffic,
    method: &Method,
) -> Vec<(&'static str, &'static [&'static str])> {
    match (traffic, method) {
        (_, Method::Mptcp) | (Traffic::Rtp { .. } | Traffic::Tcp { own: true, .. }, _) => {
            Vec::new()
        }
        (Traffic::Tcp { .. } | Traffic::Udp { .. }, _) => vec![("iperf3", &["--version"])],
        (Traffic::Ping { .. }, _) => vec![("ping", &["-V"])],
        (Traffic::Download { protocol, .. }, _) => download::programs(*protocol),
    }
}
