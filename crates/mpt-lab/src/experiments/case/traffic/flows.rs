//! Bulk data by flows of the laboratory: over Multipath TCP, which iperf3 supports only from 3.19 on and servers and clients of FTP and HTTP hardly
//! ever; and over TCP where the time of a flow's beginning has to be known.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::{Ends, Outcome, Running};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::processes::poll::POLL;
use crate::traffic::Transport;
use crate::traffic::bulk::{Arrived, Flow, Listener, Plan, Task};

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
        transport: Transport,
        flows: u16,
        duration: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(transport, flows, Task::Time(duration), congestion, ends)
    }

    pub(super) fn of_a_file(
        bytes: u64,
        limit: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(Transport::Mptcp, 1, Task::Bytes(bytes, limit), congestion, ends)
    }

    fn new(
        transport: Transport,
        flows: u16,
        task: Task,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        let plan = Plan { transport, congestion: congestion.to_owned(), buffer: None, task };
        let listener = Listener::open(ends.b, SocketAddr::new(ends.to, PORT), plan)?;
        Ok(Self { listener, flows, task })
    }
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { listener, flows, task } = *self;
        let prepare = |_| listener.prepare(ends.a, Some(ends.from));
        let prepared = (0..flows).map(prepare).collect::<Result<Vec<_>>>()?;
        // The flows connect at the same time, since each needs a round-trip time.
        let flows = thread::scope(|scope| {
            let started = prepared.into_iter().map(|flow| scope.spawn(|| flow.start()));
            let started: Vec<_> = started.collect();
            let flow = |thread: thread::ScopedJoinHandle<'_, Result<Flow>>| {
                thread.join().map_err(|_| anyhow!("a flow failed"))?
            };
            started.into_iter().map(flow).collect::<Result<Vec<Flow>>>()
        })?;
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
