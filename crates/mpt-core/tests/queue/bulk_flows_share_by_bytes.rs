//! Bulk flows that always have something waiting get equal bytes, whatever the sizes of their
//! segments and super-packets: within one quantum and one segment of each other.

use mpt_core::queue::QUANTUM;

use super::harness::{Owner, WIDE, origin, packet};

/// Lets flows with these segments and bytes per segment send for a while, and compares.
fn compare(shapes: &[(u16, u32)]) {
    let (mut owner, now) = (Owner::new(WIDE), origin());
    let mut waiting = vec![0_usize; shapes.len()];
    let mut bytes = vec![0_u64; shapes.len()];
    for n in 0..100_000 {
        for (flow, &(segments, size)) in shapes.iter().enumerate() {
            while waiting[flow] < 50 {
                owner.push(now, packet(flow as u64, segments, size)).unwrap();
                waiting[flow] += usize::from(segments);
            }
        }
        let left = owner.pop(now).unwrap();
        waiting[left.tag as usize] -= 1;
        bytes[left.tag as usize] += u64::from(left.bytes);
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        let largest = shapes.iter().map(|&(_, size)| size).max().unwrap();
        // One may have had its turn, and each has sent up to one segment more than it was allowed.
        let bound = u64::from(QUANTUM.max(largest) + 2 * largest);
        assert!(most - least <= bound, "after {n} segments: {bytes:?}");
    }
}

#[test]
fn two_with_large_and_small_segments() {
    compare(&[(44, 1400), (1, 100)]);
}

#[test]
fn two_with_segments_larger_than_a_quantum() {
    compare(&[(7, 9000), (44, 1400)]);
}

#[test]
fn eight_of_all_kinds() {
    compare(&[
        (44, 1400),
        (1, 100),
        (1, 1500),
        (10, 576),
        (2, 1280),
        (30, 900),
        (64, 40),
        (3, 1499),
    ]);
}
