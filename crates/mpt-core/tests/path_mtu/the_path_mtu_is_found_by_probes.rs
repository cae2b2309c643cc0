//! Path MTU discovery by padded probes (RFC 8899), on a model of one path in virtual time: probes
//! that are larger than the path's MTU vanish without a word, others are lost by chance, and small
//! frames pass as long as the path works.

use std::time::{Duration, Instant};

use mpt_core::path::discovery::{
    Bounds, CONFIRM_EVERY, Discovery, HINT_EVERY, Heard, LARGEST, MAX_PROBES_OF_USE, Phase,
    RAISE_AFTER, RETRY_BASE_AFTER,
};
use proptest::prelude::*;

/// The interval at which the peer confirms that it hears small frames.
const KEEPALIVE: Duration = Duration::from_millis(100);

/// A path, and the end that probes it.
struct Model {
    discovery: Discovery,
    /// The largest packet that the path carries.
    mtu: u16,
    rtt: Duration,
    /// The number lost of 1,000 datagrams, each way.
    loss: u32,
    /// Nothing passes at all.
    dead: bool,
    now: Instant,
    start: Instant,
    random: u64,
    next_token: u64,
    echoes: Vec<(Instant, u64)>,
    confirmed: Instant,
    keepalive: Duration,
    next_keepalive: Instant,
    /// Bytes of all probes.
    bytes: u64,
    /// The largest probe.
    largest: u16,
}

impl Model {
    fn new(mtu: u16, bounds: Bounds, rtt: Duration, loss: u32, seed: u64) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let start = Instant::now();
        let mut discovery = Discovery::new(start, bounds);
        discovery.set_up(start, true);
        Self {
            discovery,
            mtu,
            rtt,
            loss,
            dead: false,
            now: start,
            start,
            random: seed,
            next_token: 0,
            echoes: Vec::new(),
            confirmed: start,
            keepalive: KEEPALIVE,
            next_keepalive: start,
            bytes: 0,
            largest: 0,
        }
    }

    fn passes(&mut self) -> bool {
        // SplitMix64 (Steele and others 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        !self.dead && (z ^ (z >> 31)) % 1000 >= u64::from(self.loss)
    }

    /// Lets everything happen that is due within `time`.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let echo = self.echoes.iter().map(|&(at, _)| at).min();
            let timer = self.discovery.next_timeout();
            let next = [echo, timer, Some(self.next_keepalive)].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= until) else { break };
            self.now = self.now.max(next);
            if self.next_keepalive <= self.now {
                self.next_keepalive = self.now + self.keepalive;
                if self.passes() && self.passes() {
                    self.confirmed = self.now;
                }
            }
            while let Some(at) = self.echoes.iter().position(|&(at, _)| at <= self.now) {
                let (_, token) = self.echoes.swap_remove(at);
                self.discovery.handle_echo(self.now, token);
            }
            let heard = Heard { confirmed: self.confirmed, echo_within: Some(self.rtt * 3 / 2) };
            self.discovery.handle_timeout(self.now, heard);
            let token = self.next_token;
            if let Some(size) = self.discovery.poll_probe(self.now, token) {
                self.next_token += 1;
                self.bytes += u64::from(size);
                self.largest = self.largest.max(size);
                if size <= self.mtu && self.passes() && self.passes() {
                    self.echoes.push((self.now + self.rtt, token));
                }
            }
        }
        self.now = until;
    }

    /// Runs until the size in use is this one.
    fn expect(&mut self, mtu: u16, within: Duration) -> Duration {
        let start = self.now;
        while self.discovery.mtu() != mtu {
            assert!(
                self.now - start < within,
                "within {within:?}: {mtu}, not {:?}",
                self.discovery
            );
            self.run(Duration::from_millis(10));
        }
        self.now - start
    }
}

fn ethernet() -> Bounds {
    Bounds { min: 576, base: 1316, max: 1500 }
}

