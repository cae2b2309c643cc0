//! Equal arguments give equal traces on every machine: the hash of the trace stands here.

use mpt_link::{ByteCount, Change, Distribution, Jitter, Link, Loss, Params, QueueLimit, Redraw};
use std::time::Duration;

use crate::common::{nanos, probability, rate, start};

/// FNV-1a over what arrives and when.
fn trace(seed: u64) -> u64 {
    let start = start();
    let deviation = Duration::from_micros(700);
    let normal =
        Jitter { distribution: Distribution::Normal { deviation }, redraw: Redraw::EveryPacket };
    let half_width = Duration::from_micros(300);
    let uniform = Jitter {
        distribution: Distribution::Uniform { half_width },
        redraw: Redraw::Every(Duration::from_millis(3)),
    };
    let params = Params {
        rate: rate(94_121_003),
        queue: QueueLimit::Time(Duration::from_millis(5)),
        delay: Duration::from_millis(4),
        jitter: Some(normal),
        loss: Loss::bursts(probability(0.02), 3.0).expect("possible"),
        duplication: probability(0.01),
        keep_order: false,
        ..Params::default()
    };
    let ms = Duration::from_millis;
    let schedule = [
        (ms(200), Change::Rate(rate(11_999_999))),
        (ms(300), Change::Jitter(Some(uniform))),
        (ms(400), Change::Loss(Loss::Bernoulli(probability(0.1)))),
        (ms(500), Change::KeepOrder(true)),
        (ms(600), Change::Rate(None)),
    ];
    let mut link = Link::new(start, params, schedule, seed);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |value: u64| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for n in 0..10_000_u32 {
        let now = start + nanos(100_003) * n;
        while let Some(at) = link.next_timeout().filter(|&at| at <= now) {
            let packet: u32 = link.poll(at).expect("it is due");
            add(packet.into());
            add((at - start).as_nanos() as u64);
        }
        let _ = link.enqueue(now, ByteCount(u64::from(40 + n * 7919 % 1460)), n);
    }
    hash
}

#[test]
fn same_seed() {
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn same_on_every_machine() {
    assert_eq!(trace(1), 0x6dfa5ca826ef9256);
}
