use std::time::Duration;

mod arrivals;
mod hidden;
mod pauses;
mod send_times;
mod switches;

use mpt_wire::control::Stamp;
use proptest::prelude::*;

use self::arrivals::by_turns;
use super::*;
use crate::reorder::{Config, Late, Losses};

const BULK: Class = Class::Payload { flow: 7, large: true };

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The deliveries and their times.
#[derive(Default)]
struct Delivered {
    now: Option<Instant>,
    numbers: Vec<(Instant, u32)>,
    kept: i64,
    room: Option<i64>,
}

impl Sink<u32> for Delivered {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        if self.room.is_some_and(|room| self.kept >= room) {
            return None;
        }
        self.kept += 1;
        Some(packet)
    }

    fn deliver(&mut self, packet: u32, kept: bool, _: bool) {
        self.kept -= i64::from(kept);
        self.numbers.push((self.now.expect("a time"), packet));
    }

    fn discard(&mut self, _: u32) {
        self.kept -= 1;
    }
}

/// The two ends' clocks differ by this, in microseconds modulo 2^32.
const CLOCKS: u32 = 3_000_000_000;

/// A receiver whose peer tells when its packets left. Times are milliseconds.
struct Receiver {
    start: Instant,
    window: EqualizedBuffer<u32>,
    sink: Delivered,
}

impl Receiver {
    /// Returns a receiver with one path for each of these delays, as probes have measured them with this spread.
    fn new(delays: [u32; 2], spread: u64) -> Self {
        let start = Instant::now();
        let mut window = EqualizedBuffer::new(Config::default());
        for path in 0..delays.len() {
            window.buffer_mut().add_path(start, path, 1);
        }
        let mut receiver = Self { start, window, sink: Delivered::default() };
        for (path, delay) in delays.into_iter().enumerate() {
            receiver.probed(path, delay, spread);
        }
        receiver.told(0, &[]);
        receiver
    }

    /// The administrator configures the window so.
    fn configure(&mut self, config: Config) {
        self.window.set_config(self.start, config, &mut self.sink);
    }

    /// Probes find that a path has this delay and this spread.
    fn probed(&mut self, path: usize, delay: u32, spread: u64) {
        let least = (delay * 1_000).wrapping_add(CLOCKS);
        let playout = self.window.playout(self.start);
        playout.set_probed(path, least, ms(spread), ms(2 * u64::from(delay)));
    }

    /// Returns how long bulk is held beyond what the shortest path takes; zero where nothing is held.
    fn hold(&self) -> Duration {
        let playout = self.window.playout.as_ref().filter(|_| self.window.playing);
        playout.map_or(Duration::ZERO, |playout| playout.extra())
    }

    fn at(&self, micros: u64) -> Instant {
        self.start + Duration::from_micros(micros)
    }

    /// The peer tells when numbers left. None of them had waited.
    fn told(&mut self, micros: u64, stamps: &[(u32, u64)]) {
        self.told_of_waiting(micros, stamps, 0);
    }

    /// The peer tells when numbers left that had waited in its queue for so many milliseconds.
    fn told_of_waiting(&mut self, micros: u64, stamps: &[(u32, u64)], waited: u16) {
        let now = self.at(micros);
        let stamps = stamps.iter().map(|&(number, sent)| Stamp {
            number,
            time: (sent as u32).wrapping_sub(CLOCKS),
            waited: 10 * waited,
        });
        self.window.playout(now).handle_stamps(now, micros as u32, ms(10), stamps);
        self.window.playout(now).update_hold(now);
    }

    /// Lets time pass.
    fn run(&mut self, micros: u64) {
        while let Some(due) = self.window.next_timeout().filter(|&due| due <= self.at(micros)) {
            self.sink.now = Some(due);
            self.window.handle_timeout(due, &mut self.sink);
            assert!(self.window.next_timeout().is_none_or(|next| next > due), "due for ever");
        }
    }

    fn receive(&mut self, micros: u64, path: usize, number: u32, class: Class) {
        self.run(micros);
        let now = self.at(micros);
        self.sink.now = Some(now);
        self.window.receive(now, path, number, number, class, &mut self.sink);
    }

    /// The numbers delivered, and when, in microseconds.
    fn delivered(&self) -> Vec<(u64, u32)> {
        let micros = |at: Instant| at.duration_since(self.start).as_micros() as u64;
        self.sink.numbers.iter().map(|&(at, number)| (micros(at), number)).collect()
    }
}

