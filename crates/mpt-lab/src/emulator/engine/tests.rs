//! The fate of super-packets, segment by segment.

use mpt_link::{Bitrate, Distribution, Jitter, Loss, Params, Probability, QueueLimit, Redraw};
use mpt_linux::tap::READ_LEN;

use super::super::frame::tests::super_packet;
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

    /// Sends a super-packet of `segments` segments of 1054 bytes.
    fn send(&mut self, after: Duration, segments: usize) {
        let bytes = super_packet(segments * 1000, 0);
        self.buffer[..bytes.len()].copy_from_slice(&bytes);
        self.engine.send(self.start + after, 0, &mut self.buffer, bytes.len());
    }

    /// Returns what is delivered, and when: in nanoseconds since the start.
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

/// Transmission time of 1054 bytes at 1 Gbit/s, in nanoseconds.
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

/// Duration of a segment of 1054 bytes at 100 Mbit/s, in nanoseconds.
const SLOW_SEGMENT: u64 = 10 * SEGMENT;

impl Bench {
    /// Sends a super-packet of the flow from `port`, of a transport that understands ECN or does not.
    fn send_of(&mut self, port: u8, segments: usize, understands_ecn: bool) {
        let mut bytes = super_packet(segments * 1000, 0);
        // The source port, behind the virtio-net, Ethernet and IP headers.
        bytes[10 + 14 + 20 + 1] = port;
        if understands_ecn {
            mpt_wire::ecn::set(&mut bytes[10 + 14..], mpt_wire::ecn::Ecn::Ect0);
        }
        self.buffer[..bytes.len()].copy_from_slice(&bytes);
        self.engine.send(self.start, 0, &mut self.buffer, bytes.len());
    }

    /// Returns the ports of the flows, segments, marks and times of the deliveries.
    fn arrivals(&mut self) -> Vec<(u8, Range<u16>, bool, u64)> {
        let end = self.start + Duration::from_secs(1000);
        let mut arrivals = Vec::new();
        while let Some(delivery) = self.engine.poll(end) {
            let port = self.engine.frame(&delivery).bytes()[10 + 14 + 20 + 1];
            let due = (delivery.due - self.start).as_nanos() as u64;
            arrivals.push((port, delivery.segments.clone(), delivery.marked, due));
            self.engine.delivered(&delivery);
        }
        assert_eq!(self.engine.pool.in_use(), 0);
        arrivals
    }
}

#[test]
fn a_marking_queue_marks_what_understands_it_and_drops_the_rest() {
    let params = Params { mark_above: Some(MS), ..rate(100_000_000) };
    // 84.32 us each: the first twelve wait for less than a millisecond.
    let mut bench = Bench::new(&[params], &[0]);
    bench.send_of(1, 20, true);
    let arrivals = bench.arrivals();
    let marked = |segments: &[(u8, Range<u16>, bool, u64)], marked| -> usize {
        segments.iter().filter(|run| run.2 == marked).map(|run| run.1.len()).sum()
    };
    assert_eq!((marked(&arrivals, false), marked(&arrivals, true)), (12, 8));
    assert_eq!(arrivals.last().unwrap().3, 20 * SLOW_SEGMENT, "all of them pass");
    assert_eq!(bench.engine.channels().next().unwrap().marked.packets, 8);

    let mut bench = Bench::new(&[params], &[0]);
    bench.send_of(1, 20, false);
    let arrivals = bench.arrivals();
    assert_eq!((marked(&arrivals, false), marked(&arrivals, true)), (12, 0));
    assert_eq!(bench.engine.channels().next().unwrap().queue_full.packets, 8);
}

#[test]
fn a_mark_stays_on_the_way_through_further_channels() {
    let params = Params { mark_above: Some(MS), ..rate(100_000_000) };
    let mut bench = Bench::new(&[params, rate(1_000_000_000)], &[0, 1]);
    bench.send_of(1, 20, true);
    let marked: usize = (bench.arrivals().iter()).filter(|run| run.2).map(|run| run.1.len()).sum();
    assert_eq!(marked, 8);
}

impl Bench {
    /// Returns a channel of 100 Mbit/s that serves flows in turns, with `params` besides.
    fn fair(params: Params) -> Self {
        let params = Params { rate: Bitrate::new(100_000_000), ..params };
        let plan = EmulatorPlan {
            channels: vec![ChannelPlan { params, fair: true, ..ChannelPlan::default() }],
            cables: vec![cable(&[0], &[])],
            ..EmulatorPlan::default()
        };
        let start = Instant::now();
        Self { engine: Engine::new(&plan, start), start, buffer: vec![0; READ_LEN].into() }
    }
}

#[test]
fn a_fair_queue_serves_flows_in_turns() {
    let mut bench = Bench::fair(Params { delay: 5 * MS, ..Params::default() });
    bench.send_of(1, 60, false);
    bench.send_of(2, 2, false);
    let arrivals = bench.arrivals();
    assert!(arrivals.iter().all(|(_, segments, ..)| segments.len() == 1));
    let place = arrivals.iter().rposition(|(port, ..)| *port == 2).unwrap();
    assert!(place < 8, "the second flow has to wait for {place} segments");
    let times: Vec<u64> = arrivals.iter().map(|arrival| arrival.3).collect();
    let expected = (1..=62).map(|number| 5_000_000 + number * SLOW_SEGMENT);
    assert_eq!(times, expected.collect::<Vec<_>>());
}

#[test]
fn a_fair_queue_keeps_flows_short_by_marks_or_drops() {
    for understands_ecn in [true, false] {
        let mut bench = Bench::fair(Params::default());
        // Twice the rate for a second.
        for millisecond in 0..1000 {
            let now = bench.start + MS * millisecond;
            while let Some(delivery) = bench.engine.poll(now) {
                bench.engine.delivered(&delivery);
            }
            let mut bytes = super_packet(24 * 1000, 0);
            if understands_ecn {
                mpt_wire::ecn::set(&mut bytes[10 + 14..], mpt_wire::ecn::Ecn::Ect0);
            }
            bench.buffer[..bytes.len()].copy_from_slice(&bytes);
            bench.engine.send(now, 0, &mut bench.buffer, bytes.len());
        }
        bench.arrivals();
        let counters = bench.engine.channels().next().unwrap();
        assert_eq!(counters.offered.packets, 24_000);
        let (marked, dropped) = (counters.marked.packets, counters.queue_full.packets);
        let (some, other) = if understands_ecn { (marked, dropped) } else { (dropped, marked) };
        assert!(some > 20, "{some}");
        // Beyond 10,240 packets it drops every arrival.
        assert!(other == 0 || understands_ecn, "{other}");
    }
}

#[test]
fn what_waits_in_a_fair_queue_is_lost_with_its_cable() {
    let mut bench = Bench::fair(Params::default());
    bench.send_of(1, 60, false);
    bench.engine.set_carrier(0, false);
    assert_eq!(bench.arrivals(), []);
    assert_eq!(bench.engine.dropped(0).0, 60);
}
