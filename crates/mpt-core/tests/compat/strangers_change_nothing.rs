use std::net::{IpAddr, SocketAddr};

use mpt_core::SocketId;
use mpt_core::compat::{Authentication, Counters, Key};
use mpt_wire::compat::command::{self, Authentication as Proof, Code, Header, PathStatus, Round};

use crate::harness::{COMMAND_PORT, End, FIRST, SECOND, address, config, start};

/// Returns the answers of an end to these messages, and whether its first path is still up afterwards.
fn after(
    authentication: &Authentication,
    messages: &[(SocketAddr, Vec<u8>)],
) -> (usize, bool, Counters, Counters) {
    let now = start();
    let mut end = End::new(now, config(3, authentication));
    end.compat.handle_timeout(now);
    end.take();
    for (source, bytes) in messages {
        end.compat.handle_command(now, SocketId(0), *source, bytes);
    }
    let answers = end.take().len();
    (answers, end.is_up(FIRST), end.counters(now), *end.compat.counters())
}

fn peer() -> SocketAddr {
    (address(2, SECOND), COMMAND_PORT).into()
}

fn header(round: Round, authentication: Proof) -> Header {
    let tunnel = |end: &str| end.parse::<IpAddr>().unwrap();
    Header {
        code: Code::PathStatus,
        argument: 0x80,
        authentication,
        round,
        initiator: tunnel("10.0.0.2"),
        responder: tunnel("10.0.0.3"),
    }
}

fn message(header: &Header) -> Vec<u8> {
    let (public, remote) = (address(2, FIRST), address(3, FIRST));
    let payload = match header.round {
        Round::One | Round::Two => command::announced(command::PATH_STATUS_LEN).to_vec(),
        _ => PathStatus { public, remote }.emit().to_vec(),
    };
    let mut bytes = Vec::new();
    header.emit(&payload, &mut bytes);
    bytes
}

fn plain(round: Round) -> Vec<u8> {
    message(&header(round, Proof::None))
}

/// So that the tests below prove something.
#[test]
fn the_peer_changes_something() {
    let messages = [(peer(), plain(Round::One)), (peer(), plain(Round::Three))];
    let (answers, up, counters, _) = after(&Authentication::None, &messages);
    assert_eq!((answers, up, counters.commands_executed), (2, false, 1));
}

/// The prototype executes any round but 1, 3 among them without 1 before it.
#[test]
fn rounds_are_strict() {
    let (answers, up, counters, _) = after(&Authentication::None, &[(peer(), plain(Round::Three))]);
    assert_eq!((answers, up, counters.no_exchange), (0, true, 1));

    for round in [0, 5, 9, 0xff] {
        let mut bytes = plain(Round::Three);
        bytes[4] = round;
        let messages = [(peer(), plain(Round::One)), (peer(), bytes)];
        let (answers, up, _, strays) = after(&Authentication::None, &messages);
        assert_eq!((answers, up, strays.wrong_round), (1, true, 1));
    }
    // Answers to what was never asked.
    for round in [Round::Two, Round::Four] {
        let mut header = header(round, Proof::None);
        std::mem::swap(&mut header.initiator, &mut header.responder);
        let (answers, up, counters, _) =
            after(&Authentication::None, &[(peer(), message(&header))]);
        assert_eq!((answers, up, counters.wrong_round), (0, true, 1));
    }
}

/// The prototype does not look where a command comes from.
#[test]
fn sources_are_checked() {
    let stranger: SocketAddr = "192.0.2.1:60456".parse().unwrap();
    let messages = [(stranger, plain(Round::One)), (stranger, plain(Round::Three))];
    let (answers, up, counters, _) = after(&Authentication::None, &messages);
    assert_eq!((answers, up, counters.wrong_source), (0, true, 2));

    // The address that began an exchange has to finish it.
    let other: SocketAddr = (address(2, FIRST), COMMAND_PORT).into();
    let messages = [(peer(), plain(Round::One)), (other, plain(Round::Three))];
    let (answers, up, counters, _) = after(&Authentication::None, &messages);
    assert_eq!((answers, up, counters.no_exchange), (1, true, 1));
}

#[test]
fn a_command_says_the_same_in_both_rounds() {
    let mut changed = header(Round::Three, Proof::None);
    changed.argument = 0;
    let messages = [(peer(), plain(Round::One)), (peer(), message(&changed))];
    let (answers, up, counters, _) = after(&Authentication::None, &messages);
    assert_eq!((answers, up, counters.no_exchange), (1, true, 1));
}

/// The prototype stores whatever status it is given.
#[test]
fn a_status_is_up_or_down() {
    for argument in [0x01, 0x7f, 0x81, 0x83, 0xff] {
        let messages = [Round::One, Round::Three]
            .map(|round| (peer(), message(&Header { argument, ..header(round, Proof::None) })));
        let (answers, up, counters, _) = after(&Authentication::None, &messages);
        assert_eq!((answers, up, counters.wrong_argument), (0, true, 2));
    }
}

#[test]
fn a_nonce_cannot_be_guessed() {
    let nonces = [0, 1, 0xffff_ffff].map(Proof::Nonce);
    let first = (peer(), message(&header(Round::One, Proof::Nonce(0))));
    let guesses = nonces.map(|nonce| (peer(), message(&header(Round::Three, nonce))));
    let messages: Vec<_> = std::iter::once(first).chain(guesses).collect();
    let (answers, up, counters, _) = after(&Authentication::Nonce, &messages);
    assert_eq!((answers, up, counters.wrong_nonce), (1, true, 3));
}

/// Without the key, and with less authentication than was agreed on.
#[test]
fn a_digest_cannot_be_left_out() {
    let key = Authentication::Digest(Key::from_text("secret").unwrap());
    let digest = Proof::Digest { nonce: 0, digest: [7; 32] };
    let (answers, up, counters, _) = after(&key, &[(peer(), message(&header(Round::One, digest)))]);
    assert_eq!((answers, up, counters.wrong_digest), (0, true, 1));

    for proof in [Proof::None, Proof::Nonce(0)] {
        let messages =
            [Round::One, Round::Three].map(|round| (peer(), message(&header(round, proof))));
        let (answers, up, counters, _) = after(&key, &messages);
        assert_eq!((answers, up, counters.authentication_type), (0, true, 2));
    }
}

/// A creation carries a text that the prototype hands to a shell: here nothing of it is read.
#[test]
fn a_creation_is_not_taken() {
    let header = Header { code: Code::Create, argument: 0, ..header(Round::One, Proof::None) };
    let (answers, up, counters, _) = after(&Authentication::None, &[(peer(), message(&header))]);
    assert_eq!((answers, up, counters.unknown_code), (0, true, 1));
}

#[test]
fn an_unknown_pair_of_tunnel_addresses_is_counted() {
    let header =
        Header { initiator: "10.0.0.9".parse().unwrap(), ..header(Round::One, Proof::None) };
    let (answers, up, _, strays) = after(&Authentication::None, &[(peer(), message(&header))]);
    assert_eq!((answers, up, strays.unknown_connection), (0, true, 1));
}

/// It is answered as the prototype does, and changes nothing.
#[test]
fn a_path_that_is_not_there_is_counted() {
    let mut third = plain(Round::Three);
    let last = third.len() - 1;
    third[last] = 99;
    let messages = [(peer(), plain(Round::One)), (peer(), third)];
    let (answers, up, counters, _) = after(&Authentication::None, &messages);
    assert_eq!((answers, up, counters.unknown_path), (2, true, 1));
}