/// Numbers by turns over paths of 10 and 60 ms, one each millisecond.
fn sent(count: u32) -> Vec<(u64, usize, u32)> {
    by_turns([10, 60], count)
}

#[test]
fn bulk_is_played_out_at_one_delay_whatever_its_path() {
    let mut receiver = Receiver::new([10, 60], 0);
    for (at, path, n) in sent(200) {
        receiver.told(at, &[(n, u64::from(n) * 1_000)]);
        receiver.receive(at, path, n, BULK);
    }
    receiver.run(1_000_000);
    let delivered = receiver.delivered();
    assert!(delivered.iter().map(|&(_, n)| n).eq(0..200), "in order: {delivered:?}");
    // 60 ms, the queue that a sender tolerates there: a tenth of 120 ms, and 20 ms for its own.
    for (at, n) in delivered {
        let took = at - u64::from(n) * 1_000;
        assert!((91_500..92_500).contains(&took), "{n} took {took}");
    }
}

#[test]
fn what_is_lost_costs_nobody_time() {
    let mut receiver = Receiver::new([10, 60], 0);
    for (at, path, n) in sent(200).into_iter().filter(|(_, _, n)| n % 10 != 3) {
        receiver.told(at, &[(n, u64::from(n) * 1_000)]);
        receiver.receive(at, path, n, BULK);
    }
    receiver.run(1_000_000);
    for (at, n) in receiver.delivered() {
        let took = at - u64::from(n) * 1_000;
        assert!((91_500..92_500).contains(&took), "{n} took {took}");
    }
    assert_eq!(receiver.window.buffer().counters().late, 0);
}

#[test]
fn what_was_sent_again_comes_into_its_place() {
    let mut receiver = Receiver::new([10, 60], 0);
    for n in 0..20 {
        receiver.told(10_000 + n * 1_000, &[(n as u32, n * 1_000)]);
        if n != 5 {
            receiver.receive(10_000 + n * 1_000, 0, n as u32, BULK);
        }
    }
    receiver.receive(70_000, 0, 5, BULK);
    receiver.receive(70_100, 1, 5, BULK);
    receiver.run(1_000_000);
    assert!(receiver.delivered().iter().map(|&(_, n)| n).eq(0..20));
    assert_eq!(receiver.window.buffer().counters().duplicate, 1);
}

/// A burst of packets that leave one after another, one each millisecond, had entered the sender's queue at one time. They
/// come after 10 ms, but for `lost`.
fn burst(lost: Option<u32>) -> Vec<(u64, u32)> {
    let mut receiver = Receiver::new([10, 60], 0);
    for n in 0..80 {
        let left = u64::from(n) * 1_000;
        receiver.told_of_waiting(left, &[(n, left)], n as u16);
        if Some(n) != lost {
            receiver.receive(left + 10_000, 0, n, BULK);
        }
    }
    receiver.run(1_000_000);
    receiver.delivered()
}

#[test]
fn what_a_packet_has_waited_before_it_left_is_taken_off_its_hold() {
    let delivered = burst(None);
    assert!(delivered.iter().map(|&(_, n)| n).eq(0..80), "in order: {delivered:?}");
    for &(at, n) in &delivered {
        assert!((92_000..92_500).contains(&at), "{n} entered at 0 and was delivered at {at}");
    }
}

#[test]
fn the_first_packet_of_a_burst_comes_alone() {
    let delivered = burst(None);
    let others = delivered[1..].iter().map(|&(at, _)| at - delivered[0].0);
    assert!(others.min() == Some(200), "{delivered:?}");
}

#[test]
fn a_number_that_is_missing_is_waited_for_longer_than_what_waited_before_it_left() {
    let delivered = burst(Some(60));
    assert!(delivered.iter().map(|&(_, n)| n).eq((0..80).filter(|&n| n != 60)), "{delivered:?}");
    let &(at, _) = delivered.iter().find(|&&(_, n)| n == 61).expect("what comes behind the gap");
    // It left at 61 ms, and has 72 ms from then on.
    assert!((133_000..133_500).contains(&at), "what is missing was given up at {at}");
}

