mod order;
mod quick;
mod scene;
mod urgent;

use std::time::Duration;

use proptest::prelude::*;

use self::scene::{BYTES, OVERHEAD, RTT, Scene, member, received};
use super::*;
use crate::adaptive::{PeerReport, Received, RepairCounters, Surveyed};

const NOTHING_LOST: Surveyed = Surveyed { probes: 400, lost: 0, variation: 0.0, capacity: None };

#[test]
fn a_gap_on_a_path_that_keeps_order_is_filled_once() {
    for first in [0, u32::MAX - 61, u32::MAX - 60] {
        let mut scene = Scene::new(1, first);
        scene.warm_up();
        let (lost, later) = (scene.send(), scene.send());
        assert_eq!(scene.miss(&[(0, later.wrapping_sub(2))], &[(lost, 1)]), [], "still under way");
        assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), [(lost, vec![0])], "from {first}");
        assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), [], "the repair is under way");
        scene.now += Duration::from_millis(10);
        assert_eq!(scene.miss(&[(0, later)], &[]), []);
        let RepairCounters { lost, repaired, sent, .. } = scene.counters();
        assert_eq!((lost, repaired, sent), (1, 1, 1));
    }
}

#[test]
fn a_repair_that_is_lost_is_repeated_over_two_paths() {
    let mut scene = Scene::new(2, 0);
    scene.warm_up();
    let copies = scene.miss_again_and_again();
    assert_eq!(copies, [2, 2, 2], "neither path is known to lose nothing: {copies:?}");

    let mut scene = Scene::new(2, 0);
    (0..2).for_each(|slot| scene.adaptive.set_surveyed(scene.now, slot, &NOTHING_LOST));
    scene.warm_up();
    let copies = scene.miss_again_and_again();
    assert_eq!(copies, [1, 2, 2], "the best path loses nothing: {copies:?}");
}

/// Lets probes say that the delay of the only path jitters by some 15 ms.
fn jitter(scene: &mut Scene) {
    let mut rtt = crate::session::Rtt::new();
    (0..50).for_each(|n| rtt.record(RTT + Duration::from_millis(n % 2 * 30)));
    scene.adaptive.set_rtt(0, rtt.known().expect("samples"));
}

#[test]
fn one_of_the_first_packets_of_a_flow_is_repaired_where_delays_jitter() {
    let mut scene = Scene::new(1, 0);
    jitter(&mut scene);
    // Ten packets say little of what the least delay is, and slow start depends on each.
    let numbers: Vec<u32> = (0..10).map(|_| scene.send()).collect();
    let sent = scene.clock();
    scene.now += Duration::from_millis(60);
    let arrived = numbers.iter().filter(|&&n| n != 3).map(|&n| (0, n, sent + n * 4_000));
    scene.report(&arrived.collect::<Vec<_>>(), &[received(0, 9)]);
    assert_eq!(scene.miss(&[(0, 9)], &[(3, 1)]), [], "it may be late");
    scene.now += Duration::from_millis(150);
    assert_eq!(scene.miss(&[(0, 9)], &[(3, 1)]), [(3, vec![0])]);
}

#[test]
fn what_the_peer_no_longer_tells_of_is_not_held_to_have_come_late() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (missing, later) = (scene.send(), scene.send());
    // It is not sent again, and so it stays missing until the peer forgets it.
    scene.adaptive.forget_kept();
    for _ in 0..15 {
        scene.send();
        scene.now += Duration::from_millis(100);
        assert_eq!(scene.miss(&[(0, later)], &[(missing, 1)]), []);
    }
    assert_eq!(scene.miss(&[(0, later)], &[]), []);
    let lateness = scene.adaptive.paths[0].as_ref().expect("set").model.lateness();
    assert!(lateness < 1_000.0, "{lateness} us");
}

/// If delays jitter, a quarter of all packets takes less than the base delay, repairs among them. A repair that is taken for the packet itself makes
/// that packet late by all the time until then, and the next one that is lost is sent again that much later.
#[test]
fn a_repair_that_is_quicker_than_most_packets_is_not_taken_for_the_packet() {
    let mut scene = Scene::new(1, 0);
    jitter(&mut scene);
    for _ in 0..400 {
        let number = scene.send();
        scene.now += Duration::from_millis(1);
        let time = scene.clock() + number.wrapping_mul(7) % 30 * 1_000;
        let of_path = received(0, number);
        scene.report(&[(0, number, time + 10_000)], &[of_path]);
    }
    let (lost, later) = (scene.send(), scene.send());
    let mut resent = Vec::new();
    for _ in 0..100 {
        resent = scene.miss(&[(0, later)], &[(lost, 1)]);
        if !resent.is_empty() {
            break;
        }
    }
    assert_eq!(resent, [(lost, vec![0])]);
    // Most packets take longer, and some do not: the repair left 5 ms before that.
    scene.now += Duration::from_millis(6);
    scene.miss(&[(0, later)], &[]);
    let RepairCounters { repaired, late, .. } = scene.counters();
    assert_eq!((repaired, late), (1, 0));
    let lateness = scene.adaptive.paths[0].as_ref().expect("set").model.lateness();
    assert!(lateness < 40_000.0, "{lateness} us");
}

