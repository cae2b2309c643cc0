//! What runs beside the traffic of a measurement: pings, echoes over TCP, a web page, another flow.

mod echo;
mod latency;
mod page;
mod ping;
mod rival;

use std::time::Duration;

use anyhow::{Context, Result};

use super::cpu::Watched;
use super::method::Carrier;
use super::traffic::{Ends, Outcome};
use super::{Beside, CaseSpec, Method, Over, network};
use crate::interrupt::Interrupt;
use crate::topology::End;
use crate::traffic::{Moment, Transport};

/// Something that runs beside the traffic; it ends when this is dropped.
pub(super) trait Companion {
    /// The traffic begins now.
    fn begin(&mut self, _ends: Ends<'_>) -> Result<()> {
        Ok(())
    }

    /// Its processes.
    fn processes(&self) -> Vec<Watched> {
        Vec::new()
    }

    /// Ends it and adds what it has observed.
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        interrupt: &Interrupt,
    ) -> Result<()>;
}

/// Which part of the time counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// When the traffic began.
    pub(super) began: Moment,
    /// How long it was expected to run.
    pub(super) duration: Duration,
    /// The part of it that counts, in seconds since its beginning.
    pub(super) counts: (f64, f64),
}

/// What begins so shortly before the traffic does is not alone any more when it ends.
const APPROACH: f64 = 0.3;

impl Window {
    pub(super) fn new(spec: &CaseSpec, began: Moment, duration: Duration) -> Self {
        let (from, to) = spec.observation.counts;
        Self { began, duration, counts: (from.as_secs_f64(), to.as_secs_f64()) }
    }

    /// Seconds since the traffic began.
    pub(super) fn seconds(&self, at: Moment) -> f64 {
        at.millis_since(self.began) / 1e3
    }

    /// Whether something at that many seconds was beside the part of the traffic that counts.
    pub(super) fn counts(&self, seconds: f64) -> bool {
        (self.counts.0..self.counts.1).contains(&seconds)
    }

    /// Whether something that ended at that many seconds was alone.
    pub(super) fn is_before(&self, seconds: f64) -> bool {
        seconds < -APPROACH
    }
}

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
