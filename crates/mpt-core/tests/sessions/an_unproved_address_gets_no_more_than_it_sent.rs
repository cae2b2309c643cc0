//! An address that has not answered a challenge gets no more bytes than came from it, whether an attacker on the path moves genuine frames there or a
//! peer sends from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::session::Event;
use mpt_wire::control::hello::Kind;
use mpt_wire::control::{
    ArrivedEntry, Economy, Full, Message, MissingEntry, Offsets, PathEntry, PathState, Reason,
    ReceivedEntry, ReportEntry, SentEntry, Stamp, Symbol, Writer,
};
use mpt_wire::gre;

use super::network::mix;
use super::raw::*;

const HOME: &str = "10.0.0.1:4754";

/// Bytes from and to each address.
#[derive(Default)]
struct Ledger(BTreeMap<SocketAddr, (usize, usize)>);

impl Ledger {
    fn received(&mut self, from: SocketAddr, frame: &[u8]) {
        self.0.entry(from).or_default().0 += frame.len();
    }

    fn sent(&mut self, frames: &[(SocketAddr, Vec<u8>)]) {
        for (to, frame) in frames {
            self.0.entry(*to).or_default().1 += frame.len();
        }
    }

    /// Nothing more was sent than came, but to the addresses that were proved.
    fn assert_balanced(&self, proved: &[SocketAddr], what: &str) {
        for (address, (received, sent)) in &self.0 {
            assert!(
                sent <= received || proved.contains(address),
                "{sent} bytes to {address} for {received}, {what}"
            );
        }
    }
}

fn request(id: u32, offset: u32) -> Message<'static> {
    Message::Request { id, offset, body: b"show" }
}

/// The first part of a result comes as soon as the address has echoed a token, without another
/// request.
#[test]
fn a_result_follows_the_echo() {
    let mut server = Server::new(1);
    let mut peer = Raw::connect(&mut server, 1, Kind::Steering, "a", HOME);
    let asked = peer.send(&mut server, &[request(1, 0)]);
    let token = peer.challenge(&asked);
    let (session, id, _) = server.next_request().expect("it is worked on");
    let early = server.answer(session, id, vec![7; 3000]);
    assert_eq!(early.len(), 0, "nobody has answered from there");
    let proved = peer.send(&mut server, &[Message::Echo { token }]);
    let total: usize = proved.iter().map(|(_, frame)| frame.len()).sum();
    assert!(total > 1024, "{total} bytes");
    // From now on each request is answered at once.
    let again = peer.send(&mut server, &[request(1, 1024)]);
    assert!(again.iter().any(|(to, frame)| *to == peer.address && frame.len() > 1024));
}

/// A short result needs no challenge: it is no longer than what was asked.
#[test]
fn a_short_result_comes_at_once() {
    let mut server = Server::new(1);
    let mut peer = Raw::connect(&mut server, 1, Kind::Connection, "a", HOME);
    let body = [b'x'; 500];
    peer.send(&mut server, &[Message::Request { id: 1, offset: 0, body: &body }]);
    let (session, id, _) = server.next_request().expect("it is worked on");
    let sent = server.answer(session, id, vec![7; 300]);
    assert_eq!(sent.len(), 1);
}

/// The attacker keeps a request from arriving and sends it on from the address of a victim; or the
/// peer forges its own.
#[test]
fn a_request_from_elsewhere_is_answered_where_the_peer_was_proved() {
    for kind in [Kind::Steering, Kind::Connection] {
        let mut server = Server::new(1);
        let mut peer = Raw::connect(&mut server, 1, kind, "a", HOME);
        let asked = peer.send(&mut server, &[request(1, 0)]);
        let token = peer.challenge(&asked);
        peer.send(&mut server, &[Message::Echo { token }]);
        let (session, id, _) = server.next_request().expect("it is worked on");
        server.answer(session, id, vec![7; 100_000]);
        let victim: SocketAddr = "203.0.113.7:9".parse().unwrap();
        let mut ledger = Ledger::default();
        for n in 0..90 {
            let frame = peer.frame(&[request(1, n * 1024)]);
            ledger.received(victim, &frame);
            ledger.sent(&server.handle(victim, &frame));
            ledger.sent(&server.wait(Duration::from_millis(20)));
            ledger.assert_balanced(&[peer.address], &format!("request {n}"));
        }
        let home = ledger.0.get(&peer.address).map_or(0, |(_, sent)| *sent);
        assert!(home > 90 * 1024, "the peer got its result: {home} bytes");
    }
}

