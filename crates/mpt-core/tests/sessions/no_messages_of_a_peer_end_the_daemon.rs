//! A peer with a valid key says anything, at any time, about a connection that carries data both ways: nothing of it ends the daemon, and a peer that says
//! what is true is served afterwards.

use std::time::{Duration, Instant};

use mpt_core::session::Event;
use mpt_core::{DeviceId, InnerPacket, Mapping};
use mpt_wire::control::hello::Kind;
use mpt_wire::control::{
    ArrivedEntry, Economy, Full, MAX_GROUP, Message, MissingEntry, Offsets, PathEntry, PathState,
    ReceivedEntry, ReportEntry, SentEntry, Stamp, Symbol, Writer,
};
use mpt_wire::gre;

use super::network::mix;
use super::raw::*;

const HOME: &str = "10.0.0.1:4754";
/// The longest time that a run may take. It takes a tenth of a second; what a peer could have the daemon do one by one, 2^31 times, takes longer.
const LONGEST: Duration = Duration::from_secs(20);
/// Steps of one run.
const STEPS: u32 = 600;

/// Random numbers.
struct Draw(u64);

impl Draw {
    fn next(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0, 1);
        self.0 % bound
    }

    /// A number near another one, or as far from it as can be, or any.
    fn wild(&mut self, near: u32) -> u32 {
        let small = self.next(40) as u32;
        match self.next(8) {
            0..3 => near.wrapping_add(small),
            3 => near.wrapping_sub(small),
            4 => near.wrapping_add(65_000 + 30 * small),
            5 => near.wrapping_add((1 << 31) - 20 + small),
            6 => [0, u32::MAX, 1 << 31][self.next(3) as usize],
            _ => self.next(1 << 32) as u32,
        }
    }

    fn wild_16(&mut self) -> u16 {
        let small = self.next(50) as u16;
        [small, u16::MAX - small, self.next(1 << 16) as u16][self.next(3) as usize]
    }

    fn some<T>(&mut self, most: u64, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.next(most)).map(|_| make(self)).collect()
    }
}

