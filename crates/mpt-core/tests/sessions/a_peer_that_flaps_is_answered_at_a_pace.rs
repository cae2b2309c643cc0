//! A peer says something else of its paths with each frame, so that what we say of ours changes as
//! often: our tables of paths, which go out on every path, have a rate, and the last one is right.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::liveness::State;
use mpt_core::session::announce::{TABLE_BURST, TABLES_PER_SECOND};
use mpt_core::session::{Event, SessionId};
use mpt_wire::control::hello::Kind;
use mpt_wire::control::{Economy, Message, PathEntry, PathState, Writer, messages};

use super::network::mix;
use super::raw::*;

const PATHS: u16 = 8;
/// Frames of the peer per millisecond.
const FRAMES: u64 = 5;
const TIME: Duration = Duration::from_secs(5);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A client with a connection of several paths, each from an address of its own, and all of them up.
struct Client {
    server: Server,
    raw: Raw,
    session: SessionId,
    /// The entries of its table of paths.
    entries: Vec<PathEntry>,
    generation: u32,
    /// Acknowledges our tables.
    acknowledges: bool,
    /// Frames that it sent, frames that it got, and those of them with nothing but our table.
    frames: [u64; 3],
    /// Bytes that it sent and that it got.
    bytes: [usize; 2],
    /// Our last table.
    table: Vec<PathEntry>,
}

fn address(path: u16) -> SocketAddr {
    format!("10.0.0.{path}:4754").parse().unwrap()
}

fn row(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut payload = Vec::new();
    write(&mut Writer::new(&mut payload, 1000));
    payload
}

impl Client {
    fn new(acknowledges: bool) -> Self {
        let mut server = Server::new(1);
        let mut raw = Raw::connect(&mut server, 1, Kind::Connection, "a", "10.0.0.1:4754");
        raw.send(&mut server, &[Message::Probe { token: 1 }]);
        let event = server.next_event();
        let Some(Event::Established { session, .. }) = event else { panic!("{event:?}") };
        server.attach(session, PATHS);
        let state = PathState::USABLE;
        let entry =
            |path_id| PathEntry { path_id, weight: 1, wish: 0, state, economy: Economy::NONE };
        let entries = (1..=PATHS).map(entry).collect();
        let mut client = Self {
            server,
            raw,
            session,
            entries,
            generation: 0,
            acknowledges: true,
            frames: [0; 3],
            bytes: [0; 2],
            table: Vec::new(),
        };
        for round in 0..100 {
            client.announce(1 + round % PATHS);
            let sent = client.server.wait(10 * MILLISECOND);
            client.receive(sent);
        }
        assert!(client.is_up(), "every path is up");
        client.acknowledges = acknowledges;
        (client.frames, client.bytes) = ([0; 3], [0; 2]);
        client
    }

    fn is_up(&self) -> bool {
        let view = self.server.node.sessions().session(self.session).expect("it is there");
        let connection = view.connection.expect("it is attached");
        let paths = self.server.node.tunnels().connection(connection).unwrap().paths();
        let state = |path| self.server.node.sessions().path(self.session, path).unwrap().state;
        paths.map(state).all(|state| state == State::Up)
    }

    /// Sends messages on a path, and answers what comes back.
    fn send(&mut self, path: u16, payload: &[u8]) {
        self.frames[0] += 1;
        let frame = self.raw.seal_on(path, payload);
        self.bytes[0] += frame.len();
        let sent = self.server.handle(address(path), &frame);
        self.receive(sent);
    }

    /// Sends its table on a path.
    fn announce(&mut self, path: u16) {
        self.generation += 1;
        let (generation, entries) = (self.generation, self.entries.clone());
        let payload = row(|writer| {
            writer.push_paths(generation, 7, 0, entries.into_iter()).unwrap();
            writer.push(&Message::Probe { token: generation.into() }).unwrap();
            writer.pad_to(200).unwrap();
        });
        self.send(path, &payload);
    }

    /// Answers probes, and perhaps tables.
    fn receive(&mut self, sent: Vec<(SocketAddr, Vec<u8>)>) {
        for (to, frame) in sent {
            self.frames[1] += 1;
            self.bytes[1] += frame.len();
            let path = (1..=PATHS).find(|path| address(*path) == to).expect("an address of its");
            let Some(payload) = self.raw.open(&frame) else { continue };
            let (mut answer, mut alone) = (Vec::new(), true);
            for message in messages(&payload) {
                let message = message.unwrap();
                alone &= matches!(message, Message::Paths { .. });
                match message {
                    Message::Probe { token } => {
                        answer.push(row(|writer| writer.push(&Message::Echo { token }).unwrap()));
                    }
                    Message::Paths { generation, entries, .. } => {
                        self.table = entries.iter().collect();
                        if self.acknowledges {
                            let ack = Message::PathsAck { generation };
                            answer.push(row(|writer| writer.push(&ack).unwrap()));
                        }
                    }
                    _ => {}
                }
            }
            self.frames[2] += u64::from(alone);
            if !answer.is_empty() {
                self.send(path, &answer.concat());
            }
        }
    }

    /// Sends a changed table with each frame for a while.
    fn flap(&mut self, seed: u64, change: impl Fn(&mut PathEntry, u64)) {
        let start = self.server.now;
        let mut step = 0;
        while self.server.now < start + TIME {
            for _ in 0..FRAMES {
                step += 1;
                let draw = mix(seed, step);
                let entry = &mut self.entries[(draw % u64::from(PATHS)) as usize];
                change(entry, draw >> 32);
                self.announce(1 + (draw >> 16) as u16 % PATHS);
            }
            let sent = self.server.wait(MILLISECOND);
            self.receive(sent);
        }
    }
}

fn check(change: impl Fn(&mut PathEntry, u64)) {
    for (seed, acknowledges) in [(1, true), (2, false), (3, true), (4, false)] {
        let mut client = Client::new(acknowledges);
        client.flap(seed, &change);
        let [hostile, ours, tables] = client.frames;
        let [got, sent] = client.bytes;
        eprintln!(
            "seed {seed}: {hostile} hostile frames of {got} bytes, {ours} of ours of {sent} bytes, {tables} tables"
        );
        let rate = u64::from(TABLES_PER_SECOND);
        let most = (u64::from(TABLE_BURST) + TIME.as_secs() * rate) * u64::from(PATHS);
        assert!(tables <= most, "seed {seed}: {tables} tables for {hostile} frames, not {most}");
        // An answer to each frame, and a probe of a path that it takes into use again.
        assert!(ours <= 2 * hostile + most, "seed {seed}: {ours} frames for {hostile}");
        // The last table of the peer counts, and the peer learns what follows from it.
        client.acknowledges = true;
        for entry in &mut client.entries {
            *entry = PathEntry { weight: 3, wish: 5, state: PathState::USABLE, ..*entry };
        }
        for round in 0..200 {
            client.announce(1 + round % PATHS);
            let sent = client.server.wait(20 * MILLISECOND);
            client.receive(sent);
        }
        assert!(client.is_up());
        let weights: Vec<_> = client.table.iter().map(|it| (it.weight, it.state)).collect();
        assert_eq!(weights, [(5, PathState::USABLE); PATHS as usize]);
    }
}

#[test]
fn with_other_states() {
    check(|entry, draw| {
        entry.state = match entry.state {
            PathState::USABLE => PathState::ADMINISTRATIVELY_DOWN,
            _ => PathState::USABLE,
        };
        entry.weight = draw as u16 % 5;
    });
}

#[test]
fn with_other_wishes() {
    check(|entry, draw| entry.wish = 1 + draw as u16 % 900);
}