#[test]
fn a_peer_whose_clock_begins_anew_is_heard() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (lost, later) = (scene.send(), scene.send());
    assert_eq!(scene.miss(&[(0, lost.wrapping_sub(1))], &[(lost, 1)]), []);
    // Its clock stands near 0 again, and counts as one that was never heard of.
    let report = PeerReport { clock: 2, time: 5, arrived: &[], received: &[received(0, later)] };
    scene.adaptive.handle_report(scene.now, &report);
    let lack =
        Lack { clock: 2, time: 9, highest: &[(0, later)], missing: &[(lost, 1)], complete: true };
    scene.adaptive.handle_missing(scene.now, &lack, &mut |_| true);
    assert_eq!(scene.resent(), [(lost, vec![0])]);
}

#[test]
fn what_a_dead_path_has_not_delivered_leaves_over_another_one() {
    let mut scene = Scene::new(2, 0);
    scene.warm_up();
    let mut numbers: Vec<u32> = (0..20).map(|_| scene.send()).collect();
    let dead = scene.sent[&numbers[0]].1;
    numbers.retain(|number| scene.sent[number].1 == dead);
    scene.adaptive.set(dead.into(), Some(member(dead.into(), false)), OVERHEAD);
    let missing: Vec<(u32, u16)> = numbers.iter().map(|&number| (number, 1)).collect();
    let resent = scene.miss(&[], &missing);
    assert!(!resent.is_empty());
    assert!(resent.iter().all(|(_, slots)| *slots == [1 - dead]), "{resent:?}");
}

#[test]
fn what_was_never_sent_or_is_not_kept_is_not_sent() {
    let mut scene = Scene::new(2, 1_000);
    scene.warm_up();
    let next = scene.number;
    let vain = [(next, u16::MAX), (next.wrapping_add(1 << 20), 9), (next.wrapping_add(1 << 31), 5)];
    assert_eq!(scene.miss(&[(0, next.wrapping_add(1 << 30))], &vain), []);
    assert_eq!(scene.miss(&[], &[(0, 900)]), [], "before the first number");
    assert_eq!(scene.adaptive.asked_in_vain(), u64::from(u16::MAX) + 9 + 5 + 900);
    assert_eq!(scene.counters(), RepairCounters::default());
}

#[test]
fn what_is_lost_and_not_kept_is_refused_at_once() {
    for start in [0, u32::MAX - 61] {
        let mut scene = Scene::new(1, start);
        scene.warm_up();
        let lost = [scene.send(), scene.send()];
        let (later, under_way) = (scene.send(), scene.send());
        scene.adaptive.forget_kept();
        let missing = [(lost[0], 2), (under_way, 1)];
        assert_eq!(scene.miss(&[(0, lost[0].wrapping_sub(1))], &missing), []);
        assert_eq!(scene.refusals(), [], "all of them may be under way");
        assert_eq!(scene.miss(&[(0, later)], &missing), []);
        assert_eq!(scene.refusals(), [(lost[0], 2)], "from {start}");
        // The answer may have been lost.
        assert_eq!(scene.miss(&[(0, later)], &missing), []);
        assert_eq!(scene.refusals(), [(lost[0], 2)]);
        assert_eq!(scene.adaptive.refusals_told(), 4);
    }
}

#[test]
fn what_was_never_sent_is_not_refused() {
    let mut scene = Scene::new(1, 1_000);
    scene.warm_up();
    let next = scene.number;
    let vain = [(900, 50), (next, 9), (next.wrapping_add(1 << 31), 5)];
    assert_eq!(scene.miss(&[(0, next.wrapping_add(1 << 30))], &vain), []);
    assert_eq!(scene.refusals(), []);
}

#[test]
fn what_was_sealed_under_keys_that_are_gone_is_refused_at_once() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (lost, later) = (scene.send(), scene.send());
    scene.keys_gone = true;
    for _ in 0..2 {
        assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), []);
        assert_eq!(scene.refusals(), [(lost, 1)]);
    }
    // The peer gives it up: that is no sign that it has come.
    assert_eq!(scene.miss(&[(0, later)], &[]), []);
    let RepairCounters { lost, repaired, late, .. } = scene.counters();
    assert_eq!((lost, repaired, late), (1, 0, 0));
}

