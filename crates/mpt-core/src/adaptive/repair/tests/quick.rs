//! Repair over paths that are so quick that TCP recovers from an overflow by itself.

use std::time::Duration;

use super::scene::{BYTES, Scene, received};
use crate::adaptive::repair::BEGINNING;
use crate::adaptive::{Received, RttEstimate};
use crate::path::RateBounds;

fn half_a_millisecond() -> RttEstimate {
    let mut rtt = crate::session::Rtt::new();
    (0..50).for_each(|_| rtt.record(Duration::from_micros(500)));
    rtt.known().expect("samples")
}

/// A sender over one path of half a millisecond, that has carried a gigabit per second.
fn quick() -> Scene {
    quick_over(1)
}

/// A sender like [`quick`], over several such paths.
fn quick_over(paths: usize) -> Scene {
    let mut scene = Scene::new(paths, 0);
    (0..paths).for_each(|slot| scene.adaptive.set_rtt(slot, half_a_millisecond()));
    scene.warm_up();
    carry(&mut scene, 4_000, u32::MAX);
    scene
}

/// Sends so many packets at a gigabit per second, of which one in `lost` is lost and repaired, and
/// reports what came.
fn carry(scene: &mut Scene, count: u32, lost: u32) {
    for n in 1..=count {
        let number = scene.send();
        if n % lost == 0 {
            let later = scene.send();
            scene.miss(&[(0, later)], &[(number, 1)]);
            // The repair has come.
            scene.now += Duration::from_millis(15);
            scene.miss(&[(0, later)], &[]);
        }
        if n % 100 == 0 {
            all_has_come(scene);
        }
    }
}

/// Reports, after a millisecond, that all packets have come.
fn all_has_come(scene: &mut Scene) {
    scene.now += Duration::from_millis(1);
    let (time, packets) = (scene.clock() + 10_000, scene.sent.len() as u32);
    let highest = scene.number.wrapping_sub(1);
    let received = Received { packets, bytes: packets * BYTES, ..received(0, highest) };
    scene.report(&[(0, highest, time)], &[received]);
}

/// Reports a number as missing, that arrives 8 ms later. `others` is the highest one that has
/// arrived meanwhile.
fn comes_late(scene: &mut Scene, number: u32, others: u32) {
    assert_eq!(scene.miss(&[(0, others)], &[(number, 1)]), []);
    scene.now += Duration::from_millis(8);
    assert_eq!(scene.miss(&[(0, number.max(others))], &[]), []);
}

#[test]
fn a_packet_that_waited_in_a_queue_does_not_delay_the_repairs_of_those_after_it() {
    let mut scene = quick();
    let number = scene.send();
    comes_late(&mut scene, number, number - 1);
    let (lost, later) = (scene.send(), scene.send());
    assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), [(lost, vec![0])]);
}

#[test]
fn a_packet_that_was_overtaken_delays_the_repairs_of_those_after_it() {
    let mut scene = quick();
    let (overtaken, later) = (scene.send(), scene.send());
    // It is judged at once, and comes before its repair can have.
    assert_eq!(scene.miss(&[(0, later)], &[(overtaken, 1)]), [(overtaken, vec![0])]);
    scene.miss(&[(0, later)], &[]);
    let (number, later) = (scene.send(), scene.send());
    assert_eq!(scene.miss(&[(0, later)], &[(number, 1)]), [], "it may be overtaken");
    scene.now += Duration::from_millis(50);
    assert_eq!(scene.miss(&[(0, later)], &[(number, 1)]), [(number, vec![0])]);
}

#[test]
fn packets_are_kept_from_the_beginning_and_for_as_long_as_some_are_lost() {
    let mut clean = quick();
    assert!(clean.adaptive.is_keeping());
    assert_eq!(clean.adaptive.kept_from().map(|(_, loss)| loss), Some(0), "bulk is not held");
    carry(&mut clean, BEGINNING + 200, u32::MAX);
    assert!(!clean.adaptive.is_keeping());
    let mut lossy = quick();
    carry(&mut lossy, BEGINNING + 200, 1_000);
    assert!(lossy.adaptive.is_keeping());
}

#[test]
fn a_path_that_nothing_needs_does_not_have_packets_kept() {
    let mut scene = quick_over(2);
    let most = RateBounds::new(None, Some(1_000_000)).unwrap();
    scene.adaptive.set_bounds(1, most);
    carry(&mut scene, BEGINNING + 200, u32::MAX);
    let over = |slot: u16| scene.sent.values().filter(|sent| sent.1 == slot).count() as u32;
    assert!(over(0) > BEGINNING && over(1) < BEGINNING, "{} and {}", over(0), over(1));
    assert!(!scene.adaptive.is_keeping());
}

#[test]
fn nothing_is_kept_over_paths_that_deliver_less_than_tcp_reaches_in_spite_of_losses() {
    let mut scene = Scene::new(1, 0);
    scene.adaptive.set_rtt(0, half_a_millisecond());
    scene.warm_up();
    for _ in 0..1_000 {
        let number = scene.send();
        all_has_come(&mut scene);
        assert!(!scene.adaptive.is_keeping(), "11 Mbit/s, packet {number}");
    }
}
