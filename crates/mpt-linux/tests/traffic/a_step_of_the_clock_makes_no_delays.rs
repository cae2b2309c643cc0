//! Stamps are of the system's clock, which can be set at any time. What was stamped before counts as
//! arrived when it is read.

use std::time::{Duration, Instant, SystemTime};

use mpt_linux::udp::ArrivalClock;

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A time by both clocks.
fn origin() -> (SystemTime, Instant) {
    (SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000), Instant::now() + millis(10_000))
}

#[test]
fn a_stamp_is_converted_while_nobody_sets_the_clock() {
    let (system, instant) = origin();
    let mut clock = ArrivalClock::new((system, instant));
    for round in 1..4 {
        let passed = millis(7 * round);
        let (system, now) = (system + passed, instant + passed);
        clock.update((system, now));
        assert_eq!(clock.arrival(Some(system - millis(30)), now), now - millis(30));
        // Read later in the round, and arrived in it.
        assert_eq!(clock.arrival(Some(system + millis(1)), now + millis(3)), now + millis(1));
        assert_eq!(clock.arrival(None, now), now, "without a stamp");
    }
}

#[test]
fn what_waits_while_the_clock_is_set_counts_as_arrived_when_it_is_read() {
    let (system, instant) = origin();
    for step in [millis(2), millis(500), Duration::from_secs(3_600)] {
        for stepped in [system + millis(20) + step, system + millis(20) - step] {
            let mut clock = ArrivalClock::new((system, instant));
            let now = instant + millis(20);
            clock.update((stepped, now));
            assert_eq!(clock.arrival(Some(system + millis(10)), now), now, "{step:?}");
            assert_eq!(clock.arrival(Some(stepped - millis(10)), now), now, "{step:?}");

            clock.update((stepped + millis(5), now + millis(5)));
            let arrival = clock.arrival(Some(stepped), now + millis(5));
            assert_eq!(arrival, now, "the round after it");
        }
    }
}

#[test]
fn a_step_within_a_round_makes_no_arrival_after_it_or_long_before_it() {
    let (system, now) = origin();
    let clock = ArrivalClock::new((system, now));
    assert_eq!(clock.arrival(Some(system + millis(1)), now), now, "of the future");
    assert_eq!(clock.arrival(Some(system - millis(1_000)), now), now - millis(1_000));
    assert_eq!(clock.arrival(Some(system - millis(1_001)), now), now, "too old");
    assert_eq!(clock.arrival(Some(SystemTime::UNIX_EPOCH), now), now, "too old for an instant");
}
