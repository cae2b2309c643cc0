//! A host that no list has opens a session of kind joining, if it has a token and as long as that is good. Nobody else gets a request
//! through, and what was recorded changes nothing.

use std::time::Duration;

use mpt_core::session::{CloseReason, Event, Initiation, JoinToken, MAX_JOINING, Random};
use mpt_wire::control::Message;
use mpt_wire::control::hello::{Capabilities, Hello, Kind, Name};

use super::hub::key;
use super::raw::{Raw, Server};

const HERE: &str = "192.0.2.7:4754";

fn token(byte: u8) -> JoinToken {
    JoinToken::from_secret(&[byte; 16])
}

/// A daemon that knows no peer, with these tokens.
fn server(tokens: &[u8]) -> Server {
    let mut server = Server::new(0);
    let now = server.now;
    server.node.set_join_tokens(now, tokens.iter().copied().map(token).collect());
    server
}

fn join(server: &mut Server, node: usize, token: &JoinToken) -> Option<Raw> {
    Raw::try_connect(server, node, Some(token.psk()), Kind::Joining, token.id(), HERE)
}

const REQUEST: Message<'static> = Message::Request { id: 5, offset: 0, body: b"join" };

fn sessions(server: &Server) -> usize {
    server.node.sessions().sessions().count()
}

#[test]
fn its_request_arrives_under_its_key() {
    let mut server = server(&[1, 2]);
    let mut host = join(&mut server, 7, &token(2)).expect("the token is good");
    let sent = host.send(&mut server, &[REQUEST]);
    // Its address has to be proved before it gets more bytes than it sent.
    let echo = Message::Echo { token: host.challenge(&sent) };
    host.send(&mut server, &[echo]);
    let Some(Event::Established { peer, name, kind, .. }) = server.next_event() else {
        panic!("it is established")
    };
    assert_eq!((peer, name.as_str(), kind), (key(7).public(), token(2).id(), Kind::Joining));
    let (session, id, body) = server.next_request().expect("it has asked");
    assert_eq!((id, &body[..]), (5, &b"join"[..]));
    let answer = server.answer(session, id, b"ok".to_vec());
    assert!(answer.iter().any(|(_, frame)| host.open(frame).is_some()));
}

#[test]
fn without_a_token_there_is_silence() {
    for outstanding in [&[][..], &[1]] {
        let mut server = server(outstanding);
        assert!(join(&mut server, 7, &token(2)).is_none());
        assert_eq!(server.node.sessions().counters().unknown_peer, 1);
        assert_eq!(sessions(&server), 0);
    }
}

/// A host that knows the name of a token, but not its secret, gets an answer that it cannot open, and nothing else.
#[test]
fn the_name_of_a_token_is_not_enough() {
    let mut server = server(&[1]);
    let (right, wrong) = (token(1), token(2));
    let host = Raw::try_connect(&mut server, 7, Some(wrong.psk()), Kind::Joining, right.id(), HERE);
    assert!(host.is_none());
    assert!(server.next_event().is_none());
    server.wait(Duration::from_secs(11));
    assert_eq!(sessions(&server), 0);
    assert!(server.next_event().is_none());
}

/// A token opens no session of another kind, and a peer needs a token for this one.
#[test]
fn a_token_is_good_for_nothing_else() {
    let mut server = server(&[1]);
    let token = token(1);
    for kind in [Kind::Connection, Kind::Steering] {
        assert!(
            Raw::try_connect(&mut server, 7, Some(token.psk()), kind, token.id(), HERE).is_none()
        );
    }
    let mut known = Server::new(1);
    assert!(Raw::try_connect(&mut known, 1, None, Kind::Joining, "", HERE).is_none());
}

#[test]
fn a_token_that_is_taken_back_ends_its_sessions() {
    let mut server = server(&[1, 2]);
    let mut first = join(&mut server, 7, &token(1)).unwrap();
    let mut second = join(&mut server, 8, &token(2)).unwrap();
    first.send(&mut server, &[REQUEST]);
    second.send(&mut server, &[REQUEST]);
    while server.next_event().is_some() {}
    let now = server.now;
    server.node.set_join_tokens(now, vec![token(2)]);
    let closed = std::iter::from_fn(|| server.next_event());
    let closed: Vec<_> = closed
        .filter(|it| matches!(it, Event::Closed { reason: CloseReason::Revoked, .. }))
        .collect();
    assert_eq!(closed.len(), 1);
    assert_eq!(sessions(&server), 1);
    assert!(join(&mut server, 9, &token(1)).is_none());
    assert!(join(&mut server, 9, &token(2)).is_some());
}

/// New peers of the configuration end no session in which a host joins.
#[test]
fn it_outlasts_a_change_of_the_peers() {
    let mut server = server(&[1]);
    let mut host = join(&mut server, 7, &token(1)).unwrap();
    host.send(&mut server, &[REQUEST]);
    let now = server.now;
    server.node.set_peers(now, Vec::new());
    assert_eq!(sessions(&server), 1);
    assert!(server.next_request().is_some());
}

#[test]
fn it_is_over_after_ten_seconds() {
    let mut server = server(&[1]);
    let mut host = join(&mut server, 7, &token(1)).unwrap();
    host.send(&mut server, &[REQUEST]);
    server.wait(Duration::from_secs(9));
    assert_eq!(sessions(&server), 1);
    server.wait(Duration::from_secs(2));
    assert_eq!(sessions(&server), 0);
}

#[test]
fn a_token_has_only_so_many_sessions() {
    let mut server = server(&[1]);
    for node in 0..MAX_JOINING {
        let mut host = join(&mut server, 10 + node, &token(1)).expect("there is room");
        host.send(&mut server, &[REQUEST]);
    }
    assert!(join(&mut server, 20, &token(1)).is_none());
    assert_eq!(sessions(&server), MAX_JOINING);
    server.wait(Duration::from_secs(11));
    assert!(join(&mut server, 20, &token(1)).is_some());
}

/// Recorded initiations, repeated for as long as one likes, lead to no event, keep the owner of the token out for no round trip more than
/// a challenge takes, and are dropped once the token is gone.
#[test]
fn a_recorded_initiation_changes_nothing() {
    let mut server = server(&[1]);
    let (token, mut random) = (token(1), Random::new([5; 32]));
    let recorded: Vec<_> = (0..20)
        .map(|node| {
            let hello = Hello {
                kind: Kind::Joining,
                key: None,
                capabilities: Capabilities::new(),
                name: Name::new(token.id()).unwrap(),
                challenge: None,
                sealing: None,
            };
            let (own, peer, index) = (key(30 + node), key(0).public(), random.u32());
            let psk = Some(token.psk());
            Initiation::new(&own, &peer, psk, index, &hello, &mut random).unwrap().frame(1, None)
        })
        .collect();
    for frame in &recorded {
        server.handle("198.51.100.9:1".parse().unwrap(), frame);
    }
    assert!(sessions(&server) <= MAX_JOINING);
    assert!(server.next_event().is_none());
    let mut host = join(&mut server, 7, &token).expect("it shows a challenge");
    host.send(&mut server, &[REQUEST]);
    assert!(server.next_request().is_some());
    let now = server.now;
    server.node.set_join_tokens(now, Vec::new());
    let before = server.node.sessions().counters().unknown_peer;
    for frame in &recorded {
        assert!(server.handle("198.51.100.9:1".parse().unwrap(), frame).is_empty());
    }
    assert!(server.node.sessions().counters().unknown_peer > before);
    server.wait(Duration::from_secs(11));
    assert_eq!(sessions(&server), 0);
}
