//! The fate of frames over time: the model of the links at work on super-packets. It is pure: time is an argument.
//!
//! Rate, queue and loss are decided for each segment of a super-packet. The surviving segments go on in *runs* of consecutive segments, as few as
//! possible: a receiver gets super-packets, as it would from its network card. A run is due when its last segment is, so it must not be long
//! ([`run`]).

mod fair;
mod run;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_link::{ByteCount, Change, Channel, Outcome};

use super::plan::{ChannelPlan, EmulatorPlan};
use super::pool::{Frame, FrameId, MOST_BYTES, Pool};
use fair::Fair;
use run::{Growing, Run, Segment};

/// Channels, and frames on their way through them.
#[derive(Debug)]
pub(super) struct Engine {
    channels: Vec<Hop>,
    /// The indices of the channels that serve flows in turns.
    fair: Vec<usize>,
    schedules: Vec<Vec<(Duration, Change)>>,
    directions: Vec<Direction>,
    /// True for each cable that is plugged in.
    plugged: Vec<bool>,
    due: Due,
    pool: Pool,
}

/// Runs by the time at which they are due.
#[derive(Debug)]
struct Due {
    epoch: Instant,
    runs: BinaryHeap<Reverse<Run>>,
    pushed: u64,
}

/// A channel that a frame passes.
#[derive(Debug)]
enum Hop {
    /// A queue that is served in the order of arrival: the fate of a packet is known when it comes.
    Plain(Box<Channel>),
    /// A queue that serves flows in turns.
    Fair(Box<Fair>),
}

/// One direction of one cable. The number of the direction is its station on shared media.
#[derive(Debug)]
struct Direction {
    hops: Vec<usize>,
    /// Frames dropped because the cable was out.
    cut: u64,
    /// Frames dropped because there was no more memory.
    overflow: u64,
}

/// Segments to be given to a device now. The delivery has to be given back to [`Engine::delivered`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The direction at whose end they leave: directions 2n and 2n + 1 are those of cable n, forward and backward.
    pub(super) direction: usize,
    /// The segments of the frame.
    pub(super) segments: Range<u16>,
    /// The time at which it was due.
    pub(super) due: Instant,
    /// True if they are marked "congestion experienced".
    pub(super) marked: bool,
    frame: FrameId,
}

impl Engine {
    /// Returns the engine of a checked plan, begun at `now`.
    pub(super) fn new(plan: &EmulatorPlan, now: Instant) -> Self {
        // A seed for each channel: those of neighbouring plan seeds must not be neighbours.
        let mut seeds = fastrand::Rng::with_seed(plan.seed);
        let channel = |plan: &ChannelPlan| {
            let seed = seeds.u64(..);
            if plan.fair {
                return Hop::Fair(Box::new(Fair::new(now, plan.params, seed)));
            }
            let channel = Channel::new(now, plan.params, [], seed);
            Hop::Plain(Box::new(match plan.medium {
                Some(medium) => channel.shared(medium),
                None => channel,
            }))
        };
        let is_fair = |(index, channel): (usize, &ChannelPlan)| channel.fair.then_some(index);
        let direction = |hops: &Vec<usize>| Direction { hops: hops.clone(), cut: 0, overflow: 0 };
        Self {
            channels: plan.channels.iter().map(channel).collect(),
            fair: plan.channels.iter().enumerate().filter_map(is_fair).collect(),
            schedules: plan.channels.iter().map(|channel| channel.schedule.clone()).collect(),
            directions: plan
                .cables
                .iter()
                .flat_map(|cable| [&cable.forward, &cable.backward])
                .map(direction)
                .collect(),
            plugged: vec![true; plan.cables.len()],
            due: Due { epoch: now, runs: BinaryHeap::new(), pushed: 0 },
            pool: Pool::new(MOST_BYTES),
        }
    }

    /// Starts the schedules.
    pub(super) fn start_schedule(&mut self, now: Instant) {
        for (channel, schedule) in self.channels.iter_mut().zip(&self.schedules) {
            for &(after, change) in schedule {
                channel.change(now + after, change);
            }
        }
    }

    /// Changes a channel. Returns `false` if there is no such channel.
    pub(super) fn change(&mut self, now: Instant, channel: usize, change: Change) -> bool {
        let channel = self.channels.get_mut(channel);
        channel.map(|channel| channel.change(now, change)).is_some()
    }

    /// Plugs a cable in or pulls it out.
    pub(super) fn set_carrier(&mut self, cable: usize, carrier: bool) {
        if let Some(plugged) = self.plugged.get_mut(cable) {
            *plugged = carrier;
        }
    }

    /// Returns what has become of the packets of each channel.
    pub(super) fn channels(&self) -> impl Iterator<Item = mpt_link::Counters> {
        self.channels.iter().map(Hop::counters)
    }

    /// Returns the frames of a direction that were dropped because the cable was out, and for want of memory.
    pub(super) fn dropped(&self, direction: usize) -> (u64, u64) {
        self.directions
            .get(direction)
            .map_or((0, 0), |direction| (direction.cut, direction.overflow))
    }

    /// Sends a frame that was read into the first `length` bytes of `buffer`, a buffer for [`Pool::take`], at `now`.
    pub(super) fn send(
        &mut self,
        now: Instant,
        direction: usize,
        buffer: &mut Box<[u8]>,
        length: usize,
    ) {
        if !self.plugged[direction / 2] {
            self.directions[direction].cut += 1;
            return;
        }
        match self.pool.take(buffer, length, direction as u32) {
            Some(frame) => {
                let segments = 0..self.pool.get(frame).shape.segments();
                self.pass(now, frame, segments, (0, false));
                self.pool.release(frame);
            }
            None => self.directions[direction].overflow += 1,
        }
    }