/// Any messages, from any address, at any time: before and while the session has a connection whose
/// paths are learnt.
#[test]
fn whatever_is_sent_from_wherever() {
    for seed in 0..300 {
        let mut draw = Draw(seed);
        let mut server = Server::new(1);
        let kind = if draw.next(3) == 0 { Kind::Steering } else { Kind::Connection };
        let mut peer = Raw::connect(&mut server, 1, kind, "a", HOME);
        let home = peer.address;
        let victims: Vec<SocketAddr> =
            (0..3).map(|n| format!("203.0.113.{n}:9").parse().unwrap()).collect();
        let mut ledger = Ledger::default();
        let mut tokens = Vec::new();
        // Whether home answers challenges.
        let answers = draw.next(2) == 0;
        let proved: &[SocketAddr] = if answers { &[home] } else { &[] };
        ledger.received(home, &[0; 272 - 140]);
        for step in 0..400 {
            let from = match draw.next(3) {
                0 => home,
                _ => victims[draw.next(3) as usize],
            };
            let mut sent = if draw.next(4) == 0 {
                let datagram = data(&mut draw, step);
                ledger.received(from, &datagram);
                server.handle_data(from, &datagram)
            } else {
                let frame = frame(&mut draw, &mut peer, &mut tokens);
                ledger.received(from, &frame);
                server.handle(from, &frame)
            };
            sent.extend(server.wait(Duration::from_millis(draw.next(60))));
            while let Some(event) = server.next_event() {
                match event {
                    Event::Request { session, id, .. } if draw.next(4) > 0 => {
                        let len = draw.next(20_000) as usize;
                        sent.extend(server.answer(session, id, vec![7; len]));
                    }
                    Event::Request { session, .. } if kind == Kind::Connection => {
                        server.attach(session, 2);
                        sent.extend(server.wait(Duration::from_millis(1)));
                    }
                    _ => {}
                }
            }
            ledger.sent(&sent);
            ledger.assert_balanced(proved, &format!("seed {seed}, step {step}"));
            if answers {
                tokens.extend(peer.tokens(&sent));
            }
        }
    }
}

/// Random numbers.
struct Draw(u64);

impl Draw {
    fn next(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0, 1);
        self.0 % bound
    }
}

fn clock(draw: &mut Draw, writer: &mut Writer<'_>) -> Result<(), Full> {
    writer.push(&Message::Clock { id: 1, time: draw.next(1 << 30) as u32 })
}

fn ranges(draw: &mut Draw) -> Vec<MissingEntry> {
    let range = |draw: &mut Draw| MissingEntry {
        first: draw.next(300) as u32,
        count: draw.next(20) as u16,
    };
    (0..draw.next(9)).map(|_| range(draw)).collect()
}

/// A packet of data from a path of the connection that the daemon has made.
fn data(draw: &mut Draw, number: u32) -> Vec<u8> {
    let header = gre::Repr {
        protocol: gre::Protocol::IPV4,
        checksum: false,
        key: Some(1),
        sequence: Some(number),
    };
    let mut datagram = vec![0; header.header_len()];
    header.emit(&mut datagram);
    let len = 20 + draw.next(100) as u8;
    datagram.extend([0x45, 0, 0, len, 0, 0, 0x40, 0, 64, 17, 0, 0, 172, 3, 233, 1, 172, 31, 0, 1]);
    datagram.resize(datagram.len() + usize::from(len) - 20, 7);
    datagram
}

