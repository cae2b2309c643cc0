//! The throughput of the emulator, and the processor time that it leaves.

use std::time::{Duration, Instant};

use anyhow::Result;
use mpt_link::{Bitrate, Params, QueueLimit};

use crate::emulator::accuracy::flow;
use crate::emulator::accuracy::rig::{FRAME, Rig, TCP_PAYLOAD};
use crate::emulator::accuracy::{Laboratory, Row};
use crate::machine::usage::Machine;
use crate::traffic::bulk::Flow;

/// The queue of limited links.
const QUEUE: Duration = Duration::from_millis(20);
const DELAY: Duration = Duration::from_millis(5);
/// Time before the measurement, in which slow start ends.
const WARM_UP: Duration = Duration::from_secs(2);
/// Share of what the rate leaves to TCP that counts as the full rate.
const FULL: f64 = 0.98;

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    let mut rows = Vec::new();
    let unlimited = measure(lab, 1, None)?;
    rows.push(Row::new(
        "one TCP flow, no limit, 5 ms each way",
        ">= 10 Gbit/s",
        format!("{:.1} Gbit/s", unlimited.rate / 1e9),
        unlimited.rate >= 10e9,
    ));
    let mut hidden_loss = unlimited.hidden_loss;
    for (links, megabits, idle) in [(2, 1000, 0.8), (12, 100, 0.45)] {
        let measured = measure(lab, links, Bitrate::from_megabits(megabits))?;
        let ideal = links as f64 * megabits as f64 * 1e6 * TCP_PAYLOAD / FRAME;
        let share = measured.rate / ideal;
        rows.push(Row::new(
            format!("{links} x {megabits} Mbit/s, 5 ms: rate, machine idle"),
            format!("full, >= {:.0} %", idle * 100.0),
            format!(
                "{:.0} of {:.0} Mbit/s, {:.1} %",
                measured.rate / 1e6,
                ideal / 1e6,
                measured.idle * 100.0
            ),
            share >= FULL && measured.idle >= idle,
        ));
        hidden_loss += measured.hidden_loss;
    }
    Ok((rows, hidden_loss))
}

struct Measured {
    /// Goodput of all flows, in bit/s.
    rate: f64,
    /// Idle share of the machine.
    idle: f64,
    hidden_loss: u64,
}

/// Measures one flow over each of some links.
fn measure(lab: &Laboratory<'_>, links: usize, rate: Option<Bitrate>) -> Result<Measured> {
    let queue = rate.map_or(QueueLimit::Unlimited, |_| QueueLimit::Time(QUEUE));
    let params = Params { rate, queue, delay: DELAY, ..Params::default() };
    let rig = Rig::new(lab, &vec![[params; 2]; links], false)?;
    let flows: Vec<Flow> =
        (0..links).map(|link| flow::start(&rig, link, rate.is_none())).collect::<Result<_>>()?;
    lab.interrupt.sleep(WARM_UP)?;
    let received = || flows.iter().map(Flow::received).sum::<u64>();
    let (before, ticks, start) = (received(), Machine::now()?, Instant::now());
    lab.interrupt.sleep(lab.time(8, 3))?;
    let (after, idle, time) = (received(), Machine::now()?.idle_since(ticks), start.elapsed());
    drop(flows);
    let rate = (after - before) as f64 * 8.0 / time.as_secs_f64();
    Ok(Measured { rate, idle, hidden_loss: rig.counters()?.hidden_loss() })
}
