//! A path that comes into use, or gets another weight, continues at the scheduler's present virtual
//! time.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use mpt_core::DownReason;
use mpt_core::scheduler::Weighted;
use proptest::prelude::*;

use crate::common::*;

#[test]
fn a_path_that_was_down_continues_in_the_vector() {
    let mut node = node(connection(paths(&[10, 10])));
    let (id, _) = node.tunnels().paths().next().unwrap();
    assert_eq!(send_many(&mut node, 4), [1, 2, 1, 2]);
    node.set_path_state(origin(), id, DownReason::Administrative, true);
    assert_eq!(send_many(&mut node, 1_003), [2; 1_003]);
    node.set_path_state(origin(), id, DownReason::Administrative, false);
    assert_eq!(send_many(&mut node, 4), [1, 2, 1, 2]);
}

#[test]
fn a_new_path_gets_its_share_from_the_next_packet_on() {
    let mut node = node(connection(paths(&[1, 1])));
    let (id, _) = node.tunnels().connections().next().unwrap();
    send_many(&mut node, 777);
    node.add_path(origin(), id, path(3)).unwrap();
    let shares = send_many(&mut node, 30);
    for triple in shares.chunks(3).skip(1) {
        let mut sorted = triple.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3]);
    }
}

#[test]
fn a_new_weight_holds_from_the_next_packet_on() {
    let mut node = node(connection(paths(&[1, 1])));
    let (id, _) = node.tunnels().paths().next().unwrap();
    send_many(&mut node, 500);
    node.set_weights(origin(), id, 3, 1).unwrap();
    assert_eq!(send_many(&mut node, 8), [1, 1, 1, 2, 1, 1, 1, 2]);
    node.set_weights(origin(), id, 1, 1).unwrap();
    assert_eq!(send_many(&mut node, 4), [1, 2, 1, 2]);
}

/// A change of the paths, after a number of packets.
#[derive(Clone, Copy, Debug)]
struct Change {
    after: usize,
    slot: usize,
    weight: u16,
}

fn change() -> impl Strategy<Value = Change> {
    let weight = prop_oneof![Just(0_u16), 1_u16..20, 1_u16..=65_535];
    (0_usize..100, 0_usize..6, weight).prop_map(|(after, slot, weight)| Change {
        after,
        slot,
        weight,
    })
}

proptest! {
    /// Whatever has happened before. While virtual time advances by v, a path of weight w gets v *
    /// w packets, to within less than one on either side, because its entries are 1 / w apart. All
    /// n paths of weight W together get N = v * W to within n. So one path gets N * w / W to within
    /// n * w / W + 1.
    #[test]
    fn after_any_history_of_changes(history in prop::collection::vec(change(), 1..30)) {
        let mut weighted = Weighted::new();
        let mut weights = [0_u16; 6];
        weighted.set(5, 1);
        weights[5] = 1;
        for Change { after, slot, weight } in history {
            for _ in 0..after {
                let active = weights.iter().any(|&weight| weight != 0);
                prop_assert_eq!(weighted.next().is_some(), active);
            }
            weighted.set(slot, weight);
            weights[slot] = weight;
            let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();

            let mut counts = [0_u64; 6];
            let mut probe = weighted.clone();
            for packets in 1..=200_u64 {
                let Some(slot) = probe.next() else { break };
                counts[slot] += 1;
                let paths = weights.iter().filter(|&&weight| weight != 0).count() as u64;
                for (&count, &weight) in counts.iter().zip(&weights) {
                    let weight = u64::from(weight);
                    prop_assert!(count * total <= (packets + paths) * weight + total);
                    prop_assert!((count + 1) * total + paths * weight >= packets * weight);
                }
            }
        }
    }
}
