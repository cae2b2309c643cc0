use std::time::Duration;

use mpt_core::SocketId;
use mpt_core::compat::{Authentication, Compat, Destination, Key, Outcome};

use crate::harness::{FIRST, Network, SECOND, address, config, hex, seconds, start};

/// `mpt path down` for the first path, as it was captured: over the other one, four messages.
#[test]
fn a_path_goes_down_and_up() {
    let mut network = Network::new(&Authentication::None);
    network.run(Duration::from_millis(100));
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, false);
    network.run(seconds(1));

    let ends = "00000000000000000000ffff0a00000200000000000000000000ffff0a000003";
    let path = "00000000000000000000ffff0a00010200000000000000000000ffff0a000103";
    let messages = |argument: &str| {
        [
            (0, format!("a2{argument}000001040000{ends}20000000")),
            (1, format!("a200000002040000{ends}20000000")),
            (0, format!("a2{argument}000003040000{ends}{path}")),
            (1, format!("a200000004040000{ends}")),
        ]
    };
    let seen = |network: &Network| {
        let all = network.commands.iter();
        all.map(|(_, from, over, bytes)| {
            assert_eq!(*over, SECOND);
            (*from, hex(bytes))
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(seen(&network), messages("80"));
    assert_eq!(network.ends[0].told, [("p0".to_owned(), false, Outcome::Done)]);
    assert!(!network.ends[1].is_up(FIRST) && network.ends[1].is_up(SECOND));

    network.commands.clear();
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, true);
    network.run(seconds(1));
    assert_eq!(seen(&network), messages("00"));
    assert!(network.ends[1].is_up(FIRST));
    for end in &network.ends {
        assert_eq!(end.counters(network.now).commands_unanswered, 0);
    }
}

#[test]
fn the_same_with_a_nonce_and_with_digests() {
    let key = Key::from_text("00112233445566778899AABBCCDDEEFF").unwrap();
    for authentication in [Authentication::Nonce, Authentication::Digest(key)] {
        let mut network = Network::new(&authentication);
        network.run(Duration::from_millis(100));
        let now = network.now;
        network.ends[0].compat.set_usable(now, FIRST, false);
        network.run(seconds(1));
        let length = if authentication == Authentication::Nonce { 4 } else { 36 };
        let lengths: Vec<_> = network.commands.iter().map(|it| it.3.len() - length).collect();
        assert_eq!(lengths, [44, 44, 72, 40]);
        let nonces: Vec<_> = network.commands.iter().map(|it| hex(&it.3[4..8])).collect();
        assert_eq!(nonces[0], "00000000");
        assert_ne!(nonces[1], "00000000");
        assert_eq!([&nonces[2], &nonces[3]], [&nonces[1]; 2]);
        assert!(!network.ends[1].is_up(FIRST));
        assert_eq!(network.ends[0].told, [("p0".to_owned(), false, Outcome::Done)]);
    }
}

/// Round 3 as it was captured, behind a round 1: the answer has the captured form, and a copy of
/// round 3 has the same answer without being carried out again.
#[test]
fn copies_are_answered_alike() {
    let now = start();
    let mut compat = Compat::new([1; 32]);
    compat.set_connections(now, vec![config(3, &Authentication::None)]);
    let ends = "00000000000000000000ffff0a00000200000000000000000000ffff0a000003";
    let path = "00000000000000000000ffff0a00010200000000000000000000ffff0a000103";
    let rounds = [
        (format!("a280000001040000{ends}20000000"), format!("a200000002040000{ends}20000000")),
        (format!("a280000003040000{ends}{path}"), format!("a200000004040000{ends}")),
    ];
    let source = (address(2, SECOND), 60456).into();
    for (sent, expected) in &rounds {
        for _ in 0..6 {
            let sent: Vec<u8> = (0..sent.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&sent[at..at + 2], 16).unwrap())
                .collect();
            compat.handle_command(now, SocketId(7), source, &sent);
            let answer = compat.poll_transmit().unwrap();
            assert_eq!(hex(&answer.bytes), *expected);
            let destination = Destination::Answer { socket: SocketId(7), remote: source };
            assert_eq!(answer.destination, destination);
            assert_eq!(compat.poll_transmit(), None);
        }
    }
    let counters = compat.view(now, "office").unwrap().counters;
    assert_eq!((counters.answers_sent, counters.commands_executed), (12, 1));
}

#[test]
fn keepalives_are_sent_from_the_start_on_every_path_that_is_usable() {
    let now = start();
    let mut compat = Compat::new([1; 32]);
    let mut config = config(3, &Authentication::None);
    config.paths[1].usable = false;
    compat.set_connections(now, vec![config]);
    let mut at = now;
    let mut sent = Vec::new();
    while at < now + seconds(3) {
        compat.handle_timeout(at);
        while let Some(transmit) = compat.poll_transmit() {
            if let Destination::Data(path) = transmit.destination {
                let beat = "00000800a100000000040000\
                            00000000000000000000ffff0a00000300000000000000000000ffff0a000002";
                assert_eq!(hex(&transmit.bytes), beat);
                sent.push((path, (at - now).as_secs()));
            }
        }
        at = compat.next_timeout().unwrap();
    }
    assert_eq!(sent, [(FIRST, 0), (FIRST, 1), (FIRST, 2)]);
}