/// A frame with up to three messages of any kind; `tokens`: those that home is to echo.
fn frame(draw: &mut Draw, peer: &mut Raw, tokens: &mut Vec<u64>) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut writer = Writer::new(&mut payload, 1100);
    let path_id = 1 + draw.next(3) as u16;
    for _ in 0..1 + draw.next(3) {
        let _ = match draw.next(19) {
            0 => writer.push(&Message::Probe { token: draw.next(u64::MAX) }),
            1 => match tokens.pop() {
                Some(token) => writer.push(&Message::Echo { token }),
                None => Ok(()),
            },
            2 => {
                let frames = draw.next(1000) as u32;
                let entry = ReportEntry { path_id, frames, sent: 1, received: 1 };
                writer.push_report([entry].into_iter())
            }
            3 => {
                let state = PathState(draw.next(6) as u8);
                let (wish, economy) = (draw.next(9) as u16, Economy(draw.next(4) as u8));
                let entry = PathEntry { path_id, weight: 1, wish, state, economy };
                let (generation, epoch) = (draw.next(2000) as u32, 1 + draw.next(3) as u32);
                writer.push_paths(generation, epoch, 0, [entry].into_iter())
            }
            4 => writer.push(&Message::PathsAck { generation: draw.next(20) as u32 }),
            5 | 6 => {
                let (id, offset) = (draw.next(30) as u32, draw.next(4) as u32 * 1024);
                let body = vec![b'x'; draw.next(300) as usize];
                writer.push(&Message::Request { id, offset, body: &body })
            }
            7 => writer.push(&Message::Result { id: 1, offset: 0, total: 1, chunk: b"x" }),
            8 => clock(draw, &mut writer),
            // Reports about data, and requests for them. A report begins with a clock.
            9 => clock(draw, &mut writer).and_then(|()| {
                let stamp = |draw: &mut Draw| {
                    let (number, time) = (draw.next(300) as u32, draw.next(1 << 30) as u32);
                    Stamp { number, time, waited: 0 }
                };
                let stamps: Vec<_> = (0..draw.next(9)).map(|_| stamp(draw)).collect();
                writer.push_departed(draw.next(60) as u16, stamps.into_iter())
            }),
            10 => {
                let (last, packets) = (draw.next(300) as u32, draw.next(300) as u32);
                writer.push_sent_up_to([SentEntry { path_id, last, packets }].into_iter())
            }
            11 => clock(draw, &mut writer).and_then(|()| {
                let entry = ArrivedEntry { path_id, number: draw.next(300) as u32, time: 1 };
                writer.push_arrived(draw.next(1 << 30) as u32, [entry].into_iter())
            }),
            12 => {
                let [packets, bytes, highest] = [300, 90_000, 300].map(|it| draw.next(it) as u32);
                let (settled, settled_packets, marked) = (highest, packets, 0);
                let entry = ReceivedEntry {
                    path_id,
                    packets,
                    bytes,
                    highest,
                    marked,
                    settled,
                    settled_packets,
                };
                writer.push_received([entry].into_iter())
            }
            13 if draw.next(2) == 0 => writer.push_missing_map(ranges(draw).into_iter()),
            13 => writer.push_missing(ranges(draw).into_iter()),
            14 => writer.push(&Message::Kept { from: draw.next(300) as u32, loss: 1 }),
            15 => writer.push_refused(ranges(draw).into_iter()),
            16 => writer.push(&Message::Survey { probes: draw.next(500) as u16 }),
            17 => {
                let numbers = draw.next(300) as u32..;
                let (first, offsets) = Offsets::of(numbers.take(4)).expect("they are close");
                writer.push(&Message::Symbol(Symbol::new(first, &offsets, (2, 2), b"parity")))
            }
            18 => writer.push(&Message::Came { token: draw.next(3), time: draw.next(300) as u32 }),
            _ if draw.next(40) == 0 => writer.push(&Message::Goodbye { reason: Reason(3) }),
            _ => writer.pad_to(draw.next(1000) as usize),
        };
    }
    peer.seal_on(path_id, &payload)
}