/// Appends a message of any kind with any content. `near`: numbers that mean something to the receiver.
fn push(draw: &mut Draw, near: u32, writer: &mut Writer<'_>) -> Result<(), Full> {
    let path_id = draw.next(4) as u16;
    match draw.next(18) {
        0 => {
            let entries = draw.some(5, |draw| ReportEntry {
                path_id: draw.next(4) as u16,
                frames: draw.wild(near),
                sent: draw.next(u64::MAX),
                received: draw.next(u64::MAX),
            });
            writer.push_report(entries.into_iter())
        }
        1 => {
            let entries = draw.some(5, |draw| PathEntry {
                path_id: draw.next(4) as u16,
                weight: draw.wild_16(),
                wish: draw.wild_16(),
                state: PathState(draw.next(8) as u8),
                economy: Economy(draw.next(256) as u8),
            });
            let (generation, epoch) = (draw.wild(near), draw.next(3) as u32);
            writer.push_paths(generation, epoch, draw.wild(near), entries.into_iter())
        }
        2 => writer.push(&Message::PathsAck { generation: draw.wild(1) }),
        3 => writer.push(&Message::Clock { id: draw.next(3) as u32, time: draw.wild(near) }),
        4 | 5 => {
            let stamp = |draw: &mut Draw| {
                let (number, time) = (draw.wild(near), draw.wild(near));
                Stamp { number, time, waited: draw.wild_16() }
            };
            let stamps = draw.some(60, stamp);
            writer.push_departed(draw.wild_16(), stamps.into_iter())
        }
        6 => {
            let entries = draw.some(5, |draw| SentEntry {
                path_id: draw.next(4) as u16,
                last: draw.wild(near),
                packets: draw.wild(near),
            });
            writer.push_sent_up_to(entries.into_iter())
        }
        7 | 8 => {
            let entries = draw.some(40, |draw| ArrivedEntry {
                path_id: draw.next(4) as u16,
                number: draw.wild(near),
                time: draw.wild(near),
            });
            writer.push_arrived(draw.wild(near), entries.into_iter())
        }
        9 | 10 => {
            let entries = draw.some(5, |draw| ReceivedEntry {
                path_id: draw.next(4) as u16,
                packets: draw.wild(near),
                bytes: draw.wild(near),
                highest: draw.wild(near),
                marked: draw.wild(near),
                settled: draw.wild(near),
                settled_packets: draw.wild(near),
            });
            writer.push_received(entries.into_iter())
        }
        11 => {
            let entries = ranges(draw, near);
            writer.push_missing(entries.into_iter())
        }
        12 => {
            let entries = ranges(draw, near);
            writer.push_missing_map(entries.into_iter())
        }
        13 => writer.push(&Message::Kept { from: draw.wild(near), loss: draw.wild_16() }),
        14 => {
            let entries = ranges(draw, near);
            writer.push_refused(entries.into_iter())
        }
        15 if draw.next(2) == 0 => writer.push(&Message::Survey { probes: draw.wild_16() }),
        15 => {
            let token = draw.next(u64::MAX);
            writer.push(&Message::Came { token, time: draw.wild(near) })
        }
        16 => {
            let count = 1 + draw.next(2 * MAX_GROUP as u64 - 1) as u8;
            let earlier = draw.next(count.min(MAX_GROUP as u8).into()) as u8;
            let (first, step) = (draw.wild(near), 1 + draw.next(3) as u32);
            let numbers = (0..u32::from(count)).map(|n| first.wrapping_add(n * step));
            let (first, offsets) = Offsets::of(numbers).expect("they are close");
            let parity = vec![draw.next(256) as u8; 1 + draw.next(300) as usize];
            writer.push(&Message::Symbol(Symbol::new(
                first,
                &offsets,
                (earlier, count - earlier),
                &parity,
            )))
        }
        _ => {
            let body = [b'x'; 20];
            let (id, offset) = (draw.wild(1), draw.wild(0));
            match draw.next(3) {
                0 => writer.push(&Message::Request { id, offset, body: &body }),
                1 => {
                    writer.push(&Message::Result { id, offset, total: draw.wild(9), chunk: &body })
                }
                _ => writer.push(&Message::Probe { token: u64::from(path_id) }),
            }
        }
    }
}

fn ranges(draw: &mut Draw, near: u32) -> Vec<MissingEntry> {
    draw.some(40, |draw| MissingEntry { first: draw.wild(near), count: draw.wild_16() })
}

/// Returns the honest messages of the peer: it answers probes, hears the daemon on its path, and asks to be heard.
fn honest(peer: &mut Raw, tokens: Vec<u64>, frames: &mut u32) -> Vec<u8> {
    *frames += 1;
    let mut messages: Vec<_> = tokens.into_iter().map(|token| Message::Echo { token }).collect();
    messages.truncate(60);
    messages.push(Message::Probe { token: u64::from(*frames) });
    let mut payload = Vec::new();
    let mut writer = Writer::new(&mut payload, 1100);
    messages.iter().for_each(|message| writer.push(message).expect("there is room"));
    let report = ReportEntry { path_id: 1, frames: *frames, sent: 0, received: 0 };
    writer.push_report([report].into_iter()).expect("there is room");
    let entry = PathEntry {
        path_id: 1,
        weight: 1,
        wish: 0,
        state: PathState::USABLE,
        economy: Economy::NONE,
    };
    writer.push_paths(*frames, 7, 0, [entry].into_iter()).expect("there is room");
    peer.seal(&payload)
}

/// An inner packet of so many bytes.
fn inner(len: u16, source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source);
    packet.extend(destination);
    packet.resize(len.into(), 7);
    packet
}

/// A packet of data from the peer.
fn data(number: u32, len: u16) -> Vec<u8> {
    let header = gre::Repr {
        protocol: gre::Protocol::IPV4,
        checksum: false,
        key: Some(1),
        sequence: Some(number),
    };
    let mut datagram = vec![0; header.header_len()];
    header.emit(&mut datagram);
    datagram.extend(inner(len, [172, 3, 233, 1], [172, 31, 0, 1]));
    datagram
}

