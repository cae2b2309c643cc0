//! A peer with a valid key asks as fast as it can: what that takes of memory and of the owner's time
//! is bounded, and others are served in their turn.

use std::time::Duration;

use mpt_core::SocketId;
use mpt_core::session::requests::RESULTS;
use mpt_core::session::{Event, MAX_HANDED, REQUEST_BURST, REQUESTS_PER_SECOND};
use mpt_wire::control::hello::Kind;
use mpt_wire::control::{Message, Reason};

use super::frames;
use super::raw::*;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn request(id: u32) -> Message<'static> {
    Message::Request { id, offset: 0, body: b"do" }
}

/// Ids far apart, so that each would push the one before out of what the responder remembers; and
/// ids in a row.
#[test]
fn no_more_than_eight_requests_are_unfinished_whatever_the_ids() {
    for step in [1, 9, 1000, 100_000] {
        let mut server = Server::new(1);
        let mut peer = Raw::connect(&mut server, 1, Kind::Connection, "a", "10.0.0.1:4754");
        let mut events = 0;
        for n in 0..8_000_u32 {
            server.now += SECOND / 40_000;
            peer.send(&mut server, &[request(n.wrapping_mul(step))]);
            if n % 100 == 99 {
                while server.next_request().is_some() {
                    events += 1;
                }
            }
        }
        assert!(events > 0 && events <= RESULTS, "{events} requests to work on, step {step}");
    }
}

/// Nobody fetches what has happened: what waits does not grow with the number of sessions, either.
#[test]
fn what_waits_for_the_owner_is_bounded() {
    let mut server = Server::new(1);
    let mut peers: Vec<_> = (0..SESSIONS)
        .map(|n| Raw::connect(&mut server, 1, Kind::Connection, &format!("{n}"), "10.0.0.1:4754"))
        .collect();
    for n in 0..4_000_u32 {
        server.now += SECOND / 10_000;
        for peer in &mut peers {
            peer.send(&mut server, &[request(9 * n)]);
        }
    }
    let mut waiting = 0;
    while server.next_event().is_some() {
        waiting += 1;
    }
    assert!(waiting <= SESSIONS + MAX_HANDED, "{waiting} events");
}

/// Nobody sends what is to be sent: that does not grow with what comes, either.
#[test]
fn what_waits_to_be_sent_is_bounded() {
    let mut server = Server::new(1);
    let mut peer = Raw::connect(&mut server, 1, Kind::Steering, "a", "10.0.0.1:4754");
    peer.prove(&mut server);
    for token in 0..20_000 {
        let frame = peer.frame(&[Message::Probe { token }]);
        frames::receive(&mut server.node, server.now, SocketId(0), peer.address, &frame);
    }
    let waiting = std::iter::from_fn(|| server.node.poll_transmit()).count();
    assert_eq!(waiting, 8192);
    assert_eq!(server.node.sessions().counters().not_sent, 20_000 - 8192);
}

/// 40,000 requests a second of one peer, and an owner that works on one each millisecond: one that
/// asks now and then gets its answer at once.
#[test]
fn a_flood_does_not_keep_others_from_their_turn() {
    let mut server = Server::new(2);
    let mut flood: Vec<_> = (0..SESSIONS)
        .map(|n| Raw::connect(&mut server, 1, Kind::Connection, &format!("{n}"), "10.0.0.1:4754"))
        .collect();
    let mut victim = Raw::connect(&mut server, 2, Kind::Connection, "b", "10.0.0.2:4754");
    victim.send(&mut server, &[]);
    let mut asked = None;
    let (mut worst, mut answered, mut id) = (Duration::ZERO, 0, 7);
    for n in 0..2_000_u32 {
        server.now += MILLISECOND;
        for k in 0..10 {
            for peer in &mut flood {
                peer.send(&mut server, &[request(n * 90 + 9 * k)]);
            }
        }
        if n % 50 == 25 {
            assert_eq!(asked, None, "the answer before has come");
            id += 1;
            asked = Some(server.now);
            victim.send(&mut server, &[Message::Request { id, offset: 0, body: b"victim" }]);
        }
        if let Some((session, id, body)) = server.next_request() {
            server.answer(session, id, b"done".to_vec());
            if body == b"victim" {
                worst = worst.max(server.now - asked.take().unwrap());
                answered += 1;
            }
        }
    }
    assert_eq!(answered, 40);
    assert!(worst <= 10 * MILLISECOND, "{worst:?}");
}

/// More sessions are not more requests.
#[test]
fn all_sessions_of_a_key_share_one_rate() {
    let mut server = Server::new(1);
    let mut peers: Vec<_> = (0..SESSIONS)
        .map(|n| Raw::connect(&mut server, 1, Kind::Connection, &format!("{n}"), "10.0.0.1:4754"))
        .collect();
    let mut served = 0;
    for n in 0..10_000_u32 {
        server.now += MILLISECOND;
        for peer in &mut peers {
            peer.send(&mut server, &[request(n)]);
        }
        while let Some((session, id, _)) = server.next_request() {
            server.answer(session, id, Vec::new());
            served += 1;
        }
    }
    let allowed = REQUEST_BURST + 10 * REQUESTS_PER_SECOND;
    assert!(served <= allowed && served >= allowed * 9 / 10, "{served} of {allowed}");
    let refused: u64 = server.node.take_refused(server.now).iter().map(|(_, n)| *n).sum();
    let counters = server.node.sessions().counters();
    assert!(counters.requests_rate_limited > 0);
    assert_eq!(refused, counters.requests_rate_limited + counters.requests_unfinished);
}

/// A short request for a part of a long result, again and again.
#[test]
fn parts_of_results_have_a_rate() {
    let mut server = Server::new(1);
    let mut peer = Raw::connect(&mut server, 1, Kind::Steering, "a", "10.0.0.1:4754");
    peer.prove(&mut server);
    peer.send(&mut server, &[request(1)]);
    let (session, id, _) = server.next_request().expect("it is to be worked on");
    server.answer(session, id, vec![7; 100_000]);
    let mut bytes = 0;
    for n in 0..50_000_u32 {
        server.now += SECOND / 5_000;
        let part = Message::Request { id: 1, offset: n % 90 * 1024, body: b"" };
        let sent = peer.send(&mut server, &[part]);
        bytes += sent.iter().map(|(_, frame)| frame.len()).sum::<usize>();
    }
    assert!(bytes < 30_000_000, "{bytes} bytes in 10 s");
    assert!(bytes > 10_000_000, "an honest one is not slowed down: {bytes} bytes");
}

/// Sessions that come and go while nobody looks leave nothing behind.
#[test]
fn coming_and_going_leaves_no_events_behind() {
    let mut server = Server::new(1);
    for _ in 0..2000 {
        server.wait(Duration::from_millis(25));
        let mut peer = Raw::connect(&mut server, 1, Kind::Connection, "a", "10.0.0.1:4754");
        peer.send(&mut server, &[request(1)]);
        peer.send(&mut server, &[Message::Goodbye { reason: Reason::SHUTTING_DOWN }]);
    }
    let mut events = Vec::new();
    while let Some(event) = server.next_event() {
        events.push(event);
    }
    assert!(events.len() <= 16, "{} events, the last one is {:?}", events.len(), events.last());
    assert!(!events.iter().any(|event| matches!(event, Event::Request { .. })));
}
