//! One direction of a link: its parameters, and how they change in time.

use std::time::Duration;

use anyhow::Result;
use mpt_link::{
    Bitrate, ByteCount, Change, Distribution, Jitter, Loss, Params, Probability, QueueLimit, Redraw,
};

use super::trace::{MOST_POINTS, Redrawn, read_trace};
use super::{FULL_PACKET, Place};
use crate::experiments::case::{ChannelSpec, MediumSpec};
use crate::experiments::definition::file::{
    BurstyFile, JitterFile, LossFile, PointFile, QueueFile, RedrawFile, Shape,
};
use crate::experiments::definition::syntax::units::Rate;

/// One direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wire {
    pub(super) params: Params,
    /// Its queue serves flows in turns.
    pub(super) fair: bool,
    pub(super) schedule: Vec<(Duration, Change)>,
}

impl Wire {
    pub(super) fn channel(&self, name: String, medium: Option<MediumSpec>) -> ChannelSpec {
        let Self { params, fair, schedule } = self.clone();
        ChannelSpec { name, params, schedule, medium, fair }
    }
}

/// Reads one direction of a link or channel. `number`: its place among all of the file, so that each draws for itself.
pub(super) fn wire(shape: &Shape, place: Place<'_>, number: u64) -> Result<Wire> {
    match (shape.rate, shape.queue) {
        (Some(_), None) => {
            let message = "missing; a link with a rate has a queue: write for example \"100packets\", \"400ms\" or \"fq_codel\"";
            return Err(place.error("queue", message));
        }
        (None, Some(_)) => {
            return Err(
                place.error("queue", "nothing waits where there is no rate; write rate, too")
            );
        }
        _ => {}
    }
    let mark_above = shape.mark_above.map(|time| time.0).filter(|time| !time.is_zero());
    let queue = match shape.queue {
        None => QueueLimit::Unlimited,
        Some(QueueFile::Limit(limit)) => scaled_queue(limit.0, place.scale),
        Some(QueueFile::FqCodel) if mark_above.is_some() => {
            let message = "FQ-CoDel marks by rules of its own; leave mark_above out";
            return Err(place.error("mark_above", message));
        }
        Some(QueueFile::FqCodel) => QueueLimit::Unlimited,
    };
    let fair = matches!(shape.queue, Some(QueueFile::FqCodel));
    if mark_above.is_some() && shape.rate.is_none() {
        return Err(
            place.error("mark_above", "nothing waits where there is no rate; write rate, too")
        );
    }
    let params = Params {
        rate: shape.rate.map(|rate| scaled(rate, place.scale)),
        queue,
        mark_above,
        slot: shape.slot.unwrap_or_default().0,
        delay: shape.delay.unwrap_or_default().0,
        jitter: shape.jitter.map(|file| jitter(file, place)).transpose()?.flatten(),
        keep_order: shape.keep_order.unwrap_or(false),
        loss: shape.loss.map_or(Ok(Loss::None), |file| loss(file, place))?,
        duplication: shape.duplication.unwrap_or_default().0,
    };
    let mut schedule = Vec::new();
    for point in shape.schedule.iter().flatten() {
        changes(point, place, &mut schedule)?;
    }
    if let Some(file) = &shape.trace {
        if !schedule.is_empty() {
            return Err(place.error("trace", "there is a schedule already; write one of the two"));
        }
        let points = read_trace(file, place.directory)
            .map_err(|error| place.error("trace", format!("{error:#}")))?;
        let change = |(at, rate)| (at, Change::Rate(Some(scaled(rate, place.scale))));
        schedule = points.into_iter().map(change).collect();
    }
    if let Some(redrawn) = redrawn(shape, params.rate, place)? {
        if !schedule.is_empty() {
            let message = "there is a schedule or a trace already; write one of them";
            return Err(place.error("redraw", message));
        }
        let rates = redrawn.until(place.span, place.seed.wrapping_add(number));
        schedule = rates.into_iter().map(|(at, rate)| (at, Change::Rate(Some(rate)))).collect();
    }
    if !schedule.is_sorted_by_key(|(at, _)| *at) {
        return Err(place.error("schedule", "goes back in time; write its rows in their order"));
    }
    if fair && (params.duplication != Probability::default() || duplicates(&schedule)) {
        let message = "a queue that serves flows in turns duplicates nothing; leave it out";
        return Err(place.error("duplication", message));
    }
    if fair && schedule.iter().any(|(_, change)| matches!(change, Change::Queue(_))) {
        let message = "a queue that serves flows in turns has no limit that could change";
        return Err(place.error("schedule", message));
    }
    Ok(Wire { params, fair, schedule })
}

fn duplicates(schedule: &[(Duration, Change)]) -> bool {
    schedule.iter().any(|(_, change)| matches!(change, Change::Duplication(_)))
}

