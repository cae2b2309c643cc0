//! A queue of single segments, as plain as RFC 8290's text, must agree with the real one on every
//! segment that leaves or is dropped, on lengths and counters. The owner checks meanwhile that the
//! bounds hold and that every place is released once.

use std::time::Duration;

use mpt_core::queue::{BUCKETS, Limits, Waiting};
use mpt_wire::tcp::acknowledgement::{Acknowledgement, Block};
use proptest::prelude::*;

use super::harness::{Owner, origin};
use super::model::Model;

#[derive(Clone, Debug)]
enum Step {
    Push(Waiting<u64>),
    Peek,
    Pop,
    /// As many as that.
    PopMany(u8),
    PopDropped,
    /// So many microseconds pass.
    Wait(u32),
    /// Target, interval, and how much longer than the target a round trip takes, in microseconds.
    SetTarget(u32, u32, u32),
    /// In bytes per second.
    SetBestRate(u64),
    Shrink,
    Clear,
}

fn flow() -> impl Strategy<Value = u64> {
    // Few flows, so that they queue up; some share a bucket.
    prop_oneof![6 => 0..4u64, 2 => 0..40u64, 1 => (0..4u64).prop_map(|n| n + BUCKETS as u64)]
}

fn acknowledgement(number: impl Strategy<Value = u32>) -> impl Strategy<Value = Acknowledgement> {
    (number, prop::option::of((1..6u32, 1..9u32))).prop_map(|(number, block)| {
        let block = block.map(|(ahead, len)| {
            let from = number.wrapping_add(ahead);
            Block { from, to: from.wrapping_add(len) }
        });
        Acknowledgement { number, block }
    })
}

fn packet() -> impl Strategy<Value = Waiting<u64>> {
    let segments = prop_oneof![6 => Just(1), 3 => 2..6u16, 1 => 1..45u16];
    let acknowledges = prop_oneof![2 => Just(None), 3 => acknowledgement(0..20u32).prop_map(Some),
            1 => acknowledgement(any::<u32>()).prop_map(Some)];
    let largest = prop_oneof![Just(1400), Just(1500), 40..1500u32, 1..9000u32];
    let bytes = (largest, any::<prop::sample::Index>());
    (flow(), segments, bytes, any::<[bool; 2]>(), acknowledges, 0..1000u64, 0..3u8).prop_map(
        |(flow, segments, (largest, cut), [ect, spreads], acknowledges, tag, begun)| {
            let last = 1 + cut.index(largest as usize) as u32;
            let total = largest * u32::from(segments - 1) + last;
            let first = if begun == 0 { cut.index(segments.into()) as u16 } else { 0 };
            Waiting { flow, segments, largest, total, first, ect, spreads, acknowledges, tag }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        30 => packet().prop_map(Step::Push),
        6 => Just(Step::Peek),
        20 => Just(Step::Pop),
        4 => any::<u8>().prop_map(Step::PopMany),
        2 => Just(Step::PopDropped),
        20 => (0..3000u32).prop_map(Step::Wait),
        4 => (0..200_000u32).prop_map(Step::Wait),
        1 => (0..50_000u32, 0..100_000u32, prop_oneof![Just(0), 0..200_000u32])
            .prop_map(|(target, interval, longer)| Step::SetTarget(target, interval, longer)),
        1 => prop_oneof![1 => Just(0), 1 => any::<u64>(), 3 => 1_000..10_000_000u64]
            .prop_map(Step::SetBestRate),
        1 => Just(Step::Shrink),
        1 => prop_oneof![1 => Just(Step::Clear), 9 => Just(Step::Pop)],
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let bytes =
        prop_oneof![1 => Just(0), 1 => Just(1500), 4 => 1000..100_000usize, 4 => Just(1 << 30)];
    let packets = prop_oneof![1 => 0..4usize, 4 => 2..40usize, 4 => Just(100_000)];
    (bytes, packets).prop_map(|(bytes, packets)| Limits { bytes, packets })
}

/// `prompt`: the owner asks for drops after every call.
fn check(limits: Limits, prompt: bool, steps: &[Step]) {
    let mut now = origin();
    let (mut owner, mut model) = (Owner::new(limits), Model::new(limits));
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Push(packet) => {
                let expected = model.takes(&packet);
                let result = owner.push_only(now, packet);
                assert_eq!(result.map(drop), expected, "step {index}");
                match result {
                    Ok(id) => model.push(now, packet, id),
                    Err(_) => {
                        model.counters.refused += u64::from(packet.segments - packet.first);
                    }
                }
            }
            Step::Peek => assert_eq!(owner.queue.peek(now), model.peek(now), "step {index}"),
            Step::Pop => assert_eq!(owner.pop_only(now), model.pop(now), "step {index}"),
            Step::PopMany(times) => {
                for _ in 0..times {
                    assert_eq!(owner.pop_only(now), model.pop(now), "step {index}");
                }
            }
            Step::PopDropped => assert_eq!(owner.pop_dropped(), model.pop_dropped()),
            Step::Wait(us) => now += Duration::from_micros(us.into()),
            Step::SetTarget(target, interval, longer) => {
                let [target, interval, longer] =
                    [target, interval, longer].map(|us| Duration::from_micros(us.into()));
                owner.queue.set_target_over(target, interval, target + longer);
                model.set_target(target, interval, target + longer);
            }
            Step::SetBestRate(rate) => {
                owner.queue.set_best_rate(rate);
                model.best_rate = rate;
            }
            Step::Shrink => {
                owner.queue.shrink();
                model.shrink();
            }
            Step::Clear => {
                owner.clear();
                model.clear();
            }
        }
        let mut done = !prompt;
        while !done {
            let dropped = owner.pop_dropped();
            assert_eq!(dropped, model.pop_dropped(), "step {index}");
            done = dropped.is_none();
        }
        let queue = &owner.queue;
        let len = (queue.len_bytes(), queue.len_segments(), queue.len_packets());
        assert_eq!(len, model.len(), "step {index}");
        assert_eq!(queue.flows(), model.waiting_flows(), "step {index}");
        assert_eq!(queue.sojourn(now), model.sojourn(now), "step {index}");
        assert_eq!(queue.counters(), model.counters, "step {index}");
    }
    owner.let_go();
    owner.drain(now, 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn for_arbitrary_calls(
        limits in limits(),
        prompt in prop_oneof![4 => Just(true), 1 => Just(false)],
        steps in prop::collection::vec(step(), 1..400),
    ) {
        check(limits, prompt, &steps);
    }

    /// Fields that do not fit each other must not break the sums.
    #[test]
    fn for_packets_that_contradict_themselves(
        limits in limits(),
        packets in prop::collection::vec(
            (flow(), any::<u16>(), any::<u32>(), 0..200_000u32, any::<u16>(),
                prop::option::of(acknowledgement(any::<u32>()))), 1..30,
        ),
    ) {
        let now = origin();
        let mut queue = mpt_core::queue::FairQueue::new(limits);
        for (flow, segments, largest, total, first, acknowledges) in packets {
            let packet = Waiting {
                flow, segments, largest, total, first, ect: false, spreads: true, acknowledges, tag: (),
            };
            let _ = queue.push(now, packet);
            while queue.pop_dropped().is_some() {}
            prop_assert!(queue.len_bytes() <= limits.bytes);
        }
        while queue.pop(now).is_some() {}
        prop_assert_eq!((queue.len_bytes(), queue.len_segments(), queue.flows()), (0, 0, 0));
    }
}
