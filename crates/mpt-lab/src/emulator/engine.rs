//! What becomes of frames, and when: the model of the links at work on super-packets. Pure: time is an argument.
//!
//! Rate, queue and loss are decided for each segment of a super-packet. What survives goes on in *runs* of consecutive
//! segments, as few as possible: a receiver gets super-packets, as it would from its network card. A run is due when its
//! last segment is, so it must not be long: see [`SHORT_RUN`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_link::{ByteCount, Change, Channel, Jitter, Outcome, Params, Redraw};

use super::plan::EmulatorPlan;
use super::pool::{Frame, FrameId, MOST_BYTES, Pool};

/// A run may take this long on the wire, or as long as its first segment has waited for the transmitter. Its first segments
/// arrive late by as much, which TCP on a link that nobody waits for would take for a longer round-trip time; where many
/// wait the system call per run counts (docs/emulation.md has both measured).
const SHORT_RUN: Duration = Duration::from_micros(100);
/// It may always have as many segments: on slow links, too, runs are what TCP answers to, and so what it sends next.
const SHORT_RUN_SEGMENTS: u16 = 8;
/// But no run takes longer than this on the wire, unless it is one segment: they would be bursts that overflow later queues.
const LONGEST_RUN: Duration = Duration::from_millis(1);

/// Channels, and frames on their way through them.
#[derive(Debug)]
pub(super) struct Engine {
    epoch: Instant,
    channels: Vec<Channel>,
    schedules: Vec<Vec<(Duration, Change)>>,
    directions: Vec<Direction>,
    /// Whether each cable is plugged in.
    plugged: Vec<bool>,
    due: BinaryHeap<Reverse<Run>>,
    pushed: u64,
    pool: Pool,
}

/// One direction of one cable. The number of the direction is its station on shared media.
#[derive(Debug)]
struct Direction {
    hops: Vec<usize>,
    /// Dropped because the cable was out.
    cut: u64,
    /// Dropped because there was no more memory.
    overflow: u64,
}

/// Consecutive segments of a frame that arrive together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    /// Nanoseconds since the start.
    due: u64,
    /// Of those due at the same time, the first to have been pushed is the first to arrive.
    order: u64,
    frame: FrameId,
    first: u16,
    end: u16,
    /// Channels it has passed.
    hops: u8,
}

/// What is to be given to a device now. To be given back to [`Engine::delivered`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    /// To which end of which direction: directions 2n and 2n + 1 are those of cable n, forward and backward.
    pub(super) direction: usize,
    /// Which segments.
    pub(super) segments: Range<u16>,
    /// When it was due.
    pub(super) due: Instant,
    frame: FrameId,
}

impl Engine {
    /// A checked plan, begun at `now`.
    pub(super) fn new(plan: &EmulatorPlan, now: Instant) -> Self {
        // A seed for each channel: those of neighbouring plan seeds must not be neighbours.
        let mut seeds = fastrand::Rng::with_seed(plan.seed);
        let channel = |plan: &super::plan::ChannelPlan| {
            let channel = Channel::new(now, plan.params, [], seeds.u64(..));
            match plan.medium {
                Some(medium) => channel.shared(medium),
                None => channel,
            }
        };
        let direction = |hops: &Vec<usize>| Direction { hops: hops.clone(), cut: 0, overflow: 0 };
        Self {
            epoch: now,
            channels: plan.channels.iter().map(channel).collect(),
            schedules: plan.channels.iter().map(|channel| channel.schedule.clone()).collect(),
            directions: plan
                .cables
                .iter()
                .flat_map(|cable| [&cable.forward, &cable.backward])
                .map(direction)
                .collect(),
            plugged: vec![true; plan.cables.len()],
            due: BinaryHeap::new(),
            pushed: 0,
            pool: Pool::new(MOST_BYTES),
        }
    }

    /// The schedules begin.
    pub(super) fn start_schedule(&mut self, now: Instant) {
        for (channel, schedule) in self.channels.iter_mut().zip(&self.schedules) {
            for &(after, change) in schedule {
                channel.change(now + after, change);
            }
        }
    }

    /// Changes a channel. `false`: there is no such channel.
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

