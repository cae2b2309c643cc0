//! Repair over paths that are so quick that TCP recovers from an overflow by itself.

use std::time::Duration;

use super::scene::{Scene, received};
use crate::adaptive::repair::BEGINNING;

/// A sender over one path of half a millisecond, that has carried a few packets.
fn quick() -> Scene {
    let mut scene = Scene::new(1, 0);
    let mut rtt = crate::session::Rtt::new();
    (0..50).for_each(|_| rtt.record(Duration::from_micros(500)));
    scene.adaptive.set_rtt(0, rtt.known().expect("samples"));
    scene.warm_up();
    scene
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

/// Sends so many packets, of which one in `lost` is lost, and reports those that came.
fn carry(scene: &mut Scene, count: u32, lost: u32) {
    let mut came = 0;
    for n in 1..=count {
        let number = scene.send();
        if n % lost == 0 {
            let later = scene.send();
            scene.miss(&[(0, later)], &[(number, 1)]);
            scene.miss(&[(0, later)], &[]);
        }
        came = number;
        if n % 100 == 0 {
            scene.now += Duration::from_millis(1);
            let time = scene.clock();
            scene.report(&[(0, number, time)], &[received(0, number)]);
        }
    }
    let time = scene.clock();
    scene.report(&[(0, came, time)], &[received(0, came)]);
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
