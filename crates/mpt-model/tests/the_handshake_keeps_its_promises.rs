//! Every reachable state of the model, within small bounds, has the properties that
//! docs/protocol.md promises; `make model` checks larger ones. With the admission of version 1, or
//! with one rule left out, the checker finds out.

use mpt_model::{Bounds, Handshake, Rules};
use stateright::{Checker, Model};

/// Bounds of one handshake, without other events.
const QUIET: Bounds = Bounds::quiet(8);

/// The properties that do not hold.
fn violated(rules: Rules, bounds: Bounds) -> Vec<&'static str> {
    let model = Handshake { rules, bounds };
    let checker = model.checker().spawn_bfs().join();
    eprintln!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 5);
    let mut found: Vec<_> = checker.discoveries().into_keys().collect();
    found.retain(|property| *property != EXAMPLE);
    let (states, stuck) = model.states_and_stuck_ones();
    // The checker ends early where nothing is left to be found.
    assert!(states >= checker.unique_state_count());
    found.extend((stuck > 0).then_some(RECOVERY));
    found
}

/// The property that the checker has no form for.
const RECOVERY: &str = "the session stands again";

/// A property that holds sometimes: not violated when found.
const EXAMPLE: &str = "keys are renewed";

#[test]
fn whatever_is_repeated() {
    let bounds = Bounds { replays: 2, ..QUIET };
    assert_eq!(violated(Rules::Document, bounds), [""; 0]);
}

#[test]
fn while_keys_are_renewed() {
    let bounds = Bounds { replays: 1, rekeyings: 1, drops: 1, ..QUIET };
    assert_eq!(violated(Rules::Document, bounds), [""; 0]);
}

#[test]
fn while_the_responder_restarts_and_the_initiator_moves() {
    let bounds = Bounds { replays: 1, restarts: 1, moves: 1, ..QUIET };
    assert_eq!(violated(Rules::Document, bounds), [""; 0]);
}

#[test]
fn without_an_attacker_whatever_is_lost() {
    let bounds = Bounds { drops: 2, rekeyings: 1, erasures: 1, early_timers: 1, ..QUIET };
    assert_eq!(violated(Rules::Document, bounds), [""; 0]);
}

/// Keys are renewed in some of these runs, so that the others say something about it.
#[test]
fn keys_are_renewed_sometimes() {
    let bounds = Bounds { rekeyings: 1, ..QUIET };
    let checker = Handshake { rules: Rules::Document, bounds }.checker().spawn_bfs().join();
    assert!(checker.discovery(EXAMPLE).is_some());
}

/// As many recorded initiations as there are places for unconfirmed keys displace those of the
/// genuine handshake.
#[test]
fn the_admission_of_version_1_is_found_wanting() {
    let bounds = Bounds { replays: 2, ..QUIET };
    let violated = violated(Rules::OldestGoes(2), bounds);
    assert!(violated.contains(&"a recorded handshake changes nothing"), "{violated:?}");
}

#[test]
fn an_address_that_is_followed_without_proof_is_found() {
    let bounds = Bounds { replays: 1, ..QUIET };
    let violated = violated(Rules::FollowUnproved, bounds);
    assert!(violated.contains(&"an unproved address never displaces a proved one"), "{violated:?}");
}

#[test]
fn a_copy_that_gets_keys_of_its_own_is_found() {
    let bounds = Bounds { replays: 1, ..QUIET };
    let violated = violated(Rules::AnswerCopiesAnew, bounds);
    assert!(violated.contains(&"sessions are unique"), "{violated:?}");
}

#[test]
fn a_responder_that_leaves_the_initiator_in_the_dark_is_found() {
    assert_eq!(violated(Rules::SilentUnderLoad, QUIET), [RECOVERY]);
}
