//! Sequence numbers across 2^32: packet for packet, nanosecond for nanosecond what happens without.

use std::time::Duration;

use crate::virtual_network::{Network, SIDES, Setup, millis};

/// By receiving side: what was delivered and when, in nanoseconds.
fn trace(setup: Setup, first_number: u32) -> [Vec<(u64, u128)>; 2] {
    let mut network = Network::new(Setup { first_number, ..setup });
    let warm = network.now();
    network.run(millis(1000), Duration::from_micros(120));
    network.settle();
    for side in SIDES {
        let numbers: Vec<u32> = network.wire[side].iter().filter_map(|it| it.number).collect();
        let wraps = numbers.windows(2).filter(|pair| *pair == [u32::MAX, 0]).count();
        assert_eq!(wraps, usize::from(first_number > 0));
        assert_eq!(numbers[0], first_number);
    }
    network.assert_nothing_twice();
    SIDES.map(|side| {
        let delivered = network.hosts[side].delivered.iter().skip(1);
        delivered.map(|it| (it.id, (it.at - warm).as_nanos())).collect()
    })
}

fn assert_wrapping_changes_nothing(setup: &Setup) {
    let plain = trace(setup.clone(), 0);
    assert!(plain.iter().all(|trace| trace.len() > 7000));
    for before in [1, 64, 3000] {
        // It all happens with numbers on both sides of 2^32 in the window.
        assert!(trace(setup.clone(), 0_u32.wrapping_sub(before)) == plain, "{before}");
    }
}

#[test]
fn with_the_defaults() {
    Setup::mixed_paths(1).iter().for_each(assert_wrapping_changes_nothing);
}

#[test]
fn with_the_papers_rule() {
    Setup::mixed_paths(2).map(Setup::papers_rule).iter().for_each(assert_wrapping_changes_nothing);
}

#[test]
fn with_windows_that_slide_all_the_time() {
    for mut setup in Setup::mixed_paths(3) {
        setup.reorder.window = Some(40);
        assert_wrapping_changes_nothing(&setup);
    }
}
