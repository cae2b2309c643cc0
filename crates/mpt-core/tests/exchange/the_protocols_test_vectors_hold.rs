//! The test vectors of docs/protocol.md, section 26, are what this implementation sends. Those of the
//! document were computed by control_vectors.py, which shares no code with it.

use std::fmt::Write as _;
use std::time::Instant;

use mpt_core::session::{
    CookieSecret, Incoming, Initiation, PresharedKey, PrivateKey, PublicKey, Random, Transport,
};
use mpt_wire::control::frame::{self, Frame};
use mpt_wire::control::{
    Capabilities, Capability, Economy, Hello, Kind, Message, Name, PathEntry, PathState,
    ReportEntry, Welcome, Writer,
};

/// RFC 7748, section 6.1.
const ALICE: &str = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
const BOB: &str = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";

#[test]
fn vectors() {
    let mut page = Page::default();
    let (alice, bob) = (private(ALICE), private(BOB));
    page.add("initiator's private key", &bytes(ALICE));
    page.add("initiator's public key", alice.public().as_bytes());
    page.add("responder's private key", &bytes(BOB));
    page.add("responder's public key", bob.public().as_bytes());
    let psk = PresharedKey::from_seed([0x55; 32]);
    page.add("pre-shared key", &[0x55; 32]);
    let seeds = [[1; 32], [2; 32], [4; 32]];
    let ephemeral = |seed| *Random::new(seed).key();
    page.add("initiator's first ephemeral private key", &ephemeral(seeds[0]));
    page.add("initiator's second ephemeral private key", &ephemeral(seeds[2]));
    page.add("responder's ephemeral private key", &ephemeral(seeds[1]));

    let capabilities = [Capability::CONTROL];
    let hello = Hello {
        kind: Kind::Connection,
        key: Some(7),
        capabilities: Capabilities::from_slice(&capabilities).unwrap(),
        name: Name::new("office").unwrap(),
        challenge: None,
        sealing: None,
    };
    page.add("Hello without a challenge", &hello.encode());
    let initiate = |index, hello, seed| {
        let (random, bob) = (&mut Random::new(seed), bob.public());
        Initiation::new(&alice, &bob, Some(&psk), index, hello, random).unwrap()
    };
    let initiation = initiate(0x0102_0304, &hello, seeds[0]);
    let first = initiation.frame(1, None);
    page.add("Initiation, path 1, no cookie", &first);

    let cookie = cookie(bob.public(), &first);
    let Ok(Frame::Cookie(view)) = frame::parse(&cookie) else { panic!("a cookie") };
    let opened = initiation.open_cookie(&view).unwrap();
    page.add("time, cookie and challenge", &opened.content());
    page.add("Cookie, for 192.0.2.1 port 4754", &cookie);
    let hello = Hello { challenge: Some(opened.challenge()), ..hello };
    page.add("Hello with the challenge", &hello.encode());
    let mut initiation = initiate(0x090a_0b0c, &hello, seeds[2]);
    let second = initiation.frame(1, Some(&opened));
    page.add("Initiation, path 1, with challenge and cookie", &second);

    let welcome = Welcome {
        attached: true,
        capabilities: Capabilities::from_slice(&capabilities).unwrap(),
        sealing: None,
    };
    page.add("Welcome", &welcome.encode());
    let incoming = Incoming::verify(&bob, frame::Initiation::of(&second)).unwrap();
    let received = incoming.receive(&bob, &mut Random::new(seeds[1])).unwrap();
    let (response, mut server) = received.respond(Some(&psk), 0x0506_0708, &welcome).unwrap();
    let response = response.frame(1);
    page.add("Response, path 1", &response);
    let (mut client, _) = initiation.finish(&frame::Response::of(&response)).unwrap();

    let probe = probe();
    page.add("messages: Probe, Report, Paths", &probe);
    page.add("Sealed by the initiator, path 1, counter 0", &seal(&mut client, &probe));
    let echo = echo();
    page.add("messages: Echo, PathsAck", &echo);
    page.add("Sealed by the responder, path 1, counter 0", &seal(&mut server, &echo));

    let document = include_str!("../../../../docs/protocol.md");
    assert!(document.contains(&page.0), "section 26 of docs/protocol.md should have\n{}", page.0);
}

fn cookie(
    responder: PublicKey,
    initiation: &[u8; frame::INITIATION_LEN],
) -> [u8; frame::COOKIE_LEN] {
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    let now = Instant::now();
    let mut random = Random::new([3; 32]);
    let mut secret = CookieSecret::new(&mut random);
    let remote = "192.0.2.1:4754".parse().unwrap();
    secret.reply(now, &responder, remote, &frame::Initiation::of(initiation), &mut random)
}

fn probe() -> Vec<u8> {
    let mut messages = Vec::new();
    let mut writer = Writer::new(&mut messages, usize::MAX);
    writer.push(&Message::Probe { token: 0x1122_3344_5566_7788 }).unwrap();
    let report = ReportEntry { path_id: 1, frames: 0, sent: 3, received: 4 };
    writer.push_report([report].into_iter()).unwrap();
    let economy = Economy::NONE;
    let path = |path_id, weight, state| PathEntry { path_id, weight, wish: 0, state, economy };
    let paths = [path(1, 3, PathState::USABLE), path(2, 0, PathState::INTERFACE_DOWN)];
    writer.push_paths(1, 0xdead_beef, 5, paths.into_iter()).unwrap();
    messages
}

fn echo() -> Vec<u8> {
    let mut messages = Vec::new();
    let mut writer = Writer::new(&mut messages, usize::MAX);
    writer.push(&Message::Echo { token: 0x1122_3344_5566_7788 }).unwrap();
    writer.push(&Message::PathsAck { generation: 1 }).unwrap();
    messages
}

fn seal(transport: &mut Transport, messages: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    transport.seal(1, messages, &mut frame).unwrap();
    frame
}

fn private(hex: &str) -> PrivateKey {
    PrivateKey::from_seed(bytes(hex).try_into().unwrap())
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// The block of the document: each vector a name and lines of 32 bytes.
#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, name: &str, bytes: &[u8]) {
        writeln!(self.0, "{name} ({} bytes)", bytes.len()).unwrap();
        for line in bytes.chunks(32) {
            let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(self.0, "  {hex}").unwrap();
        }
    }
}
