//! The accuracy of delays.

use std::time::Duration;

use anyhow::Result;
use mpt_link::{Bitrate, Params, QueueLimit};

use super::wakeup::Sleeper;
use crate::emulator::accuracy::flow;
use crate::emulator::accuracy::rig::Rig;
use crate::emulator::accuracy::{Laboratory, Row, probe};
use crate::traffic::bulk::Flow;
use mpt_report::statistics::percentile;

/// Delays asked for, in milliseconds.
const DELAYS: [u64; 3] = [1, 10, 50];
/// Largest errors in microseconds: of the median, and of the 99th percentile.
const LIMITS: [f64; 2] = [80.0, 300.0];
const LIMITS_WITH_SPIN: [f64; 2] = [30.0, 150.0];

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    measure(lab, false, LIMITS)
}

pub(crate) fn rows_with_spin(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    measure(lab, true, LIMITS_WITH_SPIN)
}

fn measure(lab: &Laboratory<'_>, spin: bool, limits: [f64; 2]) -> Result<(Vec<Row>, u64)> {
    let mut rows = Vec::new();
    let mut hidden_loss = 0;
    for loaded in [false, true] {
        for milliseconds in DELAYS {
            let delay = Duration::from_millis(milliseconds);
            let probed = Params { delay, ..Params::default() };
            let load = Params {
                rate: Bitrate::from_megabits(100),
                queue: QueueLimit::Time(Duration::from_millis(20)),
                delay: Duration::from_millis(5),
                ..Params::default()
            };
            let rig = Rig::new(lab, &[[probed; 2], [load; 2], [load; 2]], spin)?;
            let flows: Vec<Flow> = (1..=if loaded { 2 } else { 0 })
                .map(|cable| flow::start(&rig, cable, false))
                .collect::<Result<_>>()?;
            let time = lab.time(6, 3);
            let count = time.as_millis() / probe::SPACING.as_millis();
            let sleeper = Sleeper::start()?;
            let mut errors = probe::delays(lab, &rig, 0, count as usize)?;
            let slept = sleeper.lateness()?;
            drop(flows);
            for error in &mut errors {
                *error = (*error - delay.as_secs_f64()) * 1e6;
            }
            errors.sort_by(f64::total_cmp);
            let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percent| percentile(&errors, percent));
            let [slept50, slept99, slept999] =
                [slept.p50, slept.p99, slept.p999].map(|late| late.as_secs_f64() * 1e6);
            let [median_limit, limit] = limits;
            rows.push(Row::new(
                format!(
                    "one-way delay error{}, {milliseconds} ms{}: p50 / p99 / p99.9",
                    if spin { " with spin" } else { "" },
                    if loaded { " beside 2 x 100 Mbit/s" } else { ", idle" }
                ),
                format!("<= {median_limit} / {limit} us"),
                format!(
                    "{p50:.0} / {p99:.0} / {p999:.0} us (a bare sleep: \
                     {slept50:.0} / {slept99:.0} / {slept999:.0})"
                ),
                p50 <= median_limit && p99 <= limit,
            ));
            hidden_loss += rig.counters()?.hidden_loss();
        }
    }
    Ok((rows, hidden_loss))
}
