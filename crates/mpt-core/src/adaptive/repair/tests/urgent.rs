//! Small packets that are wanted at once leave over a second path where the first one loses some.

use super::scene::{OVERHEAD, Scene};
use crate::adaptive::Surveyed;
use crate::adaptive::repair::ALLOWANCE;

const BYTES: u32 = 84;

/// A sender over two paths, of which the first has lost so many of 400 probes.
fn sender(lost: u16) -> Scene {
    let mut scene = Scene::new(2, 0);
    let surveyed = Surveyed { probes: 400, lost, variation: 0.0, capacity: None };
    scene.adaptive.set_surveyed(scene.start, 0, &surveyed);
    scene.adaptive.repairs.keeping = true;
    scene.adaptive.repairs.tokens = 2.0 * ALLOWANCE;
    scene
}

/// The slots over which copies of a packet leave that has left over the first path.
fn copies(scene: &mut Scene, bytes: u32, urgent: bool) -> Vec<u16> {
    let number = scene.number;
    scene.number += 1;
    scene.adaptive.give(0, 0, number, (bytes, crate::adaptive::Way::default()), 0);
    let mut slots = Vec::new();
    scene.adaptive.copy(scene.now, 0, number, bytes, urgent, |slot| slots.push(slot));
    slots
}

#[test]
fn what_is_wanted_at_once_leaves_over_a_second_path_where_the_first_one_loses_packets() {
    for (lost, bytes, urgent, expected) in [
        (8, BYTES, true, &[1][..]),
        (1, BYTES, true, &[]),
        (8, BYTES, false, &[]),
        (8, 1_400, true, &[]),
    ] {
        let slots = copies(&mut sender(lost), bytes, urgent);
        assert_eq!(slots, expected, "{lost} of 400 lost, {bytes} bytes, urgent: {urgent}");
    }
}

#[test]
fn copies_leave_the_budget_that_the_first_packets_of_a_flow_may_need() {
    let mut scene = sender(8);
    let copied = (0..1_000).filter(|_| !copies(&mut scene, BYTES, true).is_empty()).count();
    let most = ALLOWANCE / f64::from(BYTES + OVERHEAD);
    assert!((1..=most as usize).contains(&copied), "{copied} of at most {most}");
}

#[test]
fn a_copy_is_logged_as_sent_over_its_own_path() {
    let mut scene = sender(8);
    let number = scene.number;
    assert_eq!(copies(&mut scene, BYTES, true), [1]);
    assert!(scene.adaptive.sent(0, number).is_some() && scene.adaptive.sent(1, number).is_some());
}
