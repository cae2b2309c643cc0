//! A TCP flow that is not part of the traffic: of another host, or of a second connection between the daemons.

use std::net::{IpAddr, SocketAddr};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::{Companion, Window};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::result::analysis;
use crate::experiments::case::traffic::{Ends, Outcome};
use crate::traffic::bulk::{Arrived, Listener, Plan, Prepared};
use crate::traffic::{Flag, Stop};

/// TCP port at host b.
const PORT: u16 = 5320;
/// Interval at which its thread checks whether it has to end.
const LOOK: Duration = Duration::from_millis(20);

/// A rival that begins some time after the traffic.
#[derive(Debug)]
pub(super) struct Rival {
    from: IpAddr,
    to: IpAddr,
    after: Duration,
    congestion: String,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: Stop,
    thread: JoinHandle<Result<Option<Arrived>>>,
}

impl Rival {
    pub(super) fn new((from, to): (IpAddr, IpAddr), after: Duration, congestion: String) -> Self {
        Self { from, to, after, congestion, running: None }
    }
}

impl Companion for Rival {
    fn begin(&mut self, ends: Ends<'_>) -> Result<()> {
        let plan = Plan { congestion: self.congestion.clone(), ..Plan::cubic() };
        let listener = Listener::open(ends.b, SocketAddr::new(self.to, PORT), plan)?;
        let flow = listener.prepare(ends.a, Some(self.from))?;
        let (stop, after) = (Stop::default(), self.after);
        let flag = stop.flag();
        let work = move || run(flow, after, &flag);
        let thread = thread::Builder::new().name("rival".into()).spawn(work)?;
        self.running = Some(Running { stop, thread });
        Ok(())
    }

    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        _: &Interrupt,
    ) -> Result<()> {
        let Running { stop, thread } = self.running.context("the rival has not begun")?;
        stop.now();
        let arrived = thread.join().map_err(|_| anyhow!("the rival failed"))?.context("rival")?;
        let arrived = arrived.context("the traffic ended before its rival began")?;
        let moment = |seconds: f64| window.began.after(Duration::from_secs_f64(seconds.max(0.0)));
        let (from, to) = window.counts;
        outcome.metric(metric::RIVAL, Some(arrived.rate(moment(from), moment(to)) / 1e6));
        let step = analysis::STEP.as_secs_f64();
        let steps = (window.duration.as_secs_f64() / step + 0.5) as usize;
        let begun = window.seconds(arrived.start);
        let megabits = |number: usize| {
            let (from, to) = (number as f64 * step, (number + 1) as f64 * step);
            if from < begun { 0.0 } else { arrived.rate(moment(from), moment(to)) / 1e6 }
        };
        outcome.series("rival", "Mbit/s", (0..steps).map(megabits).collect());
        Ok(())
    }
}

/// Waits, sends until it has to end, and returns what arrived; `None` if it had to end before.
fn run(flow: Prepared, after: Duration, stop: &Flag) -> Result<Option<Arrived>> {
    let began = Instant::now();
    while began.elapsed() < after {
        if stop.is_set() {
            return Ok(None);
        }
        thread::sleep(LOOK.min(after.saturating_sub(began.elapsed())));
    }
    let flow = flow.start()?;
    while !stop.is_set() {
        thread::sleep(LOOK);
    }
    flow.finish().map(Some)
}
