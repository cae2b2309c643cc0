//! The weighted scheduler against Algorithm 1 of almasi2017 (section 4.2), carried out as printed:
//! with the least common multiple of the weights, and integers as large as that needs.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use mpt_core::scheduler::Weighted;
use num_bigint::BigUint;
use num_integer::Integer;
use proptest::prelude::*;

use crate::common::*;

/// The first entries of the sending vector, repeated as often as needed; slots from 0.
fn algorithm_1(weights: &[u16], entries: usize) -> Vec<usize> {
    let one = BigUint::from(1_u8);
    let multiple = weights.iter().fold(one, |lcm, &weight| lcm.lcm(&BigUint::from(weight)));
    let steps: Vec<BigUint> = weights.iter().map(|&weight| &multiple / weight).collect();
    let mut sums = vec![BigUint::ZERO; weights.len()];
    let mut vector = Vec::new();
    while vector.len() < entries {
        let next: Vec<BigUint> = sums.iter().zip(&steps).map(|(sum, step)| sum + step).collect();
        let smallest = next.iter().min().unwrap();
        let slot = next.iter().position(|sum| sum == smallest).unwrap();
        sums[slot] = next[slot].clone();
        vector.push(slot);
        if sums.iter().all(|sum| *sum == sums[0]) {
            let cycle = vector.clone();
            return cycle.into_iter().cycle().take(entries).collect();
        }
    }
    vector
}

fn scheduler(weights: &[u16]) -> Weighted {
    let mut weighted = Weighted::new();
    for (slot, &weight) in weights.iter().enumerate() {
        weighted.set(slot, weight);
    }
    weighted
}

fn scheduled(weights: &[u16], entries: usize) -> Vec<usize> {
    let mut weighted = scheduler(weights);
    (0..entries).map(|_| weighted.next().unwrap()).collect()
}

#[test]
fn the_example_of_the_paper() {
    let cycle = [
        2, 1, 3, 2, 1, 2, 3, 1, 2, 3, 1, 2, 2, 3, 1, 2, 1, 3, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 3, 1,
        2, 3, 1, 2, 1, 2, 3,
    ];
    let mut node = node(connection(paths(&[12, 15, 10])));
    for _ in 0..5 {
        assert_eq!(send_many(&mut node, cycle.len()), cycle);
    }
}

#[test]
fn super_aggregation() {
    // Shares of Ethernet and Wi-Fi in almasi2017, section 5.3: server 94:121, client 10000:1.
    assert_eq!(scheduled(&[94, 121], 430), algorithm_1(&[94, 121], 430));
    let client = scheduled(&[10_000, 1], 30_003);
    assert_eq!(client, algorithm_1(&[10_000, 1], 30_003));
    assert_eq!(client.iter().filter(|&&slot| slot == 1).count(), 3);
}

#[test]
fn the_largest_coprime_weights() {
    let weights = [65_535, 65_534, 65_533, 65_531, 65_529, 1, 2];
    let cycle = weights.iter().map(|&weight| usize::from(weight)).sum();
    let vector = scheduled(&weights, cycle);
    assert_eq!(vector[..3_000], algorithm_1(&weights, 3_000));
    for (slot, &weight) in weights.iter().enumerate() {
        assert_eq!(vector.iter().filter(|&&entry| entry == slot).count(), usize::from(weight));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whole_cycles_of_small_weights(weights in prop::collection::vec(1_u16..=60, 1..=20)) {
        let entries = 2 * weights.iter().map(|&weight| usize::from(weight)).sum::<usize>() + 3;
        prop_assert_eq!(scheduled(&weights, entries), algorithm_1(&weights, entries));
    }

    #[test]
    fn any_weights(weights in prop::collection::vec(1_u16..=65_535, 1..=20)) {
        prop_assert_eq!(scheduled(&weights, 400), algorithm_1(&weights, 400));
    }

    #[test]
    fn slots_without_a_path_take_nothing(
        weights in prop::collection::vec(prop_oneof![Just(0_u16), 1_u16..100], 1..=20)
    ) {
        prop_assume!(weights.iter().any(|&weight| weight != 0));
        let used: Vec<usize> = (0..weights.len()).filter(|&slot| weights[slot] != 0).collect();
        let others: Vec<u16> = used.iter().map(|&slot| weights[slot]).collect();
        let expected: Vec<usize> =
            algorithm_1(&others, 300).into_iter().map(|place| used[place]).collect();
        prop_assert_eq!(scheduled(&weights, 300), expected);
    }
}
