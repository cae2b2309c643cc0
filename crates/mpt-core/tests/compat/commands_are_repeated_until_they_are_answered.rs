use std::collections::BTreeSet;
use std::time::Duration;

use mpt_core::compat::{Authentication, Config, Outcome};

use crate::harness::{FIRST, Network, SECOND, config, seconds};

/// Whatever five messages of a stage get lost, the sixth will do.
#[test]
fn up_to_five_losses_in_a_stage_do_not_matter() {
    for lost in [vec![0], vec![1], vec![2], vec![3], vec![0, 1, 2, 3, 4], vec![1, 3, 5, 7, 9]] {
        let mut network = Network::new(&Authentication::Nonce);
        network.lost = lost.iter().copied().collect::<BTreeSet<_>>();
        network.run(seconds(1));
        let now = network.now;
        network.ends[0].compat.set_usable(now, FIRST, false);
        network.run(seconds(7));
        assert_eq!(network.ends[0].told, [("p0".to_owned(), false, Outcome::Done)], "{lost:?}");
        assert!(!network.ends[1].is_up(FIRST), "{lost:?}");
        assert_eq!(network.ends[1].counters(network.now).commands_executed, 1, "{lost:?}");
    }
}

#[test]
fn a_silent_peer_is_asked_over_every_path_and_then_no_more() {
    let never = |end| Config { dead: Duration::ZERO, ..config(end, &Authentication::None) };
    let mut network = Network::of(never);
    network.run(seconds(1));
    network.broken = [(0, FIRST), (0, SECOND)].into();
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, false);
    network.run(seconds(8));
    assert_eq!(network.ends[0].told, [("p0".to_owned(), false, Outcome::Unanswered)]);
    let over = |path| {
        let sent = network.commands.iter().filter(|it| it.1 == 0 && it.2 == path);
        sent.map(|it| it.0).collect::<Vec<_>>()
    };
    let milliseconds = |path| {
        let times: Vec<_> = over(path);
        times.iter().map(|at| (*at - times[0]).as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(milliseconds(SECOND), [0, 500, 1000, 1500, 2000, 2500]);
    assert_eq!(milliseconds(FIRST), [0, 500, 1000, 1500, 2000, 2500]);
    assert_eq!((over(FIRST)[0] - over(SECOND)[0]).as_secs(), 3);
}

/// An earlier command may be wrong by now, so only the last one is repeated.
#[test]
fn the_last_word_is_told() {
    let mut network = Network::new(&Authentication::None);
    network.run(seconds(1));
    for up in [false, true, false, true, false] {
        let now = network.now;
        network.ends[0].compat.set_usable(now, FIRST, up);
    }
    network.run(seconds(3));
    assert!(!network.ends[1].is_up(FIRST));
    assert_eq!(network.ends[0].told, [("p0".to_owned(), false, Outcome::Done)]);
}