    /// What has become of the packets of each channel.
    pub(super) fn channels(&self) -> impl Iterator<Item = mpt_link::Counters> {
        self.channels.iter().map(|channel| *channel.counters())
    }

    /// Frames of a direction dropped because the cable was out, and for want of memory.
    pub(super) fn dropped(&self, direction: usize) -> (u64, u64) {
        self.directions
            .get(direction)
            .map_or((0, 0), |direction| (direction.cut, direction.overflow))
    }

    /// A frame that was read into the first `length` bytes of `buffer`, a buffer for [`Pool::take`], sets off at `now`.
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
                self.pass(now, frame, segments, 0);
                self.pool.release(frame);
            }
            None => self.directions[direction].overflow += 1,
        }
    }

    /// When the next run is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse(run)| self.epoch + Duration::from_nanos(run.due))
    }

    /// What is to be delivered at `now`, one after the other.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Delivery> {
        while let Some(due) = self.next_timeout().filter(|&due| due <= now) {
            let Reverse(run) = self.due.pop()?;
            let direction = self.pool.get(run.frame).direction as usize;
            if !self.plugged[direction / 2] {
                self.directions[direction].cut += 1;
                self.pool.release(run.frame);
            } else if usize::from(run.hops) < self.directions[direction].hops.len() {
                // At the time it was due, so that being late does not add up.
                self.pass(due, run.frame, run.first..run.end, run.hops);
                self.pool.release(run.frame);
            } else {
                let segments = run.first..run.end;
                return Some(Delivery { direction, segments, due, frame: run.frame });
            }
        }
        None
    }

    /// The frame that is delivered.
    pub(super) fn frame(&self, delivery: &Delivery) -> &Frame {
        self.pool.get(delivery.frame)
    }

    /// The frame is not needed any longer.
    pub(super) fn delivered(&mut self, delivery: &Delivery) {
        self.pool.release(delivery.frame);
    }

    /// Sends segments through the next channel, after `hops` others.
    fn pass(&mut self, now: Instant, frame: FrameId, segments: Range<u16>, hops: u8) {
        let Frame { shape, direction, .. } = *self.pool.get(frame);
        let Some(&channel) = self.directions[direction as usize].hops.get(usize::from(hops)) else {
            self.push(frame, now, segments, hops);
            return;
        };
        let hops = hops + 1;
        let mut run: Option<Growing> = None;
        for index in segments {
            let size = ByteCount(shape.segment_length(index) as u64);
            let channel = &mut self.channels[channel];
            let outcome = channel.send_from(now, size, direction);
            if let Outcome::Arrives { at, copy, .. } = outcome {
                let params = channel.params();
                match &mut run {
                    Some(run) if run.takes(at, params) => (run.at, run.end) = (at, index + 1),
                    _ => {
                        let next = Growing::new(index, now, at, size, params);
                        self.push_run(frame, run.replace(next), hops);
                    }
                }
                if let Some(copy) = copy {
                    // Pushed first, so that what arrives at the same time comes before its copy.
                    self.push_run(frame, run.take(), hops);
                    self.push(frame, copy, index..index + 1, hops);
                }
            } else {
                self.push_run(frame, run.take(), hops);
            }
        }
        self.push_run(frame, run, hops);
    }

    fn push_run(&mut self, frame: FrameId, run: Option<Growing>, hops: u8) {
        if let Some(run) = run {
            self.push(frame, run.at, run.first..run.end, hops);
        }
    }

    fn push(&mut self, frame: FrameId, at: Instant, segments: Range<u16>, hops: u8) {
        let due = at.saturating_duration_since(self.epoch).as_nanos();
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        let Range { start: first, end } = segments;
        self.pool.retain(frame);
        self.due.push(Reverse(Run { due, order: self.pushed, frame, first, end, hops }));
        self.pushed += 1;
    }
}

/// A run to which further segments may be added.
#[derive(Debug)]
struct Growing {
    first: u16,
    end: u16,
    /// When its first segment began to arrive.
    begun: Instant,
    /// When its last segment has arrived.
    at: Instant,
    /// How long it may take.
    longest: Duration,
}

