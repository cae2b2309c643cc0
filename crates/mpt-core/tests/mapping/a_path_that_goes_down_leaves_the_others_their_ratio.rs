//! Without the entries of a path that is down, the sending vector is what it was.

use mpt_core::scheduler::Weighted;
use mpt_core::{DownReason, InnerDrop};
use proptest::prelude::*;

use crate::common::*;

#[test]
fn the_vector_goes_on_without_it() {
    let mut node = node(connection(paths(&[12, 15, 10])));
    let whole = send_many(&mut node, 37);
    let (id, _) = node.tunnels().paths().nth(1).unwrap();

    node.set_path_state(origin(), id, DownReason::Administrative, true);
    let without: Vec<u8> = whole.into_iter().filter(|&path| path != 2).collect();
    for _ in 0..3 {
        assert_eq!(send_many(&mut node, 22), without);
    }
}

#[test]
fn with_no_path_left_packets_are_counted() {
    let mut node = node(connection(paths(&[3, 1])));
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    for &id in &ids {
        node.set_path_state(origin(), id, DownReason::Interface, true);
    }
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    assert_eq!(send(&mut node, &packet), Err(InnerDrop::NoPath));
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.inner_drops().no_path, 1);
    assert_eq!(connection.next_sequence(), 0, "a packet that is not sent uses no number");

    node.set_path_state(origin(), ids[1], DownReason::Interface, false);
    assert_eq!(send_many(&mut node, 2), [2, 2]);
}

#[test]
fn a_path_with_two_reasons_to_be_down_needs_both_gone() {
    let mut node = node(connection(paths(&[1, 1])));
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.set_path_state(origin(), id, DownReason::Administrative, true);
    node.set_path_state(origin(), id, DownReason::Interface, true);
    node.set_path_state(origin(), id, DownReason::Administrative, false);
    assert_eq!(send_many(&mut node, 3), [2, 2, 2]);
    node.set_path_state(origin(), id, DownReason::Interface, false);
    assert!(send_many(&mut node, 2).contains(&1));
}

proptest! {
    #[test]
    fn at_any_moment(
        weights in prop::collection::vec(1_u16..40, 2..8),
        before in 0_usize..300,
        down in 0_usize..8,
    ) {
        let down = down % weights.len();
        let mut whole = Weighted::new();
        for (slot, &weight) in weights.iter().enumerate() {
            whole.set(slot, weight);
        }
        for _ in 0..before {
            whole.next();
        }
        let mut without = whole.clone();
        without.set(down, 0);
        let expected =
            std::iter::from_fn(|| whole.next()).filter(|&slot| slot != down).take(300);
        let got = std::iter::from_fn(|| without.next()).take(300);
        prop_assert!(got.eq(expected));
    }
}
