//! Forged numbers, restarts and long losses: what arrives is delivered, and order comes back.

use std::time::Duration;

use mpt_core::reorder::{Config, ReorderBuffer};

use super::harness::*;

fn two() -> Scenario {
    scenario(&[link(5.0), link(55.0)])
}

const STARTS: [u32; 2] = [0, u32::MAX - 20_000];

fn forged(path: usize, ahead: u32) -> Vec<Figures> {
    STARTS.map(|s| two().at(2000, Event::Forge { path, ahead }).start(s).run()).into()
}

/// A number that is in the window already is a duplicate, or its packet takes the genuine one's
/// place: that one is beyond help. All others are delivered.
#[test]
fn a_number_forged_in_the_window_makes_as_many_late_at_most() {
    for path in [0, 1] {
        for figures in forged(path, 5) {
            assert!(figures.late < 5, "{figures:?}");
            assert!(figures.undelivered <= 1 && figures.twice == 0);
            assert!(figures.wait_p99 < 50.0 && figures.stall < 50.0, "{figures:?}");
        }
    }
}

#[test]
fn a_number_forged_ahead_of_the_window_costs_a_second_of_order() {
    for path in [0, 1] {
        for ahead in [20_000, 60_000] {
            for figures in forged(path, ahead) {
                assert!(figures.late <= 8335, "{figures:?}");
                assert_eq!((figures.undelivered, figures.twice, figures.counters.moves), (0, 0, 1));
                assert!(figures.last_disorder < 3060.0, "{figures:?}");
                assert!(figures.wait_p99 < 50.0 && figures.stall < 50.0, "{figures:?}");
            }
        }
    }
}

/// Its packet cannot be told from a genuine one and is delivered after the maximum delay, which
/// puts the window where it says; there the numbers have caught up soon, or it is moved back.
#[test]
fn a_number_forged_far_ahead_in_the_window_costs_little_more() {
    for path in [0, 1] {
        for figures in forged(path, 10_000) {
            assert!(figures.undelivered <= 1 && figures.twice == 0);
            assert!(figures.last_disorder < 2000.0 + 300.0 + 1000.0 + 60.0, "{figures:?}");
            assert!(figures.stall < 50.0, "{figures:?}");
        }
    }
}

#[test]
fn a_number_forged_out_of_reach_is_one_stray() {
    for path in [0, 1] {
        for ahead in [100_000, 1 << 31] {
            for figures in forged(path, ahead) {
                assert_eq!((figures.counters.stray, figures.late, figures.out_of_order), (1, 0, 0));
                assert_eq!((figures.undelivered, figures.twice), (0, 0));
                assert!(figures.wait_p99 < 50.0 && figures.stall < 50.0, "{figures:?}");
            }
        }
    }
}

#[test]
fn a_loss_longer_than_the_history_leaves_three_strays() {
    for start in STARTS {
        let figures = two()
            .seconds(14)
            .at(2000, Event::Dead(0, true))
            .at(2000, Event::Dead(1, true))
            .at(11_000, Event::Dead(0, false))
            .at(11_000, Event::Dead(1, false))
            .start(start)
            .run();
        assert_eq!((figures.counters.stray, figures.counters.moves), (3, 1));
        // Those of the slow path that the strays have overtaken.
        assert_eq!(figures.late, 2, "{figures:?}");
        assert_eq!((figures.undelivered, figures.twice), (0, 0));
        assert!(figures.stall < 50.0, "{figures:?}");
    }
}

#[test]
fn a_peer_that_restarts_without_saying_so_is_heard_after_a_second() {
    for start in [1000, 100_000, u32::MAX - 30_000] {
        let figures = two().at(2500, Event::Restart { session: false }).start(start).run();
        assert!(figures.stall < 1001.0, "{figures:?}");
        assert!(figures.counters.moves <= 1);
        assert!(figures.last_disorder < 3560.0, "{figures:?}");
    }
    let figures = two().rate(50).at(2500, Event::Restart { session: false }).run();
    assert!(figures.stall <= 1100.0, "{figures:?}");
}