impl Growing {
    /// With one segment of `size`, sent at `sent`, that arrives at `at`.
    fn new(index: u16, sent: Instant, at: Instant, size: ByteCount, params: &Params) -> Self {
        let begun = at.checked_sub(serialization(size, params)).unwrap_or(at);
        // A jitter that holds for a while counts as waiting, too.
        let waited = begun.saturating_duration_since(sent).saturating_sub(params.delay);
        let longest = waited.clamp(SHORT_RUN, LONGEST_RUN);
        Self { first: index, end: index + 1, begun, at, longest }
    }

    /// Whether a segment that arrives at `at` may arrive as part of it.
    fn takes(&self, at: Instant, params: &Params) -> bool {
        if matches!(params.jitter, Some(Jitter { redraw: Redraw::EveryPacket, .. })) {
            // Its delay is its own.
            return at == self.at;
        }
        if !params.slot.is_zero() {
            // What leaves at the end of one slot does not wait for that of the next one.
            return at == self.at;
        }
        let few = self.end - self.first < SHORT_RUN_SEGMENTS;
        let longest = if few { LONGEST_RUN } else { self.longest };
        at >= self.at && at.saturating_duration_since(self.begun) <= longest
    }
}

/// How long it takes on the wire.
fn serialization(size: ByteCount, params: &Params) -> Duration {
    let time = |rate: mpt_link::Bitrate| {
        u128::from(size.0) * 8 * 1_000_000_000 / u128::from(rate.bits_per_second())
    };
    let nanoseconds = params.rate.map_or(0, time);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use mpt_link::{Bitrate, Distribution, Loss, Probability, QueueLimit};
    use mpt_linux::tap::READ_LEN;

    use super::super::frame::tests::super_packet;
    use super::super::plan::ChannelPlan;
    use super::super::plan::tests::cable;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    struct Bench {
        engine: Engine,
        start: Instant,
        buffer: Box<[u8]>,
    }

    impl Bench {
        fn new(channels: &[Params], forward: &[usize]) -> Self {
            let channels = channels
                .iter()
                .map(|&params| ChannelPlan { params, ..ChannelPlan::default() })
                .collect();
            let plan = EmulatorPlan {
                seed: 3,
                channels,
                cables: vec![cable(forward, &[])],
                ..EmulatorPlan::default()
            };
            let start = Instant::now();
            let buffer = vec![0; READ_LEN].into();
            Self { engine: Engine::new(&plan, start), start, buffer }
        }

        /// A super-packet of `segments` segments of 1054 bytes.
        fn send(&mut self, after: Duration, segments: usize) {
            let bytes = super_packet(segments * 1000, 0);
            self.buffer[..bytes.len()].copy_from_slice(&bytes);
            self.engine.send(self.start + after, 0, &mut self.buffer, bytes.len());
        }

        /// What is delivered, and when: in nanoseconds since the start.
        fn deliveries(&mut self) -> Vec<(u64, Range<u16>)> {
            let end = self.start + Duration::from_secs(1000);
            let mut deliveries = Vec::new();
            while let Some(delivery) = self.engine.poll(end) {
                let due = (delivery.due - self.start).as_nanos() as u64;
                deliveries.push((due, delivery.segments.clone()));
                self.engine.delivered(&delivery);
            }
            assert_eq!(self.engine.pool.in_use(), 0);
            deliveries
        }
    }

    fn rate(bits_per_second: u64) -> Params {
        Params { rate: Bitrate::new(bits_per_second), ..Params::default() }
    }

    /// 1054 bytes take that many nanoseconds at 1 Gbit/s.
    const SEGMENT: u64 = 8432;

    #[test]
    fn a_perfect_wire_delivers_at_once_and_whole() {
        let mut bench = Bench::new(&[], &[]);
        bench.send(MS, 60);
        assert_eq!(bench.deliveries(), [(1_000_000, 0..60)]);
    }

    #[test]
    fn runs_last_as_long_as_they_have_waited_and_one_millisecond_at_most() {
        let slow = Params { delay: 5 * MS, ..rate(100_000_000) };
        let mut bench = Bench::new(&[slow], &[0]);
        bench.send(Duration::ZERO, 60);
        // 84 us each. The first has not waited, and its run has eight; the others have waited long enough for 1 ms.
        let runs = [0..8, 8..16, 16..27, 27..38, 38..49, 49..60];
        let at = |run: &Range<u16>| 5_000_000 + u64::from(run.end) * 10 * SEGMENT;
        assert_eq!(bench.deliveries(), runs.map(|run| (at(&run), run)));

        let mut bench = Bench::new(&[rate(1_000_000_000)], &[0]);
        bench.send(Duration::ZERO, 60);
        bench.send(Duration::ZERO, 60);
        // Eleven last 0.1 ms. The second super-packet has waited for half a millisecond, and lasts no longer.
        let runs = [(0, 0..11), (0, 11..22), (0, 22..44), (0, 44..60), (60, 0..60)];
        let expected = runs.map(|(after, run)| ((after + u64::from(run.end)) * SEGMENT, run));
        assert_eq!(bench.deliveries(), expected);

        let mut bench = Bench::new(&[rate(1_000_000)], &[0]);
        bench.send(Duration::ZERO, 2);
        assert_eq!(bench.deliveries(), [(1000 * SEGMENT, 0..1), (2000 * SEGMENT, 1..2)]);
    }

    #[test]
    fn a_queue_takes_the_segments_it_has_room_for() {
        let params = Params { queue: QueueLimit::Packets(4), ..rate(1_000_000_000) };
        let mut bench = Bench::new(&[params], &[0]);
        bench.send(Duration::ZERO, 60);
        assert_eq!(bench.deliveries(), [(5 * SEGMENT, 0..5)]);
        let counters: Vec<_> = bench.engine.channels().collect();
        assert_eq!((counters[0].offered.packets, counters[0].queue_full.packets), (60, 55));
        assert_eq!(counters[0].offered.bytes, 60 * 1054);
    }

    #[test]
    fn what_survives_goes_on_in_runs() {
        let loss = Loss::Bernoulli(Probability::new(0.1).unwrap());
        let mut bench = Bench::new(&[Params { loss, ..rate(1_000_000_000) }], &[0]);
        let lost = |bench: &Bench| bench.engine.channels().next().unwrap().lost.packets;
        // Behind two others it has waited for so long that it would be one run without losses.
        bench.send(Duration::ZERO, 60);
        bench.send(Duration::ZERO, 60);
        let before = lost(&bench);
        bench.send(Duration::ZERO, 60);
        let lost = lost(&bench) - before;
        let mut deliveries = bench.deliveries();
        deliveries.retain(|&(at, _)| at > 120 * SEGMENT);
        let arrived: usize = deliveries.iter().map(|(_, segments)| segments.len()).sum();
        assert!((1..20).contains(&lost), "{lost}");
        assert_eq!(arrived as u64 + lost, 60);
        for ((at, segments), next) in deliveries.iter().zip(deliveries.iter().skip(1)) {
            assert_eq!(*at, SEGMENT * (120 + u64::from(segments.end)));
            assert!(next.1.start > segments.end, "they would have been one run");
        }
    }

    #[test]
    fn with_jitter_each_segment_has_a_delay_of_its_own() {
        let distribution = Distribution::Uniform { half_width: MS };
        let jitter = |redraw| Some(Jitter { distribution, redraw });
        let params = |redraw, keep_order| Params {
            delay: 10 * MS,
            jitter: jitter(redraw),
            keep_order,
            ..rate(1_000_000_000)
        };
        let mut bench = Bench::new(&[params(Redraw::EveryPacket, false)], &[0]);
        bench.send(Duration::ZERO, 60);
        assert!(bench.deliveries().iter().all(|(_, segments)| segments.len() == 1));

        let mut bench = Bench::new(&[params(Redraw::EveryPacket, true)], &[0]);
        bench.send(Duration::ZERO, 60);
        let deliveries = bench.deliveries();
        let bounds: Vec<u16> = deliveries.iter().map(|(_, segments)| segments.start).collect();
        assert!(bounds.is_sorted() && bounds.len() < 60, "who would overtake arrives with it");

        let mut bench = Bench::new(&[params(Redraw::Every(100 * MS), false)], &[0]);
        bench.send(Duration::ZERO, 11);
        assert_eq!(bench.deliveries().len(), 1, "a wandering delay is one for all of them");
    }

    #[test]
    fn copies_follow_what_they_copy() {
        let params = Params { duplication: Probability::ONE, ..rate(1_000_000_000) };
        let mut bench = Bench::new(&[params], &[0]);
        bench.send(Duration::ZERO, 2);
        let expected = [(SEGMENT, 0..1), (SEGMENT, 0..1), (2 * SEGMENT, 1..2), (2 * SEGMENT, 1..2)];
        assert_eq!(bench.deliveries(), expected);
    }

    #[test]
    fn channels_are_passed_one_after_the_other_and_without_lateness() {
        let slow = Params { delay: 5 * MS, ..rate(100_000_000) };
        let mut bench = Bench::new(&[slow, rate(1_000_000_000)], &[0, 1]);
        bench.send(Duration::ZERO, 8);
        // Polled a thousand seconds late.
        let expected = 80 * SEGMENT + 5_000_000 + 8 * SEGMENT;
        assert_eq!(bench.deliveries(), [(expected, 0..8)]);
    }

    #[test]
    fn a_channel_of_two_directions_is_shared() {
        let plan = EmulatorPlan {
            channels: vec![ChannelPlan { params: rate(1_000_000_000), ..ChannelPlan::default() }],
            cables: vec![cable(&[0], &[0])],
            ..EmulatorPlan::default()
        };
        let start = Instant::now();
        let mut engine = Engine::new(&plan, start);
        let mut buffer: Box<[u8]> = vec![0; READ_LEN].into();
        let bytes = super_packet(1000, 0);
        buffer[..bytes.len()].copy_from_slice(&bytes);
        for direction in [0, 1] {
            engine.send(start, direction, &mut buffer, bytes.len());
        }
        let due = [1, 2].map(|_| {
            let delivery = engine.poll(start + MS).unwrap();
            (delivery.direction, (delivery.due - start).as_nanos() as u64)
        });
        assert_eq!(due, [(0, SEGMENT), (1, 2 * SEGMENT)]);
    }

    #[test]
    fn a_cable_that_is_out_loses_what_is_on_its_way() {
        let mut bench = Bench::new(&[Params { delay: MS, ..Params::default() }], &[0]);
        bench.send(Duration::ZERO, 2);
        bench.engine.set_carrier(0, false);
        bench.send(Duration::ZERO, 2);
        assert_eq!(bench.deliveries(), []);
        assert_eq!(bench.engine.dropped(0), (2, 0));
        bench.engine.set_carrier(0, true);
        bench.send(Duration::ZERO, 2);
        assert_eq!(bench.deliveries().len(), 1);
    }

    #[test]
    fn schedules_count_from_their_start() {
        let schedule = vec![(10 * MS, Change::Delay(5 * MS))];
        let plan = EmulatorPlan {
            channels: vec![ChannelPlan { schedule, ..ChannelPlan::default() }],
            cables: vec![cable(&[0], &[])],
            ..EmulatorPlan::default()
        };
        let start = Instant::now();
        let mut bench =
            Bench { engine: Engine::new(&plan, start), start, buffer: vec![0; READ_LEN].into() };
        bench.send(50 * MS, 1);
        bench.engine.start_schedule(start + 100 * MS);
        bench.send(109 * MS, 1);
        bench.send(110 * MS, 1);
        assert!(bench.engine.change(start + 120 * MS, 0, Change::Delay(MS)));
        assert!(!bench.engine.change(start, 1, Change::Delay(MS)));
        bench.send(120 * MS, 1);
        let due: Vec<u64> = bench.deliveries().iter().map(|(at, _)| at / 1_000_000).collect();
        assert_eq!(due, [50, 109, 115, 121]);
    }

    #[test]
    fn memory_is_bounded_and_counted() {
        let mut bench = Bench::new(&[Params { delay: MS, ..Params::default() }], &[0]);
        bench.engine.pool = Pool::new(3 * READ_LEN);
        for _ in 0..5 {
            bench.send(Duration::ZERO, 60);
        }
        assert_eq!(bench.engine.dropped(0), (0, 2));
        assert_eq!(bench.deliveries().len(), 3);
        assert_eq!(bench.engine.channels().next().unwrap().offered.packets, 3 * 60);
    }
}
