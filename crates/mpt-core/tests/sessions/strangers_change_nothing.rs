//! Frames that were damaged, repeated, turned round or made up disturb no session, and nobody gets
//! more bytes back than he sent.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::liveness::State;
use mpt_core::session::{Initiation, PrivateKey, Random};
use mpt_wire::control::hello::{Capabilities, Hello, Kind, Name};
use mpt_wire::gre;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

/// Nothing has happened to the session that its owner could notice.
fn assert_undisturbed(network: &mut Network) {
    for side in SIDES {
        for path in 0..network.setup.links.len() {
            let host = &network.hosts[side];
            assert_eq!(host.changes(path, State::Dead), 0, "{}", network.describe());
        }
    }
    network.run_traffic(SECOND, millis(1));
    network.run(SECOND);
    assert!(network.is_all_up());
    network.assert_nothing_lost();
}

fn somewhere(network: &mut Network) -> SocketAddr {
    let [a, b, c, d, ..] = network.draw(u64::MAX).to_be_bytes();
    SocketAddr::new([a, b, c, d].into(), 1 + network.draw(60_000) as u16)
}

/// Returns the datagrams that come back at once for a datagram from anywhere.
fn inject(network: &mut Network, side: Side, path: usize, from: SocketAddr, bytes: Vec<u8>) {
    let len = bytes.len();
    let captured = network.captured.replace(Vec::new());
    network.inject(side, path, from, bytes);
    let sent = std::mem::replace(&mut network.captured, captured).unwrap();
    if !network.addresses.iter().flatten().any(|&address| address == from) {
        let answers = sent.iter().filter(|(_, _, wire)| wire.to == from);
        let answered: usize = answers.map(|(_, _, wire)| wire.bytes.len()).sum();
        assert!(answered <= len, "{answered} bytes for {len}");
    }
}

#[test]
fn repeated_reflected_and_damaged_frames() {
    for learn in [false, true] {
        let setup = Setup { learn, ..Setup::new(1 + u64::from(learn), &[5, 20]) };
        let mut network = Network::established(setup);
        let mut old: Vec<(Side, usize, Wire)> = Vec::new();
        for _ in 0..60 {
            network.captured = Some(Vec::new());
            network.run_traffic(millis(500), millis(2));
            let captured = network.captured.take().unwrap();
            let again: Vec<_> = old.iter().take(40).cloned().collect();
            for (side, path, wire) in captured.into_iter().chain(again) {
                let from = if network.draw(2) == 0 { wire.from } else { somewhere(&mut network) };
                let other = (path + network.draw(2) as usize) % 2;
                let mut bytes = wire.bytes.clone();
                match network.draw(6) {
                    // To where it went, once more; on another path; back to its sender.
                    0 => inject(&mut network, 1 - side, path, wire.from, bytes),
                    1 => inject(&mut network, 1 - side, other, from, bytes),
                    2 => inject(&mut network, side, other, from, bytes),
                    3 => {
                        bytes.truncate(network.draw(bytes.len() as u64) as usize);
                        inject(&mut network, 1 - side, path, wire.from, bytes);
                    }
                    4 => {
                        let at = network.draw(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 << network.draw(8);
                        inject(&mut network, 1 - side, path, wire.from, bytes);
                    }
                    _ => old.push((side, path, wire)),
                }
            }
            let drop = old.len().saturating_sub(200);
            old.drain(..drop);
        }
        let counters = network.hosts[SERVER].node.sessions().counters();
        assert!(counters.replayed > 100 && counters.unauthentic > 20, "{counters:?}");
        assert_undisturbed(&mut network);
    }
}

#[test]
fn random_bytes() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    for _ in 0..20_000 {
        let frame: Vec<u8> = (0..network.draw(300)).map(|_| network.draw(256) as u8).collect();
        let mut frame = frame;
        // Most look like frames at first.
        for (index, value) in [(0, network.draw(6) as u8), (1, 2)] {
            if let Some(byte) = frame.get_mut(index).filter(|_| value < 5) {
                *byte = value;
            }
        }
        let from = somewhere(&mut network);
        inject(&mut network, SERVER, 0, from, control(&frame));
    }
    assert_undisturbed(&mut network);
}

fn control(frame: &[u8]) -> Vec<u8> {
    let header =
        gre::Repr { protocol: gre::Protocol::CONTROL, checksum: false, key: None, sequence: None };
    datagram(header, frame)
}

/// To the server, of somebody who knows no more of it than its public key.
fn initiations_of_a_stranger(count: u32) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed_bytes(5));
    let stranger = PrivateKey::from_seed(seed_bytes(6));
    let hello = Hello {
        kind: Kind::Connection,
        key: None,
        capabilities: Capabilities::new(),
        name: Name::default(),
        challenge: None,
        sealing: None,
    };
    let server = identity(SERVER).public();
    let mut initiation = |index| {
        let made = Initiation::new(&stranger, &server, None, index, &hello, &mut random).unwrap();
        control(&made.frame(0, None))
    };
    (0..count).map(&mut initiation).collect()
}

/// A stranger that knows the public key can make initiations with a right mac1.
#[test]
fn a_flood_of_handshakes() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    let frames = initiations_of_a_stranger(200);
    for frame in frames.iter().cycle().take(10_000) {
        network.run_traffic(millis(1), millis(1));
        let from = somewhere(&mut network);
        inject(&mut network, SERVER, 0, from, frame.clone());
    }
    let counters = network.hosts[SERVER].node.sessions().counters();
    assert!(counters.cookies_sent > 9_000, "{counters:?}");
    assert!(counters.unknown_peer <= 60, "{counters:?}");
    assert_undisturbed(&mut network);
}

/// Under such a flood, somebody with a right to it still gets a session, by showing a cookie.
#[test]
fn a_client_comes_through_a_flood() {
    let mut network = Network::new(Setup::new(1, &[5, 20]));
    network.kill(CLIENT);
    let frame = &initiations_of_a_stranger(1)[0];
    for n in 0..3000 {
        if n == 1000 {
            network.restart(CLIENT);
        }
        network.run(millis(1));
        let from = somewhere(&mut network);
        inject(&mut network, SERVER, 0, from, frame.clone());
    }
    assert!(network.is_all_up(), "{}", network.describe());
}

/// All initiations of the past, again and again, from everywhere: the keys in use stay.
#[test]
fn handshakes_of_the_past() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.captured = Some(Vec::new());
    network.run_traffic(1200 * SECOND, millis(100));
    let captured = network.captured.take().unwrap();
    let handshakes: Vec<Vec<u8>> = captured
        .into_iter()
        .filter(|(side, _, wire)| *side == CLIENT && is_initiation(&wire.bytes))
        .map(|(_, _, wire)| wire.bytes)
        .collect();
    assert!(handshakes.len() >= 16, "{}", handshakes.len());
    for round in 0..400 {
        network.run_traffic(SECOND, millis(20));
        for handshake in &handshakes {
            let from = somewhere(&mut network);
            inject(&mut network, SERVER, round % 2, from, handshake.clone());
        }
    }
    assert_undisturbed(&mut network);
}

fn is_initiation(datagram: &[u8]) -> bool {
    let (_, start) = gre::Repr::parse(datagram).unwrap();
    datagram[start] == 1
}