#[test]
fn what_was_tried_three_times_is_refused() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (lost, mut later) = (scene.send(), scene.send());
    let mut tries = 0;
    for _ in 0..40 {
        let resent = scene.miss(&[(0, later)], &[(lost, 1)]);
        tries += resent.len();
        let refusals = scene.refusals();
        if !refusals.is_empty() {
            assert_eq!((refusals, tries), (vec![(lost, 1)], 3));
            return;
        }
        scene.now += Duration::from_millis(30);
        later = scene.send();
    }
    panic!("never refused, after {tries} tries");
}

#[test]
fn what_the_budget_does_not_allow_in_time_is_refused() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    // Each number is judged lost again and again, until nothing is left for another try.
    let lost: Vec<u32> = (0..100).map(|_| scene.send()).collect();
    let mut refused = 0;
    for _ in 0..30 {
        let later = scene.send();
        scene.now += Duration::from_millis(30);
        scene.miss(&[(0, later)], &[(lost[0], 100)]);
        refused += scene.refusals().iter().map(|&(_, count)| u64::from(count)).sum::<u64>();
    }
    assert!(scene.counters().refused > 0, "{:?}", scene.counters());
    assert!(refused > 0, "{:?}", scene.counters());
}

#[test]
fn a_queue_that_overflows_is_repaired_whole() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    // A gigabit link with a queue of 1,000 packets loses as many in slow start.
    let lost: Vec<u32> = (0..1_500).map(|_| scene.send()).collect();
    let later = scene.send();
    scene.now += Duration::from_millis(30);
    let mut repaired = scene.miss(&[(0, later)], &[(lost[0], 1_500)]).len();
    for _ in 0..200 {
        repaired += scene.resent().len();
    }
    assert_eq!((repaired, scene.counters().refused), (1_500, 0), "{:?}", scene.counters());
    assert!(scene.resent_bytes as f64 <= 1.3 * 1_500.0 * f64::from(BYTES + OVERHEAD));
}

#[test]
fn nothing_is_kept_where_it_is_off() {
    let mut scene = Scene::new(1, 0);
    scene.adaptive.set_repair(false);
    scene.warm_up();
    let (lost, later) = (scene.send(), scene.send());
    assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), []);
    assert_eq!((scene.adaptive.kept_from(), scene.adaptive.queue_state().holds_any), (None, false));
    assert_eq!(scene.counters(), RepairCounters::default());
}

#[test]
fn what_comes_late_again_and_again_is_not_held_for_lost() {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (mut resent, mut packets) = (0, 0);
    // Every tenth packet comes 20 ms after those that left later, or its repair before it.
    for round in 0..400 {
        let late = scene.send();
        let mut later = late;
        for _ in 0..9 {
            later = scene.send();
            scene.now += Duration::from_millis(1);
        }
        scene.now += Duration::from_millis(10);
        for _ in 0..4 {
            let again = scene.miss(&[(0, later)], &[(late, 1)]);
            packets += again.len() as u32;
            resent += if round >= 200 { again.len() } else { 0 };
            if !again.is_empty() {
                scene.now += Duration::from_millis(12);
                break;
            }
        }
        scene.miss(&[(0, later)], &[]);
        packets += 10;
        let settled = Some((later, packets));
        scene.report(&[], &[Received { settled, packets, ..received(0, later) }]);
    }
    assert_eq!(resent, 0);
}

/// In slow start the latest packets are as many as all before. Each lost one is held for lost at once, and the losses of the path are known
/// a while later.
#[test]
fn losses_while_the_rate_grows_are_not_taken_for_packets_that_come_late() {
    for counts in [[500, 1_500, 4_500].as_slice(), &[1_500, 4_500]] {
        let mut scene = Scene::new(1, 0);
        scene.warm_up();
        let (mut packets, mut settled) = (60, None);
        for &count in counts {
            let (last, came) = scene.lose_some(count);
            packets += came;
            scene.report(&[], &[Received { settled, packets, ..received(0, last) }]);
            settled = Some((last, packets));
        }
        let lateness = scene.adaptive.paths[0].as_ref().expect("set").model.lateness();
        assert_eq!(lateness, 0.0, "{counts:?}");
    }
}