/// Probes have found more jitter than data has.
#[test]
fn a_hold_that_is_too_long_does_not_shrink_while_a_flow_may_be_in_slow_start() {
    let mut receiver = Receiver::new([10, 60], 100);
    let jitter = |n: u32| u64::from(n / 2 * 2 % 5) * 6_000;
    let mut arrivals: Vec<_> =
        sent(6_000).into_iter().map(|(at, path, n)| (at + jitter(n), path, n)).collect();
    arrivals.sort_unstable();
    for (at, path, n) in arrivals {
        receiver.told(at, &[(n, u64::from(n) * 1_000)]);
        receiver.receive(at, path, n, BULK);
    }
    receiver.run(7_000_000);
    let took: Vec<_> =
        receiver.delivered().iter().map(|&(at, n)| at - u64::from(n) * 1_000).collect();
    assert!(took.len() == 6_000 && took[0] > 100_000, "{:?}", &took[..9]);
    let changed = took.iter().position(|it| it.abs_diff(took[0]) > 500).expect("it shrinks");
    assert!(changed > 2_800, "after {changed} ms {} instead of {}", took[changed], took[0]);
    assert!(took[5_999] + 20_000 < took[0], "{} after {}", took[5_999], took[0]);
}

/// The window of a flow that begins comes at once, and the next one a round-trip time later.
#[test]
fn a_pause_of_three_holds_is_none_of_the_flow() {
    let mut receiver = Receiver::new([10, 210], 100);
    receiver.receive(20_000, 0, 0, BULK);
    receiver.told(30_000, &[]);
    let before = receiver.hold();
    assert!(before > ms(200), "{before:?}");
    receiver.probed(1, 60, 100);
    for (micros, stays) in [(720_000, true), (2_020_000, false)] {
        receiver.told(micros, &[]);
        assert_eq!(receiver.hold() == before, stays, "{micros}: {:?}", receiver.hold());
    }
}

/// Acknowledgements every 700 microseconds over a path that jitters.
#[test]
fn acknowledgements_are_delivered_in_batches_that_are_no_train() {
    let mut receiver = Receiver::new([10, 10], 8);
    let arrival = |n: u32| (u64::from(n) * 700 + 10_000 + u64::from(n) * 7 % 11 * 1_000, n);
    let mut arrivals: Vec<(u64, u32)> = (0..300).map(arrival).collect();
    arrivals.sort_unstable();
    for (at, n) in arrivals {
        receiver.told(at, &[(n, u64::from(n) * 700)]);
        receiver.receive(at, 0, n, Class::Acknowledgement);
    }
    receiver.run(2_000_000);
    let mut times: Vec<u64> = receiver.delivered().iter().map(|&(at, _)| at).collect();
    assert_eq!(times.len(), 300);
    times.dedup();
    let least = times.windows(2).map(|pair| pair[1] - pair[0]).min().expect("some");
    assert!(least > 2_000, "{least} us between two batches");
}

#[test]
fn what_is_no_bulk_passes_and_is_delivered_once() {
    let mut receiver = Receiver::new([10, 60], 0);
    receiver.receive(10_000, 0, 0, BULK);
    receiver.receive(11_000, 0, 1, Class::Other);
    receiver.receive(11_100, 1, 1, Class::Other);
    receiver.receive(12_000, 0, 2, Class::Acknowledgement);
    receiver.receive(13_000, 0, 3, BULK);
    receiver.receive(300_000, 1, 1, Class::Other);
    receiver.run(1_000_000);
    let delivered = receiver.delivered();
    assert_eq!(delivered[..2], [(11_000, 1), (12_000, 2)]);
    assert!(delivered[2..].iter().map(|&(_, n)| n).eq([0, 3]), "{delivered:?}");
    let counters = receiver.window.buffer().counters();
    assert_eq!((counters.ahead, counters.duplicate, counters.packets()), (2, 2, 6));
}

/// A number was lost, the next one was delivered before its turn: its copies are known whatever happens
/// while the former is waited for.
#[test]
fn what_has_passed_is_delivered_once_whatever_happens_meanwhile() {
    let paths_are_equal = |receiver: &mut Receiver| {
        for path in 0..2 {
            receiver.probed(path, 10, 0);
        }
        receiver.told(1_000_000, &[]);
    };
    let too_far_ahead = |receiver: &mut Receiver| {
        receiver.receive(1_000_000, 0, 40_000, Class::Other);
    };
    let peer_rests = |receiver: &mut Receiver| receiver.window.observe(false);
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Receiver));
    let cases: [Case<'_>; 3] =
        [("equal", &paths_are_equal), ("far ahead", &too_far_ahead), ("rest", &peer_rests)];
    for (name, happens) in cases {
        let mut receiver = Receiver::new([10, 60], 0);
        receiver.receive(10_000, 0, 0, Class::Other);
        receiver.receive(12_000, 0, 2, Class::Other);
        happens(&mut receiver);
        receiver.receive(1_000_100, 1, 2, Class::Other);
        let copies = receiver.delivered().iter().filter(|&&(_, n)| n == 2).count();
        assert_eq!(copies, 1, "{name}");
    }
}

