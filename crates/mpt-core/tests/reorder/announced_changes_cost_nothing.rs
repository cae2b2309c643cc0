//! Planned changes of the path set and the weights that the sender announces.

use super::harness::*;

fn paths() -> Scenario {
    scenario(&[link(5.0).loss(0.01), link(55.0).loss(0.01), link(25.0).loss(0.01)])
}

fn to(weights: &[u16]) -> Event {
    Event::Weights { weights: weights.to_vec(), announced: true }
}

/// Whatever the paths do, nothing is late and nothing waits longer than for the slowest path and
/// one of its numbers more.
fn costs_nothing(scenario: Scenario) {
    for seed in 1..=3 {
        for start in [0, u32::MAX - 20_000] {
            let figures = scenario.clone().seed(seed).start(start).run();
            assert_eq!((figures.late, figures.undelivered), (0, 0), "seed {seed}: {figures:?}");
            assert!(figures.wait_max < 53.0, "seed {seed}: {figures:?}");
        }
    }
}

#[test]
fn a_path_goes_and_comes_back() {
    costs_nothing(
        paths()
            .at(1000, to(&[1, 0, 1]))
            .at(2000, to(&[1, 1, 1]))
            .at(3000, to(&[0, 1, 1]))
            .at(4000, to(&[1, 1, 1])),
    );
}

#[test]
fn a_connection_changes_to_its_other_path() {
    costs_nothing(paths().weights(&[1, 0, 0]).at(1500, to(&[0, 1, 0])).at(3000, to(&[0, 0, 1])));
}

#[test]
fn several_changes_are_on_their_way_at_once() {
    costs_nothing(
        paths()
            .at(1000, to(&[1, 0, 1]))
            .at(1010, to(&[1, 2, 3]))
            .at(1020, to(&[1, 2, 0]))
            .at(1030, to(&[5, 2, 1])),
    );
}

#[test]
fn weights_change_up_and_down() {
    costs_nothing(
        paths().at(1500, to(&[3, 1, 2])).at(3000, to(&[2, 3, 1])).at(4000, to(&[1, 1, 1])),
    );
}

/// Announced 20 ms after the data, when the first packets of the new weights are there. (That a path
/// comes up has to be known before the other passes its first number.)
#[test]
fn an_announcement_may_come_after_its_packets() {
    let scenario = scenario(&[link(5.0).loss(0.01), link(55.0).loss(0.01)]).announcing_after(20);
    costs_nothing(scenario.at(2000, to(&[1, 3])).at(3000, to(&[1, 0])));
}
