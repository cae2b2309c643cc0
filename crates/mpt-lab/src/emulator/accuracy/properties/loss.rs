//! The share of lost packets, compared with the configured one.

use anyhow::{Context, Result, ensure};
use mpt_link::{Loss, Params, Probability};

use crate::emulator::accuracy::datagrams::{batches, transfer};
use crate::emulator::accuracy::rig::Rig;
use crate::emulator::accuracy::statistics::{binomial_interval, block_bootstrap};
use crate::emulator::accuracy::{Laboratory, Row};

/// Payload of a datagram in bytes. Datagrams are sent in batches of 20, so that super-packets lose
/// some of their segments.
const SIZE: usize = 100;
const RATE: f64 = 20_000.0;
const COUNT: u64 = 100_000;
const MEAN: f64 = 0.01;
/// Mean number of packets lost in a row.
const BURST: f64 = 5.0;
/// Packets of a block of the bootstrap; states of the link last for some hundred.
const BLOCK: usize = 2000;

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    let mean = Probability::new(MEAN).context("not a probability")?;
    let (lost, mut hidden_loss) = measure(lab, Loss::Bernoulli(mean))?;
    let number = lost.iter().filter(|&&lost| lost).count();
    let interval = binomial_interval(lost.len(), MEAN);
    let bernoulli = Row::new(
        "loss, 1 % of 100,000 packets",
        format!("{} to {}", interval.start(), interval.end()),
        format!("{number}"),
        interval.contains(&number),
    );
    let bursts = Loss::bursts(mean, BURST).context("no such loss")?;
    let (lost, hidden) = measure(lab, bursts)?;
    hidden_loss += hidden;
    let interval = block_bootstrap(&lost, BLOCK, 1);
    let number = lost.iter().filter(|&&lost| lost).count();
    let [from, to] = [interval.start(), interval.end()].map(|share| share * 100.0);
    let gilbert_elliott = Row::new(
        format!("loss, Gilbert-Elliott, 1 % in bursts of {BURST}: mean asked for"),
        "inside the block bootstrap's 99.9 %",
        format!("{number} of 100,000; {from:.2} to {to:.2} %"),
        interval.contains(&MEAN),
    );
    Ok((vec![bernoulli, gilbert_elliott], hidden_loss))
}

/// Returns for each packet whether it was lost, and the hidden loss.
fn measure(lab: &Laboratory<'_>, loss: Loss) -> Result<(Vec<bool>, u64)> {
    let rig = Rig::new(lab, &[[Params { loss, ..Params::default() }, Params::default()]], false)?;
    let before = rig.counters()?;
    let mut lost = vec![true; COUNT as usize];
    for arrival in transfer(lab, &rig, 0, batches(SIZE, RATE, COUNT))? {
        *lost.get_mut(arrival.number as usize).context("a datagram that nobody sent")? = false;
    }
    let after = rig.counters()?;
    let counted = after.channels[0].lost.packets - before.channels[0].lost.packets;
    let offered = after.channels[0].offered.packets - before.channels[0].offered.packets;
    let number = lost.iter().filter(|&&lost| lost).count() as u64;
    // Other frames of the hosts (neighbour discovery) may be lost, too.
    let others = offered - COUNT;
    ensure!(
        (number..=number + others).contains(&counted),
        "{number} packets lost, but the emulator lost {counted}"
    );
    Ok((lost, after.hidden_loss()))
}