#[test]
fn copies_leave_each_lost_packet_a_repair_of_its_own() {
    let mut scene = Scene::new(2, 0);
    let (mut alone, mut copied) = (0, 0);
    for round in 0..250 {
        // The beginning shows the delays of both paths.
        let lost = if round < 50 { 0 } else { 2 };
        let missing: Vec<_> = (0..lost).map(|_| (scene.send(), 1)).collect();
        let mut highest = [(0, 0), (1, 0)];
        let arrived: Vec<_> = (0..3)
            .map(|_| {
                let number = scene.send();
                let (_, slot) = scene.sent[&number];
                highest[usize::from(slot)].1 = number;
                (slot, number, scene.clock() + 10_000)
            })
            .collect();
        scene.report(&arrived, &highest.map(|(slot, number)| received(slot, number)));
        scene.now += Duration::from_millis(10);
        // A repair over either path may be lost.
        scene.adaptive.paths.iter_mut().flatten().for_each(|path| path.kind = Kind::Lossy);
        // The repairs of the round before have come, as have the packets that left after them.
        for (_, slots) in scene.miss(&highest, &missing) {
            *(if slots.len() > 1 { &mut copied } else { &mut alone }) += 1;
        }
    }
    let counters = scene.counters();
    assert_eq!((counters.refused, alone + copied), (0, 400), "{counters:?}");
    assert!(alone > 0 && copied > 100, "{alone} alone, {copied} copied");
}

#[test]
fn what_comes_in_time_does_not_depend_on_when_the_clock_of_the_peer_began() {
    let waits = [0, 20].map(|seconds| {
        let mut scene = Scene::new(1, 0);
        scene.now += Duration::from_secs(seconds);
        scene.warm_up();
        scene.adaptive.due(0) - scene.adaptive.paths[0].as_ref().expect("set").delay
    });
    assert!(waits[0] > 20_000.0, "{waits:?}");
    assert_eq!(waits[0], waits[1]);
}

proptest! {
    /// Whatever a peer asks for: repairs stay within the budget, and each number within its tries.
    #[test]
    fn no_peer_gets_more_than_the_budget(
        first in any::<u32>(),
        asks in proptest::collection::vec(
            (
                proptest::collection::vec((0..2_u16, 0..500_u32), 0..3),
                proptest::collection::vec((0..500_u32, any::<u16>()), 0..32),
                any::<bool>(),
            ),
            1..60,
        )
    ) {
        let mut scene = Scene::new(2, first);
        for (highest, missing, near) in asks {
            for _ in 0..10 {
                scene.send();
            }
            let begin = if near { scene.number.wrapping_sub(400) } else { first };
            let highest: Vec<_> =
                highest.iter().map(|&(slot, offset)| (slot, begin.wrapping_add(offset))).collect();
            let mut missing: Vec<_> =
                missing.iter().map(|&(offset, count)| (begin.wrapping_add(offset), count)).collect();
            if near {
                missing.sort_by_key(|&(number, _)| number.wrapping_sub(begin));
            }
            scene.miss(&highest, &missing);
            let RepairCounters { lost, bytes, .. } = scene.counters();
            let budget = ALLOWANCE
                + 1.3 * (lost * u64::from(BYTES + OVERHEAD)) as f64
                + 0.002 * (scene.sent_bytes + scene.resent_bytes) as f64;
            prop_assert_eq!(bytes, scene.resent_bytes);
            prop_assert!(bytes as f64 <= budget + 1.0, "{} of {}", bytes, budget);
            prop_assert!(lost <= scene.sent.len() as u64);
        }
        // The third try may go over two paths.
        prop_assert!(scene.sent.values().all(|&(times, _)| times <= 1 + 4));
    }
}

/// The path that lost a packet is removed, and another one gets its slot.
#[test]
fn what_left_over_a_removed_path_is_not_expected_on_the_next() {
    let mut scene = Scene::new(2, 1);
    scene.warm_up();
    let number = scene.send();
    let slot = usize::from(scene.sent[&number].1);
    scene.adaptive.set(slot, None, 0);
    scene.adaptive.set(slot, Some(member(slot, true)), OVERHEAD);
    assert_eq!(scene.miss(&[], &[(number, 1)]), [(number, vec![1 - slot as u16])]);
}

/// Counters of a peer that run backwards stop nothing, however many packets are held for lost.
#[test]
fn counters_that_run_backwards_compare_nothing() {
    let mut scene = Scene::new(1, 0);
    let compared =
        |last, sent, came| crate::adaptive::path::Compared { last: Sequence(last), sent, came };
    scene.adaptive.compare_losses(0, 0, compared(0, 1_000, 1_000));
    let path = scene.adaptive.paths[0].as_mut().expect("a path");
    (1..=20).for_each(|number| path.note_judged(Sequence(number)));
    scene.adaptive.compare_losses(1, 0, compared(30, 500, 2_000));
}