#[test]
fn what_is_wanted_at_once_gets_past_a_gap_where_packets_are_put_in_order_as_they_come() {
    const VOICE: Class = Class::Datagram { flow: 9, large: false };
    for urgent in [Class::Other, VOICE, Class::Datagram { flow: 9, large: true }] {
        let mut receiver = Receiver::new([10, 12], 0);
        receiver.window.set_repair_time(Some(ms(100)), Losses::None);
        receiver.receive(10_000, 0, 0, BULK);
        receiver.receive(11_000, 0, 2, urgent);
        receiver.receive(11_100, 0, 3, BULK);
        // A copy of what has passed, and what was missing.
        receiver.receive(11_200, 1, 2, urgent);
        assert_eq!(receiver.delivered(), [(10_000, 0), (11_000, 2)], "{urgent:?}");
        assert_eq!(receiver.window.waiting(), 1);
        receiver.receive(11_900, 1, 1, BULK);
        receiver.run(1_000_000);
        receiver.receive(1_000_000, 1, 2, urgent);
        let delivered: Vec<u32> = receiver.delivered().iter().map(|&(_, n)| n).collect();
        assert_eq!(delivered, [0, 2, 1, 3], "{urgent:?}");
        let counters = receiver.window.buffer().counters();
        let counts = (counters.ahead, counters.duplicate, counters.in_order, counters.packets());
        assert_eq!(counts, (1, 2, 3, 6), "{urgent:?}");
    }
}

#[test]
fn what_has_passed_a_gap_is_still_followed_by_what_comes_in_time() {
    let mut receiver = Receiver::new([10, 12], 0);
    receiver.window.set_repair_time(Some(ms(100)), Losses::None);
    receiver.receive(10_000, 0, 0, BULK);
    for n in [2, 4, 6] {
        receiver.receive(11_000, 0, n, Class::Other);
    }
    // A repair of what others have passed comes at its place among those that waited.
    receiver.receive(12_000, 0, 7, BULK);
    receiver.receive(40_000, 1, 3, BULK);
    receiver.receive(41_000, 1, 1, Class::Other);
    receiver.receive(42_000, 1, 5, BULK);
    let delivered: Vec<u32> = receiver.delivered().iter().map(|&(_, n)| n).collect();
    assert_eq!(delivered, [0, 2, 4, 6, 1, 3, 5, 7]);
}

#[test]
fn a_bulk_flow_of_datagrams_keeps_its_order_where_packets_are_put_in_order_as_they_come() {
    const BULK_UDP: Class = Class::Datagram { flow: 9, large: true };
    let mut receiver = Receiver::new([10, 12], 0);
    for n in 0..30 {
        receiver.receive(10_000 + n * 1_000, 0, n as u32, BULK_UDP);
    }
    receiver.receive(41_000, 0, 31, BULK_UDP);
    assert_eq!(receiver.delivered().len(), 30);
    receiver.receive(41_500, 1, 30, BULK_UDP);
    assert!(receiver.delivered().iter().map(|&(_, n)| n).eq(0..32));
    assert_eq!(receiver.window.buffer().counters().ahead, 0);
}

#[test]
fn with_strict_order_nothing_gets_past_a_gap() {
    let mut receiver = Receiver::new([10, 12], 0);
    let config = Config { late: Late::Drop, ..Config::default() };
    receiver.window.set_config(receiver.start, config, &mut receiver.sink);
    receiver.receive(10_000, 0, 0, BULK);
    receiver.receive(11_000, 0, 2, Class::Other);
    assert_eq!(receiver.delivered(), [(10_000, 0)]);
}

#[test]
fn what_keeps_its_place_among_all_packets_waits_whatever_it_is() {
    for (delays, due) in [([10, 60], 60_000), ([10, 12], 11_500)] {
        let mut receiver = Receiver::new(delays, 0);
        receiver.told(1_000, &[(0, 0), (1, 500), (2, 1_000)]);
        receiver.receive(10_000, 0, 0, Class::Ordered);
        receiver.receive(11_000, 0, 2, Class::Ordered);
        receiver.receive(11_500, 1, 1, Class::Ordered);
        receiver.run(1_000_000);
        let delivered = receiver.delivered();
        assert!(delivered.iter().map(|&(_, n)| n).eq(0..3), "{delivered:?}");
        assert!(delivered[1].0 >= due, "{delivered:?}");
        assert_eq!(receiver.window.buffer().counters().ahead, 0);
    }
}

