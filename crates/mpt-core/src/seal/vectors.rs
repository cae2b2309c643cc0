//! The test vectors of docs/protocol.md are what this implementation seals. Those of the document were
//! computed by tests/data_vectors.py, which shares no code with it.

use std::fmt::Write as _;

use mpt_wire::control::frame;
use mpt_wire::control::{
    Capabilities, Capability, Hello, Kind, Name, Sealing, Suite, Suites, Welcome,
};

use super::keys::{Agreement, Keys};
use super::tests::datagram;
use crate::session::{Initiation, PresharedKey, PrivateKey, Random, receive};

const PACKET: &str = "4500002400004000401126c60a0000010a01000113881451001000007365616c65642121";

#[test]
fn vectors() {
    let mut page = String::new();
    for (suite, suites) in
        [(Suite::Aes256Gcm, Suites::WITH_AES), (Suite::ChaCha20Poly1305, Suites::WITHOUT_AES)]
    {
        sealed_by(&mut page, suite, suites);
    }
    let document = include_str!("../../../../docs/protocol.md");
    assert!(document.contains(&page), "docs/protocol.md should have\n{page}");
}

fn sealed_by(page: &mut String, suite: Suite, suites: Suites) {
    let capabilities = [Capability::CONTROL, Capability::SEALED_DATA];
    let initiator = Sealing { index: 0x0a0b_0c0d, suites, first: 0x1_ffff_ffff };
    let responder = Sealing { index: 0x1a1b_1c1d, suites: Suites::only(suite), first: 0 };
    let hello = Hello {
        kind: Kind::Connection,
        key: None,
        capabilities: Capabilities::from_slice(&capabilities).unwrap(),
        name: Name::new("office").unwrap(),
        challenge: None,
        sealing: Some(initiator),
    };
    let capabilities = Capabilities::from_slice(&capabilities).unwrap();
    let welcome = Welcome { attached: false, capabilities, sealing: Some(responder) };
    let mut add = |name: &str, bytes: &[u8]| {
        writeln!(page, "{name} ({} bytes)", bytes.len()).unwrap();
        for line in bytes.chunks(32) {
            let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(page, "  {hex}").unwrap();
        }
    };
    add(&format!("{}: Hello", suite.name()), &hello.encode());
    add(&format!("{}: Welcome", suite.name()), &welcome.encode());

    let (alice, bob) = (PrivateKey::from_seed(ALICE), PrivateKey::from_seed(BOB));
    let psk = PresharedKey::from_seed([0x55; 32]);
    let random = &mut Random::new([1; 32]);
    let mut initiation =
        Initiation::new(&alice, &bob.public(), Some(&psk), 1, &hello, random).unwrap();
    let bytes = initiation.frame(1, None);
    let random = &mut Random::new([2; 32]);
    let received = receive(&bob, frame::Initiation::of(&bytes), random).unwrap();
    let (response, mut at_bob) = received.respond(Some(&psk), 2, &welcome).unwrap();
    let bytes = response.frame(1);
    let (mut at_alice, _) = initiation.finish(&frame::Response::of(&bytes)).unwrap();
    let agreement = Agreement { suite, initiator, responder };
    let (split, key, iv) = at_alice.data_split().unwrap().of_initiator(&agreement);
    let of = "of what the initiator sends";
    add(&format!("{}: Split(), {of}", suite.name()), &*split);
    add(&format!("{}: key {of}", suite.name()), &*key);
    add(&format!("{}: IV {of}", suite.name()), &iv);
    let Keys { sealer: there, opener: mut at_alice } =
        at_alice.take_data_keys(Some(&agreement)).unwrap();
    let Keys { sealer: back, opener: mut at_bob } =
        at_bob.take_data_keys(Some(&agreement)).unwrap();

    let packet: Vec<u8> = (0..PACKET.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&PACKET[at..at + 2], 16).unwrap())
        .collect();
    let mut unordered = packet.clone();
    unordered[0] |= 0x80;
    add("inner packet", &packet);
    for number in [0x1_ffff_ffff_u64, 0x2_0000_0000] {
        let mut sealed = datagram(&there, number, &packet).unwrap();
        add(&format!("sealed by the initiator, number {number:016x}"), &sealed);
        assert!(at_bob.open(number as u32, 0, &mut sealed).is_ok());
    }
    let mut sealed = datagram(&back, 0, &unordered).unwrap();
    add("sealed by the responder, number 0, to be delivered at once", &sealed);
    assert!(at_alice.open(0, 0, &mut sealed).is_ok());
}

/// RFC 7748, section 6.1.
const ALICE: [u8; 32] = [
    0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
    0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
];
const BOB: [u8; 32] = [
    0x5d, 0xab, 0x08, 0x7e, 0x62, 0x4a, 0x8a, 0x4b, 0x79, 0xe1, 0x7f, 0x8b, 0x83, 0x80, 0x0e, 0xe6,
    0x6f, 0x3b, 0xb1, 0x29, 0x26, 0x18, 0xb6, 0xfd, 0x1c, 0x2f, 0x8b, 0x27, 0xff, 0x88, 0xe0, 0xeb,
];