    /// Returns the time at which [`Self::poll`] has something to do next.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.next_of_fair().into_iter().chain(self.due.next()).min()
    }

    /// Returns the time at which a channel that serves flows in turns has something to do.
    fn next_of_fair(&self) -> Option<Instant> {
        let fair = self.fair.iter().filter_map(|&index| self.channels.get(index));
        fair.filter_map(|channel| match channel {
            Hop::Fair(fair) => fair.next_timeout(),
            Hop::Plain(_) => None,
        })
        .min()
    }

    /// Returns what is to be delivered at `now`, one after the other.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Delivery> {
        self.poll_fair(now);
        while let Some(due) = self.due.next().filter(|&due| due <= now) {
            let Reverse(run) = self.due.runs.pop()?;
            let direction = self.pool.get(run.frame).direction as usize;
            if !self.plugged[direction / 2] {
                self.directions[direction].cut += 1;
                self.pool.release(run.frame);
            } else if usize::from(run.hops) < self.directions[direction].hops.len() {
                // At the time it was due, so that being late does not add up.
                self.pass(due, run.frame, run.first..run.end, (run.hops, run.marked));
                self.pool.release(run.frame);
            } else {
                let (segments, marked) = (run.first..run.end, run.marked);
                return Some(Delivery { direction, segments, due, marked, frame: run.frame });
            }
        }
        None
    }

    /// Moves on the segments that have passed a channel that serves flows in turns; they are due at once.
    fn poll_fair(&mut self, now: Instant) {
        for position in 0..self.fair.len() {
            let index = self.fair[position];
            while let Hop::Fair(fair) = &mut self.channels[index]
                && let Some(passed) = fair.poll(now, &mut self.pool)
            {
                let segments = passed.index..passed.index + 1;
                let state = (passed.hops, passed.marked);
                self.due.push(&mut self.pool, passed.frame, passed.at, segments, state);
                self.pool.release(passed.frame);
            }
        }
    }

    /// Returns the frame that is delivered.
    pub(super) fn frame(&self, delivery: &Delivery) -> &Frame {
        self.pool.get(delivery.frame)
    }

    /// Releases the frame of a delivery.
    pub(super) fn delivered(&mut self, delivery: &Delivery) {
        self.pool.release(delivery.frame);
    }

    /// Sends segments through the next channel, after `hops` others, one of which may have marked them.
    fn pass(
        &mut self,
        now: Instant,
        frame: FrameId,
        segments: Range<u16>,
        (hops, marked): (u8, bool),
    ) {
        let Self { channels, directions, due, pool, .. } = self;
        let Frame { shape, direction, .. } = *pool.get(frame);
        let Some(&channel) = directions[direction as usize].hops.get(usize::from(hops)) else {
            due.push(pool, frame, now, segments, (hops, marked));
            return;
        };
        let hops = hops + 1;
        let size = |index| ByteCount(shape.segment_length(index) as u64);
        let channel = match &mut channels[channel] {
            Hop::Plain(channel) => channel,
            Hop::Fair(fair) => {
                for index in segments {
                    fair.send(now, size(index), (frame, index), (hops, marked), pool);
                }
                return;
            }
        };
        let capable = fair::capable(pool, frame);
        let mut push = |run: Option<Growing>| {
            if let Some(Growing { at, first, end, marked, .. }) = run {
                due.push(pool, frame, at, first..end, (hops, marked));
            }
        };
        let mut run: Option<Growing> = None;
        for index in segments {
            let size = size(index);
            let outcome = channel.send_capable_from(now, size, direction, capable);
            let Outcome::Arrives { at, copy, marked: by_this } = outcome else {
                push(run.take());
                continue;
            };
            let segment = Segment { index, size, at, marked: marked || by_this };
            let params = channel.params();
            if !run.as_mut().is_some_and(|run| run.takes(segment, params)) {
                push(run.replace(Growing::new(segment, now, params)));
            }
            if let Some(copy) = copy {
                // Pushed first, so that what arrives at the same time comes before its copy.
                push(run.take());
                push(Some(Growing::new(Segment { at: copy, ..segment }, now, params)));
            }
        }
        push(run);
    }
}

impl Due {
    /// Returns the time at which the next run is due.
    fn next(&self) -> Option<Instant> {
        self.runs.peek().map(|Reverse(run)| self.epoch + Duration::from_nanos(run.due))
    }

    /// Adds a run of a frame, which is retained for it.
    fn push(
        &mut self,
        pool: &mut Pool,
        frame: FrameId,
        at: Instant,
        segments: Range<u16>,
        (hops, marked): (u8, bool),
    ) {
        let due = at.saturating_duration_since(self.epoch).as_nanos();
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        let Range { start: first, end } = segments;
        pool.retain(frame);
        self.runs.push(Reverse(Run { due, order: self.pushed, frame, first, end, hops, marked }));
        self.pushed += 1;
    }
}

impl Hop {
    fn change(&mut self, at: Instant, change: Change) {
        match self {
            Self::Plain(channel) => channel.change(at, change),
            Self::Fair(fair) => fair.change(at, change),
        }
    }

    fn counters(&self) -> mpt_link::Counters {
        match self {
            Self::Plain(channel) => *channel.counters(),
            Self::Fair(fair) => fair.counters(),
        }
    }
}

#[cfg(test)]
mod tests;
