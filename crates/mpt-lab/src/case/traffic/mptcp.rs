//! Bulk data over Multipath TCP by flows of our own: iperf3 speaks it from 3.19 on only, and servers and clients of FTP and HTTP
//! hardly ever.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Ends, Outcome, Running};
use crate::case::cpu::Watched;
use crate::case::{analysis, metric};
use crate::interrupt::Interrupt;
use crate::poll::POLL;
use crate::traffic::bulk::{Arrived, Flow, Listener, Plan, Task, Transport};

/// TCP port at the receiver.
const PORT: u16 = 5301;

/// A receiver that listens.
#[derive(Debug)]
pub(super) struct Ready {
    listener: Arc<Listener>,
    flows: u16,
    task: Task,
}

#[derive(Debug)]
struct Transfer {
    task: Task,
    flows: Vec<Flow>,
}

impl Ready {
    pub(super) fn for_time(
        flows: u16,
        duration: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(flows, Task::Time(duration), congestion, ends)
    }

    pub(super) fn of_a_file(
        bytes: u64,
        limit: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(1, Task::Bytes(bytes, limit), congestion, ends)
    }

    fn new(flows: u16, task: Task, congestion: &str, ends: Ends<'_>) -> Result<Self> {
        let (transport, congestion) = (Transport::Mptcp, congestion.to_owned());
        let plan = Plan { transport, congestion, buffer: None, task };
        let listener = Listener::open(ends.b, SocketAddr::new(ends.to, PORT), plan)?;
        Ok(Self { listener, flows, task })
    }
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { listener, flows, task } = *self;
        let start = |_| listener.start(ends.a, Some(ends.from));
        let flows = (0..flows).map(start).collect::<Result<Vec<Flow>>>()?;
        Ok(Box::new(Transfer { task, flows }))
    }
}

impl Running for Transfer {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.flows.iter().all(Flow::has_ended))
    }

    fn processes(&self) -> Vec<Watched> {
        vec![Watched::traffic("traffic", std::process::id())]
    }

    fn outcome(mut self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        while !self.ended()? {
            interrupt.sleep(POLL)?;
        }
        let arrived: Vec<Arrived> =
            self.flows.into_iter().map(Flow::finish).collect::<Result<_>>()?;
        outcome(&arrived, self.task)
    }

    fn is_silent_about_tcp(&self) -> bool {
        true
    }
}

fn outcome(arrived: &[Arrived], task: Task) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let bytes: u64 = arrived.iter().map(Arrived::bytes).sum();
    if bytes == 0 {
        bail!("nothing arrived");
    }
    let end = arrived.iter().map(|it| it.end).max().unwrap_or_default();
    let mut bins = Vec::new();
    for steps in arrived.iter().map(|it| it.in_steps(analysis::STEP)) {
        bins.resize(bins.len().max(steps.len()), 0.0);
        bins.iter_mut().zip(steps).for_each(|(sum, bytes)| *sum += bytes);
    }
    outcome.metric(metric::GOODPUT, Some(bytes as f64 * 8.0 / 1e6 / end.as_secs_f64()));
    outcome.goodput(&bins);
    if let Task::Bytes(whole, _) = task {
        super::download::finish(&mut outcome, bytes, whole, end);
        outcome.deviations.push(
            "over Multipath TCP the file is sent and received by the laboratory itself: the servers do not speak it".into(),
        );
    }
    Ok(outcome)
}