/// Reads the key `redraw`; a share of 0 means none.
fn redrawn(shape: &Shape, rate: Option<Bitrate>, place: Place<'_>) -> Result<Option<Redrawn>> {
    let Some(RedrawFile { every, within }) = shape.redraw else { return Ok(None) };
    let within = within.0.value();
    if within == 0.0 {
        return Ok(None);
    }
    let Some(rate) = rate else {
        return Err(place.error("redraw", "there is no rate to be drawn again; write rate, too"));
    };
    if every.0.is_zero() || place.span.as_secs_f64() / every.0.as_secs_f64() > MOST_POINTS as f64 {
        let message = format!("too often; at most {MOST_POINTS} times while the traffic runs");
        return Err(place.error("redraw", message));
    }
    Ok(Some(Redrawn { rate, every: every.0, within }))
}

fn changes(point: &PointFile, place: Place<'_>, out: &mut Vec<(Duration, Change)>) -> Result<()> {
    let mut push = |change| out.push((point.after.0, change));
    if let Some(rate) = point.rate {
        push(Change::Rate(Some(scaled(rate, place.scale))));
    }
    if let Some(limit) = point.queue {
        push(Change::Queue(scaled_queue(limit.0, place.scale)));
    }
    if let Some(delay) = point.delay {
        push(Change::Delay(delay.0));
    }
    if let Some(file) = point.jitter {
        push(Change::Jitter(jitter(file, place)?));
    }
    if let Some(keep_order) = point.keep_order {
        push(Change::KeepOrder(keep_order));
    }
    if let Some(file) = point.loss {
        push(Change::Loss(loss(file, place)?));
    }
    if let Some(share) = point.duplication {
        push(Change::Duplication(share.0));
    }
    Ok(())
}

fn scaled(rate: Rate, scale: f64) -> Bitrate {
    let bits = (rate.0.bits_per_second() as f64 / scale).round() as u64;
    Bitrate::new(bits.max(1)).unwrap_or(rate.0)
}

fn scaled_queue(limit: QueueLimit, scale: f64) -> QueueLimit {
    let divided = |number: f64| (number / scale).round();
    match limit {
        // A queue of at least one packet stays one.
        QueueLimit::Packets(packets) => {
            QueueLimit::Packets((divided(packets as f64) as usize).max(packets.min(1)))
        }
        QueueLimit::Bytes(bytes) => {
            let least = bytes.0.min(FULL_PACKET);
            QueueLimit::Bytes(ByteCount((divided(bytes.0 as f64) as u64).max(least)))
        }
        other => other,
    }
}

/// Reads a jitter; 0 means none.
fn jitter(file: JitterFile, place: Place<'_>) -> Result<Option<Jitter>> {
    let distribution = match (file.normal, file.uniform) {
        (Some(deviation), None) => Distribution::Normal { deviation: deviation.0 },
        (None, Some(half_width)) => Distribution::Uniform { half_width: half_width.0 },
        _ => {
            let message = "write one of { normal = \"2ms\" } (standard deviation) and { uniform = \"2ms\" } (half width)";
            return Err(place.error("jitter", message));
        }
    };
    let none = file.normal.or(file.uniform).is_some_and(|width| width.0.is_zero());
    let every = file.every.filter(|period| !period.0.is_zero());
    let redraw = every.map_or(Redraw::EveryPacket, |period| Redraw::Every(period.0));
    Ok((!none).then_some(Jitter { distribution, redraw }))
}

fn loss(file: LossFile, place: Place<'_>) -> Result<Loss> {
    let bursty = match file {
        LossFile::Independent(share) if share.0.value() == 0.0 => return Ok(Loss::None),
        LossFile::Independent(share) => return Ok(Loss::Bernoulli(share.0)),
        LossFile::Bursty(bursty) => bursty,
    };
    match bursty {
        BurstyFile {
            mean: Some(mean),
            burst: Some(length),
            to_bad: None,
            to_good: None,
            loss_good: None,
            loss_bad: None,
        } => Loss::bursts(mean.0, length.0).ok_or_else(|| {
            let what = format!(
                "no link loses {} % in bursts of {} packets; write longer bursts or less loss",
                mean.0.value() * 100.0,
                length.0
            );
            place.error("loss", what)
        }),
        BurstyFile {
            mean: None,
            burst: None,
            to_bad: Some(to_bad),
            to_good: Some(to_good),
            loss_good: Some(loss_good),
            loss_bad: Some(loss_bad),
        } => Ok(Loss::GilbertElliott {
            to_bad: to_bad.0,
            to_good: to_good.0,
            loss_good: loss_good.0,
            loss_bad: loss_bad.0,
        }),
        _ => {
            let message = "write { mean = \"1%\", burst = 4 }, or all of to_bad, to_good, loss_good and loss_bad";
            Err(place.error("loss", message))
        }
    }
}
