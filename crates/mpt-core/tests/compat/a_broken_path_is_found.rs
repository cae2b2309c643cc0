use mpt_core::compat::{Authentication, Outcome};

use crate::harness::{FIRST, Network, SECOND, seconds};

#[test]
fn both_ends_leave_it_and_return() {
    let mut network = Network::new(&Authentication::None);
    network.run(seconds(10));
    assert!(network.ends.iter().all(|end| end.is_up(FIRST) && end.is_up(SECOND)));
    assert!(network.commands.is_empty(), "nothing to tell");

    network.broken = [(0, FIRST), (1, FIRST)].into();
    network.run(seconds(5));
    for end in &network.ends {
        assert!(!end.is_up(FIRST) && end.is_up(SECOND));
        assert_eq!(end.told, [("p0".to_owned(), false, Outcome::Done)]);
    }

    network.broken.clear();
    network.run(seconds(15));
    assert!(network.ends.iter().all(|end| end.is_up(FIRST) && end.is_up(SECOND)));
}

/// The prototype takes the path into use again with the next keepalive that it hears, and loses half of what it sends. Here the path has to be proved
/// in the direction in which it is used.
#[test]
fn one_broken_direction_is_not_used_while_it_is_broken() {
    let mut network = Network::new(&Authentication::None);
    network.run(seconds(2));
    network.broken = [(0, FIRST)].into();
    network.run(seconds(5));
    assert!(!network.ends[0].is_up(FIRST), "told by the other end");
    for _ in 0..120 {
        network.run(seconds(1));
        assert!(!network.ends[0].is_up(FIRST));
    }
    network.broken.clear();
    network.run(seconds(20));
    assert!(network.ends[0].is_up(FIRST) && network.ends[1].is_up(FIRST));
}

#[test]
fn a_path_that_is_down_by_hand_stays_down_at_both_ends() {
    let mut network = Network::new(&Authentication::None);
    network.run(seconds(2));
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, false);
    for _ in 0..60 {
        network.run(seconds(1));
        assert!(!network.ends[1].is_up(FIRST) && network.ends[1].is_up(SECOND));
    }
}

/// The prototype never does this, because it looks for another path only.
#[test]
fn the_last_path_is_announced_over_itself() {
    let mut network = Network::new(&Authentication::None);
    network.run(seconds(2));
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, false);
    network.ends[0].compat.set_usable(now, SECOND, false);
    network.run(seconds(2));
    assert!(!network.ends[1].is_up(FIRST) && !network.ends[1].is_up(SECOND));
    let told = [("p0".to_owned(), false, Outcome::Done), ("p1".to_owned(), false, Outcome::Done)];
    assert_eq!(network.ends[0].told, told);
}

/// Both find it at the same moment, and tell each other at the same moment.
#[test]
fn both_ends_may_command_at_once() {
    for authentication in [Authentication::None, Authentication::Nonce] {
        let mut network = Network::new(&authentication);
        network.run(seconds(2));
        let now = network.now;
        network.ends[0].compat.set_usable(now, FIRST, false);
        network.ends[1].compat.set_usable(now, SECOND, false);
        network.run(seconds(2));
        assert!(!network.ends[0].is_up(SECOND) && !network.ends[1].is_up(FIRST));
        for end in &network.ends {
            assert_eq!(end.told.len(), 1);
            assert_eq!(end.told[0].2, Outcome::Done);
        }
    }
}
