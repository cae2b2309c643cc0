//! The accuracy of rates.

use std::time::Duration;

use anyhow::{Context, Result};
use mpt_link::{Bitrate, Params, QueueLimit};

use crate::emulator::accuracy::datagrams::{batches, transfer};
use crate::emulator::accuracy::rig::{FRAME, Rig, UDP_PAYLOAD};
use crate::emulator::accuracy::{Laboratory, Row};

/// Rates asked for, in Mbit/s.
const RATES: [u64; 4] = [10, 100, 300, 1000];
/// Offered load as a share of the rate.
const LOAD: f64 = 1.5;
/// Largest relative error.
const LIMIT: f64 = 0.002;

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    let mut rows = Vec::new();
    let mut hidden_loss = 0;
    for megabits in RATES {
        let (rate, hidden) = measure(lab, megabits)?;
        let error = rate / (megabits as f64 * 1e6) - 1.0;
        rows.push(Row::new(
            format!("rate error, {megabits} Mbit/s, offered 150 %"),
            format!("<= {} %", LIMIT * 100.0),
            format!("{:+.3} %", error * 100.0),
            error.abs() <= LIMIT,
        ));
        hidden_loss += hidden;
    }
    Ok((rows, hidden_loss))
}

fn measure(lab: &Laboratory<'_>, megabits: u64) -> Result<(f64, u64)> {
    let rate = Bitrate::from_megabits(megabits);
    let queue = QueueLimit::Time(Duration::from_millis(20));
    let rig = Rig::new(lab, &[[Params { rate, queue, ..Params::default() }; 2]], false)?;
    let per_second = megabits as f64 * 1e6 * LOAD / (FRAME * 8.0);
    let count = (per_second * lab.time(5, 2).as_secs_f64()) as u64;
    let arrivals = transfer(lab, &rig, 0, batches(UDP_PAYLOAD, per_second, count))?;
    // Datagrams of a run arrive together, at the end of its time: those of the first one came before the time begins.
    let (first, last) = arrivals.first().zip(arrivals.last()).context("nothing arrived")?;
    let datagrams = arrivals.iter().filter(|arrival| arrival.at > first.at).count();
    let time = last.at.millis_since(first.at) / 1e3;
    Ok((datagrams as f64 * FRAME * 8.0 / time, rig.counters()?.hidden_loss()))
}
