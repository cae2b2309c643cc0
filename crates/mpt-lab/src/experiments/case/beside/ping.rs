//! Echo requests beside the traffic.

use std::time::Duration;

use anyhow::{Context, Result};

use super::latency::{self, Names, Sample};
use super::{Companion, Window};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::traffic::{Ends, GRACE, Outcome};
use crate::processes::Talking;
use crate::traffic::Moment;
use crate::traffic::ping::{self, Reply};

/// The time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A `ping` that runs until the traffic is over.
#[derive(Debug)]
pub(super) struct Pinging {
    ping: Talking,
    began: Moment,
    interval: Duration,
    count: u32,
}

impl Pinging {
    pub(super) fn start(interval: Duration, whole: Duration, ends: Ends<'_>) -> Result<Self> {
        let count = (whole.as_secs_f64() / interval.as_secs_f64()).ceil() as u32;
        let command = ping::command(ends.to, count, interval, PATIENCE);
        let began = Moment::now();
        Ok(Self { ping: Talking::new(ends.a.spawn_child(command)?), began, interval, count })
    }
}

impl Companion for Pinging {
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Self { ping, began, interval, count } = *self;
        let finished = ping.finish(GRACE, interrupt).context("ping beside the traffic")?;
        // Requests without an answer have no line: they are taken to have been sent when they were due.
        let due = |number: u32| window.seconds(began.after(interval * number));
        let mut samples: Vec<Sample> =
            (0..count).map(|number| Sample { at: due(number), time: None }).collect();
        for Reply { number, at, time } in finished.stdout.lines().filter_map(Reply::read) {
            let place = number.checked_sub(1).and_then(|it| samples.get_mut(it as usize));
            if let Some(sample) = place.filter(|sample| sample.time.is_none()) {
                let sent = at.map(|at| window.seconds(at) - time / 1e3);
                *sample = Sample { at: sent.unwrap_or(sample.at), time: Some(time) };
            }
        }
        let names = Names {
            series: "ping",
            idle: metric::PING_IDLE,
            p50: metric::PING_P50,
            p95: metric::PING_P95,
            p50_added: metric::PING_P50_ADDED,
            p95_added: metric::PING_P95_ADDED,
            lost: metric::PING_LOST,
        };
        latency::add(&samples, names, window, outcome);
        Ok(())
    }
}
