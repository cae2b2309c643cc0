//! Speed tests over emulated links, in virtual time: what they find is what the link carries, and they
//! neither take long nor fill the queue before it more than they have to.

use std::time::{Duration, Instant};

use mpt_core::session::speed::SpeedTest;
use mpt_link::{Bitrate, ByteCount, Link, Loss, Params, Probability, QueueLimit};

/// Outer IP packets of full frames, and of the small ones that answer.
const LEN: usize = 1240;
const SMALL: usize = 120;

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The result of a test.
struct Found {
    bits_per_second: f64,
    took: Duration,
    /// The longest time that a frame was on its way.
    longest: Duration,
    sent_bytes: u64,
}

/// Runs a test over a link there, and a perfect one of the same delay back. Other control frames go
/// both ways every 50 ms.
fn run(params: Params, duration: Duration, limit: Option<u64>, seed: u64) -> Option<Found> {
    #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
    let start = Instant::now();
    let mut there: Link<(Instant, Option<u64>)> = Link::new(start, params, [], seed);
    let back = Params { delay: params.delay, ..Params::default() };
    let mut back: Link<(u64, u32)> = Link::new(start, back, [], seed);
    let mut test = SpeedTest::new(start, duration, limit, LEN);
    let (mut now, mut other, mut token) = (start, start, 0);
    // The peer has counted before, and its counter is about to wrap.
    let mut received = u32::MAX - 10;
    let (mut longest, mut sent_bytes) = (Duration::ZERO, 0);
    while !test.is_over() {
        test.handle_timeout(now);
        while let Some(probe) = test.poll_frame(now) {
            let probe = probe.then(|| {
                token += 1;
                token
            });
            test.frame_sent(now, probe);
            sent_bytes += LEN as u64;
            let _ = there.enqueue(now, ByteCount(LEN as u64), (now, probe));
        }
        if other <= now {
            test.other_sent(SMALL);
            let _ = there.enqueue(now, ByteCount(SMALL as u64), (now, None));
            other = now + millis(50);
        }
        while let Some((sent, probe)) = there.poll(now) {
            received = received.wrapping_add(1);
            longest = longest.max(now - sent);
            if let Some(token) = probe {
                let _ = back.enqueue(now, ByteCount(SMALL as u64), (token, received));
            }
        }
        while let Some((token, received)) = back.poll(now) {
            test.handle_echo(token);
            test.handle_report(now, received);
        }
        let links = [there.next_timeout(), back.next_timeout()];
        let Some(due) = test.next_timeout() else { break };
        let next = links.into_iter().flatten().fold(due.min(other), Instant::min);
        // Not finer than timers are.
        now = next.max(now + Duration::from_micros(50));
        assert!(now < start + Duration::from_secs(20), "it does not end");
    }
    let found = test.throughput()?;
    let bits_per_second = found.bytes as f64 * 8.0 / found.duration.as_secs_f64();
    Some(Found { bits_per_second, took: now - start, longest, sent_bytes })
}

fn mbits(rate: u64) -> Params {
    Params {
        rate: Bitrate::new(rate * 1_000_000),
        queue: QueueLimit::Time(millis(50)),
        delay: millis(10),
        keep_order: true,
        ..Params::default()
    }
}

fn loss(share: f64) -> Loss {
    Loss::Bernoulli(Probability::new(share).expect("from 0 to 1"))
}

#[track_caller]
fn assert_found(found: Option<&Found>, rate: u64) {
    let found = found.expect("something was found");
    let ratio = found.bits_per_second / (rate as f64 * 1e6);
    assert!((0.9..=1.1).contains(&ratio), "{} instead of {rate} Mbit/s", found.bits_per_second);
}

#[test]
fn of_any_speed() {
    for rate in [1, 2, 5, 10, 20, 50, 100, 300, 1000] {
        for seed in 0..3 {
            let found = run(mbits(rate), millis(1000), None, seed);
            assert_found(found.as_ref(), rate);
        }
    }
}

#[test]
fn in_a_short_time() {
    for rate in [10, 100, 1000] {
        let found = run(mbits(rate), millis(200), None, 1);
        assert_found(found.as_ref(), rate);
        let took = found.unwrap().took;
        assert!(took < millis(1500), "{took:?}");
    }
}

#[test]
fn that_loses_packets() {
    for rate in [10, 50, 1000] {
        for seed in 0..5 {
            let params = Params { loss: loss(0.01), ..mbits(rate) };
            assert_found(run(params, millis(1000), None, seed).as_ref(), rate);
        }
    }
}

#[test]
fn with_a_queue_of_2_seconds_which_it_does_not_fill() {
    for rate in [10, 50, 1000] {
        let queue = QueueLimit::Time(Duration::from_secs(2));
        let found = run(Params { queue, ..mbits(rate) }, millis(1000), None, 1);
        assert_found(found.as_ref(), rate);
        let longest = found.unwrap().longest;
        assert!(longest < millis(500), "{longest:?}");
    }
}

#[test]
fn that_is_far_away() {
    for delay in [50, 150, 300] {
        let found = run(Params { delay: millis(delay), ..mbits(20) }, millis(1000), None, 1);
        assert_found(found.as_ref(), 20);
    }
}

#[test]
fn with_hardly_a_queue() {
    for rate in [10, 100] {
        let queue = QueueLimit::Bytes(ByteCount(16 * LEN as u64));
        let found = run(Params { queue, ..mbits(rate) }, millis(1000), None, 1);
        assert_found(found.as_ref(), rate);
    }
}

#[test]
fn up_to_the_limit() {
    let found = run(mbits(1000), millis(500), Some(30_000_000), 1).unwrap();
    assert_found(Some(&found), 30);
    let most = 30_000_000 / 8 * found.took.as_millis() as u64 / 1000;
    assert!(found.sent_bytes <= most + 100 * LEN as u64, "{} > {most}", found.sent_bytes);
}

#[test]
fn and_nothing_of_one_that_carries_nothing() {
    let params = Params { loss: Loss::Bernoulli(Probability::ONE), ..mbits(10) };
    assert!(run(params, millis(1000), None, 1).is_none());
}
