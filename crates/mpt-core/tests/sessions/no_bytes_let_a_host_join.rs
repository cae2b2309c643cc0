//! Hosts without a token and owners of tokens, who send what they like in any order: nobody has a session who does not hold a token that is good, and
//! no token has more sessions than it may.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_core::session::{Event, JoinToken, MAX_JOINING};
use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::hello::{Kind, Name};

use super::raw::{Raw, Server};

/// A handshake costs a tenth of a millisecond, unoptimised more.
const RUNS: usize = 300;
/// Tokens that there are at times.
const TOKENS: u8 = 3;

#[derive(Debug, bolero::TypeGenerator)]
enum Step {
    /// A host begins a session of joining with a token.
    Join { node: u8, secret: u8 },
    /// A host begins a session of any kind, with the name of a token or another one, and the secret of a token or none.
    Begin { node: u8, kind: u8, name: Called, secret: Option<u8> },
    /// A host that has keys sends a frame with these bytes as its messages, or with a request.
    Send { host: u8, from: u8, request: bool, payload: Vec<u8> },
    /// A frame that was sent comes once more, from anywhere, perhaps changed.
    Again { frame: u8, from: u8, change: Option<(u16, u8)> },
    /// Time passes, so many tenths of a second.
    Wait(u8),
    /// The tokens that are good from now on, as bits.
    Tokens(u8),
}

#[derive(Debug, bolero::TypeGenerator)]
enum Called {
    Token(u8),
    Other(String),
}

fn token(number: u8) -> JoinToken {
    JoinToken::from_secret(&[1 + number % TOKENS; 16])
}

fn address(from: u8) -> String {
    format!("192.0.2.{}:{}", 1 + from % 4, 1000 + u16::from(from))
}

/// A host whose initiation was answered.
struct Host {
    raw: Raw,
    node: u8,
    /// Number of the token whose secret it has.
    secret: Option<u8>,
}

#[derive(Default)]
struct Run {
    hosts: Vec<Host>,
    frames: Vec<Vec<u8>>,
    good: u8,
}

impl Run {
    fn is_good(&self, number: u8) -> bool {
        self.good >> (number % TOKENS) & 1 == 1
    }

    fn begin(&mut self, server: &mut Server, node: u8, kind: Kind, name: &str, secret: Option<u8>) {
        if Name::new(name).is_err() {
            return;
        }
        let (node, psk) = (node % 8, secret.map(token));
        let psk = psk.as_ref().map(JoinToken::psk);
        let known = 10 + usize::from(node);
        let raw = Raw::try_connect(server, known, psk, kind, name, &address(node));
        if let Some(raw) = raw {
            assert_eq!(kind, Kind::Joining, "nobody else is known");
            let called = secret.is_some_and(|it| token(it).id() == name && self.is_good(it));
            assert!(called, "{name} with secret {secret:?}");
            self.hosts.push(Host { raw, node, secret });
        }
    }

    fn take(&mut self, server: &mut Server, step: &Step) {
        match step {
            Step::Join { node, secret } => {
                let name = token(*secret).id().to_owned();
                self.begin(server, *node, Kind::Joining, &name, Some(*secret));
            }
            Step::Begin { node, kind, name, secret } => {
                let kind = [Kind::Joining, Kind::Joining, Kind::Connection, Kind::Steering]
                    [usize::from(kind % 4)];
                let name = match name {
                    Called::Token(number) => token(*number).id().to_owned(),
                    Called::Other(name) => name.clone(),
                };
                self.begin(server, *node, kind, &name, *secret);
            }
            Step::Send { host, from, request, payload } => {
                let count = self.hosts.len();
                let Some(host) = self.hosts.get_mut(usize::from(*host) % count.max(1)) else {
                    return;
                };
                let body = &payload[..payload.len().min(1000)];
                let frame = match request {
                    true => host.raw.frame(&[mpt_wire::control::Message::Request {
                        id: u32::from(*from),
                        offset: 0,
                        body,
                    }]),
                    false => host.raw.seal(&payload[..payload.len().min(MAX_PAYLOAD_LEN)]),
                };
                let from = if from % 4 == 0 { *from } else { host.node };
                server.handle(address(from).parse().unwrap(), &frame);
                self.frames.push(frame);
            }
            Step::Again { frame, from, change } => {
                let count = self.frames.len();
                let Some(frame) = self.frames.get(usize::from(*frame) % count.max(1)) else {
                    return;
                };
                let mut frame = frame.clone();
                if let Some((at, by)) = change {
                    let at = usize::from(*at) % frame.len();
                    frame[at] ^= by;
                }
                server.handle(address(*from).parse().unwrap(), &frame);
            }
            Step::Wait(tenths) => {
                server.wait(Duration::from_millis(100 * u64::from(tenths % 128)));
            }
            Step::Tokens(bits) => {
                self.good = *bits;
                let now = server.now;
                let good = (0..TOKENS).filter(|&number| self.is_good(number));
                server.node.set_join_tokens(now, good.map(token).collect());
            }
        }
    }

    fn check(&self, server: &mut Server) {
        let mut per_token: BTreeMap<&str, usize> = BTreeMap::new();
        let ids: Vec<_> = (0..TOKENS).map(|it| token(it).id().to_owned()).collect();
        for session in server.node.sessions().sessions() {
            let view = server.node.sessions().session(session).expect("it is listed");
            let number = ids.iter().position(|id| *id == view.name).expect("the name of a token");
            assert!(self.is_good(number as u8), "the sessions of a token end with it");
            *per_token.entry(&ids[number]).or_default() += 1;
        }
        assert!(per_token.values().all(|&count| count <= MAX_JOINING), "{per_token:?}");
        let holders: Vec<_> = self.hosts.iter().filter(|host| host.secret.is_some()).collect();
        while let Some(event) = server.next_event() {
            if let Event::Established { peer, name, kind, .. } = event {
                assert_eq!(kind, Kind::Joining);
                let holds = holders.iter().any(|host| {
                    super::hub::key(10 + usize::from(host.node)).public() == peer
                        && host.secret.is_some_and(|number| token(number).id() == name)
                });
                assert!(holds, "{peer} has a session by {name}");
            }
        }
    }
}

#[test]
fn fuzz_joining() {
    let steps = bolero::generator::produce::<Vec<Step>>().with().len(0_usize..40);
    bolero::check!().with_iterations(RUNS).with_generator(steps).for_each(|steps| {
        let (mut server, mut run) = (Server::new(0), Run::default());
        run.take(&mut server, &Step::Tokens(u8::MAX));
        for step in steps {
            run.take(&mut server, step);
            run.check(&mut server);
        }
    });
}