#[expect(clippy::disallowed_methods, reason = "it is the time of the processor that is asked for")]
fn processor_time() -> Instant {
    Instant::now()
}

/// Returns how many packets were sent to the peer, and how many of its packets came in.
fn run(seed: u64, mapping: Mapping) -> (u64, u64) {
    eprintln!("seed {seed}, {mapping:?}");
    let start = processor_time();
    let mut draw = Draw(seed);
    let mut server = Server::new(1);
    server.mapping = mapping;
    let mut peer = Raw::connect(&mut server, 1, Kind::Connection, "a", HOME);
    let home = peer.address;
    let (mut frames, mut number, mut tokens, mut sent) = (0, 0_u32, Vec::new(), 0_u64);
    let asked = Message::Request { id: 1 << 20, offset: 0, body: b"create" };
    let mut answered = peer.send(&mut server, &[asked]);
    for step in 0..STEPS {
        tokens.extend(peer.tokens(&answered));
        while let Some(event) = server.next_event() {
            if let Event::Request { session, id, .. } = event {
                server.attach(session, 2);
                answered.extend(server.answer(session, id, vec![7; draw.next(3000) as usize]));
            }
        }
        answered.clear();
        // The connection comes up before anything untrue is said.
        let lies = step > 60 && draw.next(3) > 0;
        let near = if draw.next(2) == 0 { number } else { sent as u32 };
        if lies {
            let mut payload = Vec::new();
            let mut writer = Writer::new(&mut payload, 1170);
            for _ in 0..1 + draw.next(5) {
                // A message that does not fit is left out.
                let _ = push(&mut draw, near, &mut writer);
            }
            let frame = peer.seal_on(1 + (draw.next(8) / 7) as u16, &payload);
            answered.extend(server.handle(home, &frame));
        } else {
            let frame = honest(&mut peer, std::mem::take(&mut tokens), &mut frames);
            answered.extend(server.handle(home, &frame));
        }
        for _ in 0..draw.next(6) {
            number = match draw.next(30) {
                0 if lies => draw.wild(number),
                1 => number.wrapping_add(3),
                _ => number.wrapping_add(1),
            };
            let len = 40 + draw.next(1000) as u16;
            answered.extend(server.handle_data(home, &data(number, len)));
            let mut packet = inner(len, [172, 31, 0, 1], [172, 3, 233, 1]);
            let packet = InnerPacket::whole(&mut packet).expect("it is one");
            let (now, device) = (server.now, DeviceId(0));
            if let Ok(outgoing) = server.node.handle_inner(now, device, packet) {
                sent += outgoing.transmits.len() as u64;
            }
        }
        let now = server.now;
        while let Some(departure) = server.node.poll_departure(now) {
            sent += departure.outgoing.transmits.len() as u64;
        }
        let pause = match draw.next(200) {
            0 => 20_000,
            1 => 2_000,
            _ => draw.next(15),
        };
        answered.extend(server.wait(Duration::from_millis(pause)));
    }
    let took = processor_time() - start;
    assert!(took < LONGEST, "it takes {took:?}");
    let received = server.node.tunnels().paths().map(|(_, path)| path.received().packets).sum();
    (sent, received)
}

#[test]
fn whatever_it_says() {
    for mapping in [Mapping::Adaptive, Mapping::Packet, Mapping::Flow, Mapping::Duplicate] {
        let (mut sent, mut received) = (0, 0);
        let seeds = if mapping == Mapping::Adaptive { 60 } else { 10 };
        for seed in 0..seeds {
            let (out, back) = run(seed, mapping);
            sent += out;
            received += back;
        }
        eprintln!("{mapping:?}: {sent} packets sent, {received} received");
        // The connections carry data: what is said concerns something.
        assert!(sent > 100 * seeds && received > 100 * seeds, "{mapping:?}: {sent}, {received}");
    }
}