/// Receives the numbers 0, 5 and 6 from a peer that refuses to send these runs of numbers again. Returns the deliveries.
fn refused(delays: [u32; 2], refused: &[(u32, u32)]) -> Vec<(u64, u32)> {
    let mut receiver = Receiver::new(delays, 0);
    receiver.window.set_repair_time(Some(ms(300)), Losses::None);
    receiver.told(5_000, &[(0, 0), (9, 9)]);
    receiver.receive(10_000, 0, 0, BULK);
    receiver.receive(10_001, 0, 5, BULK);
    receiver.receive(12_000, 1, 6, BULK);
    for &(first, count) in refused {
        receiver.window.refuse(receiver.at(20_000), first, count);
    }
    receiver.run(2_000_000);
    receiver.delivered()
}

#[test]
fn what_the_peer_will_not_send_again_is_not_waited_for() {
    for (delays, soon, due) in [([10, 12], 20_000, 20_000), ([10, 60], 0, 100_000)] {
        // Otherwise it is, since it may be sent again.
        let waited = refused(delays, &[]);
        assert!(waited[1].0 >= 200_000, "{waited:?}");
        let some = refused(delays, &[(1, 3)]);
        assert!(some[1].0 >= 200_000, "{some:?}");
        for refusals in [&[(1, 4)][..], &[(3, 2), (1, 2)], &[(0, 5), (40_000, 9)]] {
            let delivered = refused(delays, refusals);
            assert!(delivered.iter().map(|&(_, n)| n).eq([0, 5, 6]), "{delivered:?}");
            assert!((soon..=due).contains(&delivered[1].0), "{delays:?}: {delivered:?}");
        }
    }
}

#[test]
fn what_comes_although_it_was_refused_is_delivered_once() {
    for delays in [[10, 12], [10, 60]] {
        let mut receiver = Receiver::new(delays, 0);
        receiver.window.set_repair_time(Some(ms(300)), Losses::None);
        receiver.receive(10_000, 0, 0, BULK);
        receiver.receive(10_001, 0, 3, BULK);
        receiver.window.refuse(receiver.at(11_000), 1, 2);
        receiver.receive(11_500, 1, 1, BULK);
        receiver.run(500_000);
        receiver.receive(600_000, 1, 2, BULK);
        receiver.receive(600_100, 1, 1, BULK);
        let mut numbers: Vec<u32> = receiver.delivered().iter().map(|&(_, n)| n).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3], "{delays:?}");
    }
}

#[test]
fn what_comes_after_its_time_is_delivered_at_once() {
    let mut receiver = Receiver::new([10, 60], 0);
    for n in [0, 1, 3] {
        receiver.receive(10_000, 0, n, BULK);
    }
    receiver.receive(500_000, 1, 2, BULK);
    assert_eq!(receiver.delivered().last(), Some(&(500_000, 2)));
    assert_eq!(receiver.window.buffer().counters().late, 1);
}

/// A burst is all that a path has carried, and all of it waited in the path's queue.
#[test]
fn a_queue_makes_no_path_longer() {
    let mut receiver = Receiver::new([10, 10], 0);
    for n in 0..80 {
        let sent = u64::from(n) * 10;
        receiver.told(60_000 + sent, &[(n, sent), (n + 1, sent + 10)]);
        receiver.receive(60_000 + sent, 1, n, BULK);
    }
    for n in 80..200 {
        let sent = 100_000 + u64::from(n) * 1_000;
        receiver.told(sent + 10_000, &[(n, sent), (n + 1, sent + 1_000)]);
        receiver.receive(sent + 10_000, 0, n, BULK);
    }
    assert_eq!(receiver.hold(), Duration::ZERO);
    assert_eq!(receiver.delivered().len(), 200);
}

#[test]
fn paths_that_are_equally_long_hold_nothing() {
    let mut receiver = Receiver::new([10, 12], 0);
    receiver.receive(10_000, 0, 0, BULK);
    assert_eq!(receiver.delivered(), [(10_000, 0)]);
    assert_eq!(receiver.hold(), Duration::ZERO);
}

