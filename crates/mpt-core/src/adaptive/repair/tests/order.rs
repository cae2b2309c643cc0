//! Paths that keep the order of packets: the next packet shows what was lost, and a queue that grows
//! shows nothing.

use std::time::Duration;

use super::scene::{RTT, Scene};

/// A sender over one path, the last number that the path has delivered, and the next one, which has
/// left.
fn one_under_way() -> (Scene, u32, u32) {
    let mut scene = Scene::new(1, 0);
    scene.warm_up();
    let (last, number) = (scene.number.wrapping_sub(1), scene.send());
    (scene, last, number)
}

#[test]
fn a_queue_that_grows_is_not_taken_for_a_loss() {
    let (mut scene, last, number) = one_under_way();
    // It waits for 25 ms in a queue of which no report has told.
    scene.now += RTT / 2 + Duration::from_millis(25);
    assert_eq!(scene.miss(&[(0, last)], &[(number, 1)]), []);
    assert_eq!(scene.miss(&[(0, number)], &[]), []);
    assert_eq!(scene.counters().lost, 0);
}

#[test]
fn what_a_path_does_not_deliver_at_all_is_lost() {
    let (mut scene, last, number) = one_under_way();
    scene.now += RTT / 2 + Duration::from_millis(45);
    assert_eq!(scene.miss(&[(0, last)], &[(number, 1)]), [(number, vec![0])]);
}

#[test]
fn a_packet_that_waited_in_a_queue_does_not_delay_the_repairs_of_those_after_it() {
    let (mut scene, last, number) = one_under_way();
    scene.now += RTT / 2 + Duration::from_millis(8);
    assert_eq!(scene.miss(&[(0, last)], &[(number, 1)]), [], "8 ms later than usual");
    assert_eq!(scene.miss(&[(0, number)], &[]), []);
    let (lost, later) = (scene.send(), scene.send());
    assert_eq!(scene.miss(&[(0, later)], &[(lost, 1)]), [(lost, vec![0])]);
}
