//! Companions of the traffic of a measurement: pings, echoes over TCP, a web page, another flow.

mod companion;
mod echo;
mod latency;
mod page;
mod ping;
mod rival;

use std::time::Duration;

use anyhow::{Context, Result};

use super::method::Carrier;
use super::traffic::Ends;
use super::{Beside, CaseSpec, Method, Over, network};
use crate::topology::End;
use crate::traffic::Transport;
pub(super) use companion::{Companion, Window};

/// Starts everything that a measurement has beside its traffic.
pub(super) fn start(
    spec: &CaseSpec,
    carrier: &Carrier,
    ends: Ends<'_>,
    duration: Duration,
) -> Result<Vec<Box<dyn Companion>>> {
    let transport = match spec.method {
        Method::Mptcp => Transport::Mptcp,
        _ => Transport::Tcp,
    };
    let whole = spec.observation.lead + duration;
    let one = |beside: &Beside| -> Result<Box<dyn Companion>> {
        Ok(match beside {
            &Beside::Ping { interval } => Box::new(ping::Pinging::start(interval, whole, ends)?),
            &Beside::Echo { interval } => Box::new(echo::Echoes::start(interval, transport, ends)?),
            &Beside::Page { pause } => Box::new(page::Loading::start(pause, transport, ends)?),
            Beside::Rival { over, after, congestion } => {
                let address = |end| match *over {
                    Over::Link(link) => Some(network::address(link, end, 4)),
                    Over::SecondConnection => carrier.second_address(end),
                };
                let between = address(End::A).zip(address(End::B));
                let between = between.context("there is no second connection")?;
                Box::new(rival::Rival::new(between, *after, congestion.clone()))
            }
        })
    };
    spec.observation.beside.iter().map(one).collect()
}