#[test]
fn a_packet_without_room_takes_the_place_of_the_first_one() {
    let mut receiver = Receiver::new([10, 60], 0);
    receiver.sink.room = Some(2);
    for n in 0..4 {
        receiver.receive(10_000 + u64::from(n), 0, n, BULK);
        assert_eq!(receiver.window.waiting(), usize::from(n > 0) + 1);
    }
    assert_eq!(receiver.delivered(), [(10_002, 0), (10_003, 1)]);
    assert_eq!(receiver.window.buffer().counters().early, 2);
    receiver.run(1_000_000);
    assert!(receiver.delivered().iter().map(|&(_, n)| n).eq(0..4));
    assert_eq!(receiver.window.buffer().counters().early, 2);
}

#[test]
fn a_window_that_is_set_bounds_what_waits() {
    let mut receiver = Receiver::new([10, 60], 0);
    receiver.configure(Config { window: Some(3), ..Config::default() });
    for n in 0..9 {
        receiver.receive(10_000 + 1_000 * u64::from(n), 0, n, BULK);
        assert!(receiver.window.waiting() <= 3);
    }
    let early = (0..6).map(|n| (13_000 + 1_000 * u64::from(n), n));
    assert_eq!(receiver.delivered(), early.collect::<Vec<_>>());
    receiver.run(1_000_000);
    assert!(receiver.delivered().iter().map(|&(_, n)| n).eq(0..9));
}

#[test]
fn a_maximum_delay_that_is_set_bounds_the_hold() {
    let mut receiver = Receiver::new([10, 210], 0);
    receiver.configure(Config { max_delay: Some(ms(50)), ..Config::default() });
    receiver.told(0, &[(0, 0)]);
    receiver.receive(10_000, 0, 0, BULK);
    assert_eq!(receiver.hold(), ms(50));
    // A number that is missing is waited for until then, however long its path or a repair takes.
    receiver.window.set_repair_time(Some(ms(300)), Losses::Known);
    receiver.told(20_000, &[(2, 20_000)]);
    receiver.receive(30_000, 0, 2, BULK);
    receiver.run(1_000_000);
    let delivered = receiver.delivered();
    assert_eq!(delivered.iter().map(|&(_, n)| n).collect::<Vec<_>>(), [0, 2]);
    assert!((59_000..=60_200).contains(&delivered[0].0), "{delivered:?}");
    assert!((79_000..=80_200).contains(&delivered[1].0), "{delivered:?}");
}

proptest! {
    /// Whatever comes and whatever the peer tells: each number is delivered once at the most, every packet
    /// is counted once, nothing is kept, and nothing waits for longer than the longest hold. (All within a
    /// second: after that without progress the window takes its position to be wrong.)
    #[test]
    fn nothing_is_kept_for_ever_and_nothing_comes_twice(
        steps in proptest::collection::vec(
            (0..6_000_u64, 0..2_usize, 0..90_u32, 0..8_u8, 0..400_000_u64, 0..90_u32),
            1..150,
        ),
        base in any::<u32>(),
        delays in (0..200_u32, 0..400_u32),
        spread in 0..50_u64,
    ) {
        let mut receiver = Receiver::new([delays.0, delays.1], spread);
        let (mut now, mut packets) = (0, 0);
        for (pause, path, number, kind, sent, told) in steps {
            now += pause;
            match kind {
                6 => receiver.window.observe(false),
                7 => receiver.probed(path, told, spread),
                5 => {
                    let now = receiver.at(now);
                    receiver.window.refuse(now, base.wrapping_add(told), 3);
                }
                _ => {}
            }
            let class = match kind {
                0 => Class::Other,
                1 => Class::Acknowledgement,
                2 => Class::Ordered,
                3 | 6 => Class::Datagram { flow: 9, large: number % 2 == 0 },
                _ => BULK,
            };
            receiver.told(now, &[(base.wrapping_add(told), sent)]);
            receiver.receive(now, path, base.wrapping_add(number), class);
            packets += 1;
            let known = receiver.window.buffer().counters().packets() + receiver.window.waiting() as u64;
            prop_assert_eq!(known, packets, "number {}, {:?}", number, class);
        }
        receiver.run(now + 5_000_000);
        prop_assert_eq!(receiver.window.waiting(), 0);
        prop_assert_eq!(receiver.sink.kept, 0);
        prop_assert_eq!(receiver.window.buffer().counters().packets(), packets);
        let mut numbers: Vec<u32> = receiver.delivered().iter().map(|&(_, n)| n).collect();
        numbers.sort_unstable();
        let all = numbers.len();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), all);
    }
}
