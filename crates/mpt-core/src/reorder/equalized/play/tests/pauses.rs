//! Pauses between flows: the next one is held as the paths are known when it begins.

use super::{BULK, Receiver, ms};
use crate::reorder::Losses;

/// A flow of ten packets, one each millisecond, from this time on. The numbers are those of the flow before, and go on.
fn flow(receiver: &mut Receiver, at: u64, first: u32) {
    for n in 0..10 {
        let left = at + 1_000 * u64::from(n);
        receiver.receive(left + 10_000, n as usize % 2, first + n, BULK);
    }
}

/// A flow begins over paths that are equally long, while it is not known whether they lose packets, and is held for repairs. Then a survey shows that
/// they lose none. The peer says so while the flow goes on, so that its hold stays. No probe comes in the pause behind it.
#[test]
fn a_flow_behind_a_pause_is_not_held_as_the_one_before_it_was() {
    for (pause, is_held) in [(400_000, true), (600_000, false)] {
        let mut receiver = Receiver::new([10, 10], 0);
        receiver.window.set_repair_time(Some(ms(100)), Losses::Possible);
        receiver.told(0, &[]);
        flow(&mut receiver, 1_000, 0);
        receiver.window.set_repair_time(Some(ms(100)), Losses::None);
        receiver.told(30_000, &[]);
        receiver.run(300_000);
        let first: Vec<_> = receiver.delivered();
        assert!(first[0].0 > 80_000, "the first flow is held: {first:?}");
        let begins = 1_000 + 9_000 + 10_000 + pause;
        flow(&mut receiver, begins, 10);
        receiver.run(begins + 300_000);
        let later = &receiver.delivered()[10..];
        let held = later.iter().any(|&(at, n)| at > begins + 1_000 * u64::from(n - 10) + 10_000);
        assert_eq!(held, is_held, "{pause}: {later:?}");
    }
}
