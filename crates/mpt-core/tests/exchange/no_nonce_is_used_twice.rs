//! A nonce that repeats under one key gives the messages away (RFC 8439, section 4). So none may,
//! whatever the ends send, in whatever order, on whatever paths, and whatever is refused between.

use std::collections::BTreeSet;

use mpt_core::session::{Initiation, PrivateKey, Random, Transport, receive};
use mpt_wire::control::frame::{self, Frame, MAX_PAYLOAD_LEN};
use mpt_wire::control::{Capabilities, Hello, Kind, Name, Welcome};
use proptest::prelude::*;

fn session(random: &mut Random) -> [Transport; 2] {
    let (client, server) = (PrivateKey::from_seed([1; 32]), PrivateKey::from_seed([2; 32]));
    let hello = Hello {
        kind: Kind::Connection,
        key: None,
        capabilities: Capabilities::new(),
        name: Name::default(),
        challenge: None,
        sealing: None,
    };
    let mut initiation =
        Initiation::new(&client, &server.public(), None, 1, &hello, random).unwrap();
    let frame = initiation.frame(1, None);
    let received = receive(&server, frame::Initiation::of(&frame), random).unwrap();
    let (response, at_server) = received.respond(None, 2, &Welcome::default()).unwrap();
    let (at_client, _) = initiation.finish(&frame::Response::of(&response.frame(1))).unwrap();
    [at_client, at_server]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn in_any_interleaving_of_paths_and_directions(
        // Few paths, so that they repeat; many, so that some are refused.
        paths in 1_u16..300,
        steps in prop::collection::vec((any::<bool>(), any::<u16>(), 0..MAX_PAYLOAD_LEN + 20), 1..600),
    ) {
        let mut random = Random::new([3; 32]);
        let mut ends = session(&mut random);
        let mut nonces = [BTreeSet::new(), BTreeSet::new()];
        let (mut frame, mut out) = (Vec::new(), [0; MAX_PAYLOAD_LEN + 20]);
        for (direction, path, len) in steps {
            let (from, to) = (usize::from(direction), usize::from(!direction));
            let path = path % paths;
            let sealed = ends[from].seal(path, &vec![0; len], &mut frame);
            if sealed.is_err() {
                prop_assert!(len > MAX_PAYLOAD_LEN || nonces[from].len() >= 128);
                continue;
            }
            // The nonce is taken from the bytes, as a receiver or an eavesdropper sees them.
            let nonce = u64::from_be_bytes(frame[6..14].try_into().unwrap());
            prop_assert_eq!((nonce >> 48) as u16, path);
            prop_assert!(nonces[from].insert(nonce), "nonce {:#x} twice", nonce);
            let Ok(Frame::Sealed(view)) = frame::parse(&frame) else { panic!("a sealed frame") };
            prop_assert_eq!(ends[to].open(&view, &mut out).unwrap().path, path);
        }
        // Counters have no gaps either: a path id and a number name all frames there were.
        for nonces in nonces {
            for nonce in &nonces {
                let counter = nonce & 0xffff_ffff_ffff;
                prop_assert!(counter == 0 || nonces.contains(&(nonce - 1)));
            }
        }
    }
}

/// The counters begin anew with every handshake, and the keys are others in both directions.
#[test]
fn a_new_handshake_makes_new_keys() {
    let mut random = Random::new([3; 32]);
    let mut ciphertexts = BTreeSet::new();
    for _ in 0..50 {
        for mut end in session(&mut random) {
            let mut frame = Vec::new();
            end.seal(1, &[0; 32], &mut frame).unwrap();
            assert_eq!(frame[6..14], (1_u64 << 48).to_be_bytes());
            assert!(ciphertexts.insert(frame[14..].to_vec()), "the same key twice");
        }
    }
}