fn model(mtu: u16) -> Model {
    Model::new(mtu, ethernet(), Duration::from_millis(50), 0, 1)
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn what_the_interface_has_is_confirmed_within_two_round_trips() {
    let mut model = model(1500);
    assert!(!model.discovery.is_confirmed());
    model.run(Duration::from_millis(101));
    assert!(model.discovery.is_confirmed());
    assert_eq!((model.discovery.mtu(), model.discovery.phase()), (1500, Phase::SearchComplete));
    assert_eq!(model.bytes, 1316 + 1500, "one probe of each size");
}

#[test]
fn a_link_of_1400_without_icmp_is_found_within_three_seconds() {
    let mut model = model(1400);
    // Larger packets vanish for less than a second.
    model.expect(1316, seconds(1));
    model.expect(1400, seconds(3));
    model.run(seconds(1));
    assert_eq!((model.discovery.mtu(), model.discovery.phase()), (1400, Phase::SearchComplete));
}

#[test]
fn an_mtu_that_falls_silently_is_noticed_while_data_flows() {
    let mut model = model(1500);
    model.run(seconds(60));
    assert_eq!(model.discovery.mtu(), 1500);
    model.mtu = 1400;
    let noticed = model.expect(1316, CONFIRM_EVERY + seconds(1));
    assert!(noticed > Duration::ZERO);
    model.expect(1400, seconds(3));
    // An idle path is not asked; the first packet has it asked at once.
    model.discovery.set_active(model.now, false);
    model.mtu = 1350;
    let before = model.bytes;
    model.run(seconds(60));
    assert_eq!((model.discovery.mtu(), model.bytes), (1400, before));
    model.discovery.set_active(model.now, true);
    model.expect(1316, seconds(1));
    model.expect(1350, seconds(3));
}

#[test]
fn an_idle_path_is_searched_as_fast() {
    let mut model = model(1000);
    model.keepalive = seconds(15);
    model.discovery.set_active(model.start, false);
    model.expect(1000, seconds(10));
}

#[test]
fn a_larger_mtu_is_found_after_ten_minutes() {
    let mut model = model(1400);
    model.expect(1400, seconds(5));
    model.run(seconds(5));
    model.mtu = 1500;
    model.run(RAISE_AFTER - seconds(10));
    assert_eq!(model.discovery.mtu(), 1400);
    model.expect(1500, seconds(15));
}

#[test]
fn a_path_below_the_base_is_in_error_until_it_carries_the_base() {
    let mut model = model(1000);
    model.expect(1000, seconds(10));
    model.run(seconds(2));
    assert_eq!((model.discovery.mtu(), model.discovery.phase()), (1000, Phase::Error));
    model.mtu = 1500;
    model.expect(1500, RETRY_BASE_AFTER + seconds(2));
    assert_eq!(model.discovery.phase(), Phase::SearchComplete);
}

#[test]
fn what_icmp_says_is_believed_only_if_the_size_in_use_is_not_echoed() {
    // A lie: one probe of the size in use refutes it.
    let mut model = model(1500);
    model.run(seconds(1));
    let before = model.bytes;
    assert!(model.discovery.hint(model.now, 576));
    model.run(seconds(1));
    assert_eq!((model.discovery.mtu(), model.bytes - before), (1500, 1500));
    // A flood of lies causes no more than one test in a second.
    let before = model.bytes;
    for _ in 0..10_000 {
        model.discovery.hint(model.now, 1200);
        model.run(Duration::from_millis(1));
        assert_eq!(model.discovery.mtu(), 1500);
    }
    let tests = 10 / HINT_EVERY.as_secs() + 1;
    // Those, and the regular confirmations.
    assert!(model.bytes - before <= 1500 * (tests + 4), "{} bytes", model.bytes - before);
    assert!(!model.discovery.handle_echo(model.now, u64::MAX), "a token of somebody else");
    // The truth: it is in use soon, and what it says is tried first.
    model.mtu = 1420;
    model.run(HINT_EVERY);
    assert!(model.discovery.hint(model.now, 1420));
    assert!(model.expect(1420, seconds(1)) <= Duration::from_millis(500));
    // Half of the truth.
    model.mtu = 1350;
    model.run(HINT_EVERY);
    assert!(model.discovery.hint(model.now, 1400));
    model.expect(1350, seconds(4));
}

#[test]
fn a_path_that_loses_everything_says_nothing_about_sizes() {
    let mut model = model(1500);
    model.run(seconds(1));
    model.dead = true;
    model.run(seconds(30));
    assert_eq!(model.discovery.mtu(), 1500);
    // Then its liveness says so.
    model.discovery.set_up(model.now, false);
    assert_eq!(model.discovery.next_timeout(), None);
    model.run(seconds(30));
    model.dead = false;
    model.discovery.set_up(model.now, true);
    model.run(seconds(1));
    assert_eq!((model.discovery.mtu(), model.discovery.phase()), (1500, Phase::SearchComplete));
}

#[test]
fn another_network_is_searched_anew_and_the_size_in_use_stays_meanwhile() {
    let mut model = model(1400);
    model.expect(1400, seconds(5));
    model.run(seconds(5));
    model.mtu = 1500;
    model.discovery.restart(model.now);
    assert_eq!(model.discovery.mtu(), 1400);
    model.expect(1500, seconds(1));
    // The interface has another MTU.
    let jumbo = Bounds { max: 9000, ..ethernet() };
    model.mtu = 9000;
    model.discovery.set_bounds(model.now, jumbo);
    assert_eq!(
        model.discovery.mtu(),
        9000,
        "it was the largest, and the largest is what it is now"
    );
    model.run(seconds(1));
    assert!(model.discovery.is_confirmed());
    model.discovery.set_bounds(model.now, Bounds { max: 1300, ..ethernet() });
    assert_eq!(model.discovery.mtu(), 1300);
}

#[test]
fn above_the_largest_size_tested_the_interface_is_believed() {
    let bounds = Bounds { max: u16::MAX, ..ethernet() };
    let mut model = Model::new(u16::MAX, bounds, Duration::from_millis(1), 0, 1);
    model.run(seconds(1));
    assert_eq!((model.discovery.mtu(), model.largest), (u16::MAX, LARGEST));
    let mut model = Model::new(8000, bounds, Duration::from_millis(1), 0, 1);
    model.expect(8000, seconds(10));
}

#[test]
fn a_search_costs_a_bounded_number_of_bytes() {
    for (max, mtu) in [(1500, 1499), (1500, 1317), (1500, 1300), (1500, 577), (9000, 1501)] {
        let bounds = Bounds { max, ..ethernet() };
        let mut model = Model::new(mtu, bounds, Duration::from_millis(20), 0, 1);
        model.discovery.set_active(model.start, false);
        model.run(seconds(15));
        assert_eq!(model.discovery.mtu(), mtu);
        // Base and largest size, then halves: each step at most three probes of the largest size.
        let steps = u64::from(u16::BITS - (max - 576).leading_zeros()) + 1;
        let most = u64::from(max) * (2 * u64::from(MAX_PROBES_OF_USE) + 3 * steps);
        assert!(model.bytes <= most, "{max}, {mtu}: {} of {most} bytes", model.bytes);
        // While data flows: one packet in three seconds.
        let before = model.bytes;
        model.discovery.set_active(model.now, true);
        model.run(seconds(40));
        let most = u64::from(mtu) * (40 / CONFIRM_EVERY.as_secs() + 1);
        assert!(model.bytes - before <= most, "{} of {most} bytes", model.bytes - before);
    }
}

#[test]
fn losing_one_of_ten_datagrams_each_way_is_not_taken_for_a_small_mtu() {
    for seed in 0..50 {
        let rtt = Duration::from_millis(30);
        let mut model = Model::new(1500, ethernet(), rtt, 100, seed);
        let mut reduced = Duration::ZERO;
        for _ in 0..600 {
            model.run(seconds(1));
            reduced += seconds(u64::from(model.discovery.mtu() < 1499));
        }
        assert!(reduced < seconds(6), "seed {seed}: less for {reduced:?} of 600 s");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn it_converges_whatever_the_mtu_and_the_loss(
        mtu in 576_u16..=9000,
        max in 576_u16..=9000,
        rtt in 1_u64..=400,
        loss in 0_u32..=100,
        seed: u64,
    ) {
        let bounds = Bounds { min: 576, base: 1316, max };
        let mut model = Model::new(mtu, bounds, Duration::from_millis(rtt), loss, seed);
        let expected = mtu.min(max);
        // Loss may deceive one search, and the next one finds out.
        let mut found = false;
        while model.now - model.start < RAISE_AFTER * 3 && !found {
            model.run(seconds(1));
            prop_assert!(model.discovery.mtu() <= max, "never above the interface's MTU");
            prop_assert!(model.largest <= max, "no probe is larger than the interface's MTU");
            // The smallest size is what every path carries: it is not probed.
            let confirmed = model.discovery.is_confirmed() || expected == bounds.min;
            found = model.discovery.mtu() == expected && confirmed;
        }
        prop_assert!(found, "{} instead of {expected}", model.discovery.mtu());
    }
}