/// If restarts are expected, the first two numbers may be lost as copies of old ones, and the old packets of the slow path are late.
#[test]
fn a_peer_that_is_expected_to_restart_without_saying_so_is_heard_at_once() {
    // From 60,000 on, 0 is out of reach (three strays do it) or ahead within the window (a gap): as without.
    for start in [0, 1000, 60_000, 100_000, u32::MAX - 30_000] {
        let restart = Event::Restart { session: false };
        let figures = two().expecting_restarts().at(2500, restart).start(start).run();
        assert!(figures.undelivered <= 2, "start {start}: {figures:?}");
        assert_eq!(figures.twice, 0, "start {start}: {figures:?}");
        assert_eq!(
            figures.counters.moves,
            u64::from(start < 1 << 31),
            "start {start}: {figures:?}"
        );
        // The slow path's last old numbers, and then its first new ones behind those of the fast path: twice its delay.
        assert!(figures.last_disorder < 2610.0, "start {start}: {figures:?}");
        assert!(figures.stall < 60.0, "start {start}: {figures:?}");
    }
    // Too soon for that: its numbers reach the old ones before the second is over.
    let figures = two().expecting_restarts().at(900, Event::Restart { session: false }).run();
    assert!(figures.stall > 500.0 && figures.stall < 1001.0, "{figures:?}");
}

#[test]
fn where_restarts_are_expected_forged_first_numbers_cost_order_only() {
    const FORGED: u32 = 1_000_000;
    let origin = origin();
    for (count, moves) in [(2, 0), (3, 1)] {
        let mut sink = Collector::default();
        let mut buffer = ReorderBuffer::new(Config::default());
        buffer.expect_restarts(true);
        buffer.add_path(origin, 0, 1);
        for number in 0..6000 {
            let now = origin + Duration::from_millis(number.into());
            if number == 3000 {
                for forged in 0..count {
                    buffer.receive(now, 0, forged, FORGED + forged, &mut sink);
                }
            }
            buffer.handle_timeout(now, &mut sink);
            buffer.receive(now, 0, number, number, &mut sink);
        }
        buffer.flush(&mut sink);
        let mut genuine: Vec<_> = sink.delivered.into_iter().filter(|&it| it < FORGED).collect();
        let disorder = genuine.windows(2).rposition(|pair| pair[1] < pair[0]).unwrap_or(0);
        assert!(disorder < 3000 + 1100, "in order again after a second: {disorder}");
        genuine.sort_unstable();
        assert!(genuine.into_iter().eq(0..6000), "{count} forged");
        assert_eq!(buffer.counters().moves, moves, "{count} forged");
    }
}

/// The last packets before the restart are on the slow path while the first ones after it come:
/// they are late packets, whether or not their numbers fit in the new window. (Those that repeat a
/// number across the two lives cannot be told apart by counting and are left out: every packet has
/// its own identity.)
#[test]
fn a_restart_by_session_loses_neither_old_nor_new_packets() {
    for start in [0, 70_000, 1 << 31, u32::MAX - 20_000, u32::MAX - 20_800] {
        let figures = two().at(2500, Event::Restart { session: true }).start(start).run();
        assert_eq!((figures.undelivered, figures.twice), (0, 0), "start {start}: {figures:?}");
        assert_eq!(figures.counters.moves, 0);
        assert!(figures.late <= 250, "start {start}: {figures:?}");
        assert!(figures.last_disorder < 2560.0, "start {start}: {figures:?}");
        assert!(figures.stall < 50.0, "start {start}: {figures:?}");
    }
}

#[test]
fn restarts_in_a_row_are_fine() {
    let mut scenario = two();
    for ms in [500, 520, 600, 601, 2000, 2060] {
        scenario = scenario.at(ms, Event::Restart { session: true });
    }
    let figures = scenario.run();
    assert_eq!(figures.counters.moves, 0);
    assert!(figures.last_disorder < 2200.0, "{figures:?}");
}

#[test]
fn without_a_window_a_restarted_peer_is_heard_too() {
    let figures = two().window(0).duplicate().at(2500, Event::Restart { session: false }).run();
    assert!(figures.stall < 1001.0, "{figures:?}");
}
