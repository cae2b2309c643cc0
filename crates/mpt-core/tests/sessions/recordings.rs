//! An attacker who has recorded initiations, and sends them again and again.

use std::net::SocketAddr;

use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, KeyInit, Update};
use blake2::{Blake2s256, Blake2sMac, Digest};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, Payload};
use mpt_core::session::PublicKey;
use mpt_wire::control::frame::{self, Frame};
use mpt_wire::gre;

use super::network::*;

/// Control frames: sending side, path, datagram.
pub type Captured = Vec<(Side, usize, Wire)>;

/// Returns the part of a datagram behind the GRE header.
pub fn control_frame(datagram: &[u8]) -> &[u8] {
    let (_, start) = gre::Repr::parse(datagram).unwrap();
    &datagram[start..]
}

pub fn is_initiation(wire: &Wire) -> bool {
    control_frame(&wire.bytes)[0] == 1
}

/// The receiver index of a sealed frame.
pub fn sealed_index(wire: &Wire) -> Option<[u8; 4]> {
    let frame = control_frame(&wire.bytes);
    (frame[0] == 4).then(|| frame[2..6].try_into().unwrap())
}

/// The source addresses that an attacker sends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// A new one each time, where it receives nothing.
    Forged,
    /// The address of the victim, at which the attacker receives nothing.
    Victim,
    /// So many addresses of the attacker's own, at which it receives what is sent there. It knows the responder's public key.
    Own(u8),
}

/// One who repeats initiations of one side.
pub struct Attacker {
    pub recorded: Vec<Vec<u8>>,
    /// Initiations per second.
    pub rate: u32,
    pub sources: Sources,
    /// Whose initiations they are.
    pub victim: Side,
    /// Time and cookie for each address of its own.
    cookies: Vec<Option<(u64, [u8; 16])>>,
    sent: u64,
    /// Thousandths of an initiation.
    due: u32,
}

impl Attacker {
    pub fn new(recorded: &[Vec<u8>], rate: u32, sources: Sources) -> Self {
        let own = if let Sources::Own(count) = sources { usize::from(count) } else { 0 };
        let cookies = vec![None; own];
        Self {
            recorded: recorded.to_vec(),
            rate,
            sources,
            victim: CLIENT,
            cookies,
            sent: 0,
            due: 0,
        }
    }

    /// Sends what is due within a millisecond.
    pub fn step(&mut self, network: &mut Network) {
        self.due += self.rate;
        while self.due >= 1000 {
            self.due -= 1000;
            self.send(network);
        }
    }

    fn send(&mut self, network: &mut Network) {
        let number = self.sent as usize;
        self.sent += 1;
        // All own addresses take turns, and each address sends all of the recordings.
        let (address, recording) = match self.cookies.len() {
            0 => (0, number),
            count => (number % count, number / count),
        };
        let mut bytes = self.recorded[recording % self.recorded.len()].clone();
        let from = match self.sources {
            Sources::Forged => {
                let [a, b, c, ..] = network.draw(u64::MAX).to_be_bytes();
                SocketAddr::new([100 + a % 100, b, c, 1].into(), 4754)
            }
            Sources::Victim => network.addresses[0][self.victim],
            Sources::Own(_) => {
                if let Some((time, cookie)) = self.cookies[address] {
                    let start = bytes.len() - frame::INITIATION_LEN;
                    set_cookie(&mut bytes[start..], time, &cookie);
                }
                own_address(address)
            }
        };
        network.inject(1 - self.victim, 0, from, bytes);
    }

    /// Takes cookies that come to an own address.
    fn read_all(&mut self, captured: &Captured) {
        for (side, _, wire) in captured {
            if *side != self.victim {
                self.read(wire);
            }
        }
    }

    fn read(&mut self, wire: &Wire) {
        let Some(address) = (0..self.cookies.len()).find(|&it| own_address(it) == wire.to) else {
            return;
        };
        let Ok(Frame::Cookie(cookie)) = frame::parse(control_frame(&wire.bytes)) else { return };
        let of = self.recorded.iter().find(|recorded| {
            control_frame(recorded)[4..8] == cookie.receiver_index().to_be_bytes()
        });
        let responder = identity(1 - self.victim).public();
        let initiation = control_frame(of.expect("one of those that were sent"));
        self.cookies[address] = Some(open_cookie(&responder, initiation, &cookie));
    }
}

fn own_address(number: usize) -> SocketAddr {
    SocketAddr::new([203, 0, 113, number as u8].into(), 4754)
}

/// Time and cookie. Whoever knows the responder's public key and the initiation can read them.
fn open_cookie(
    responder: &PublicKey,
    initiation: &[u8],
    cookie: &frame::Cookie<'_>,
) -> (u64, [u8; 16]) {
    let key =
        Blake2s256::new().chain_update(b"mpt cookie").chain_update(responder.as_bytes()).finalize();
    let sealed = cookie.sealed();
    let payload = Payload { msg: &sealed, aad: &initiation[232..248] };
    let content =
        XChaCha20Poly1305::new(&key).decrypt(&cookie.nonce().into(), payload).expect("it opens");
    (u64::from_be_bytes(content[..8].try_into().unwrap()), content[8..24].try_into().unwrap())
}

/// A cookie of nobody's, that opens for whoever has sent this initiation: who knows the responder's
/// public key and sees the initiation can make it.
pub fn forge_cookie(responder: &PublicKey, initiation: &[u8], nonce: u64) -> Vec<u8> {
    let key =
        Blake2s256::new().chain_update(b"mpt cookie").chain_update(responder.as_bytes()).finalize();
    let nonce: [u8; 24] = std::array::from_fn(|at| nonce.to_be_bytes()[at % 8]);
    let payload = Payload { msg: &[7; 40], aad: &initiation[232..248] };
    let sealed = XChaCha20Poly1305::new(&key).encrypt(&nonce.into(), payload).unwrap();
    let path_id = u16::from_be_bytes(initiation[2..4].try_into().unwrap());
    let index = u32::from_be_bytes(initiation[4..8].try_into().unwrap());
    let frame = frame::Cookie::emit(path_id, index, &nonce, &sealed.try_into().unwrap());
    let header =
        gre::Repr { protocol: gre::Protocol::CONTROL, checksum: false, key: None, sequence: None };
    datagram(header, &frame)
}

/// Gives an initiation the MAC 2 of a cookie.
fn set_cookie(initiation: &mut [u8], time: u64, cookie: &[u8; 16]) {
    initiation[248..256].copy_from_slice(&time.to_be_bytes());
    let mut mac = Blake2sMac::<U16>::new_from_slice(cookie).unwrap();
    Update::update(&mut mac, &initiation[..256]);
    initiation[256..].copy_from_slice(&mac.finalize_fixed());
}

/// The initiations of one side from eight lives of it, in some of which somebody has repeated those of
/// the lives before, so that there are challenged ones among them.
pub fn record(setup: &Setup, of: Side) -> Vec<Vec<u8>> {
    // Other random numbers than those of the run in which they are repeated.
    let mut network = Network::new(Setup { seed: setup.seed + 1000, ..setup.clone() });
    let mut recorded = Vec::new();
    let mut attacker = Attacker::new(&[], 45, Sources::Forged);
    attacker.victim = of;
    for life in 0..8 {
        network.captured = Some(Vec::new());
        for _ in 0..1500 {
            network.run(millis(1));
            let mut captured = network.captured.replace(Vec::new()).unwrap();
            captured.retain(|(side, _, wire)| *side == of && is_initiation(wire));
            recorded.extend(captured.into_iter().map(|(_, _, wire)| wire.bytes));
            recorded.dedup();
            if life >= 4 {
                attacker.step(&mut network);
            }
        }
        attacker.recorded.clone_from(&recorded);
        network.kill(of);
        network.restart(of);
    }
    assert!(recorded.len() >= 6, "{}", recorded.len());
    // Each challenge was followed by an initiation with it, whose sender was proved.
    let challenges = network.hosts[1 - of].node.sessions().counters().challenges_sent;
    assert!(challenges >= 3, "{challenges} challenges in the lives under attack");
    recorded
}

/// Lets time pass while an attack goes on.
pub fn run(network: &mut Network, attackers: &mut [Attacker], milliseconds: u64, traffic: bool) {
    for _ in 0..milliseconds {
        step(network, attackers, traffic);
    }
}

/// Lets a millisecond pass. Returns the control frames that were sent.
pub fn step(network: &mut Network, attackers: &mut [Attacker], traffic: bool) -> Captured {
    network.captured.get_or_insert_default();
    if traffic {
        network.run_traffic(millis(1), millis(1));
    } else {
        network.run(millis(1));
    }
    for attacker in attackers.iter_mut() {
        attacker.step(network);
    }
    let captured = network.captured.replace(Vec::new()).unwrap();
    for attacker in attackers {
        attacker.read_all(&captured);
    }
    captured
}

/// The time from the client's next initiation to its first frame under keys that it did not have
/// before: `known` are the indices that its frames had so far.
pub fn time_of_handshake(
    network: &mut Network,
    attackers: &mut [Attacker],
    known: &[[u8; 4]],
    limit: std::time::Duration,
    traffic: bool,
) -> std::time::Duration {
    let mut began = None;
    // Long enough for whatever makes it begin.
    for _ in 0..10_000 {
        let captured = step(network, attackers, traffic);
        let now = network.now();
        for (side, _, wire) in captured {
            if side == CLIENT && is_initiation(&wire) {
                began.get_or_insert(now);
            }
            if side == CLIENT && sealed_index(&wire).is_some_and(|index| !known.contains(&index)) {
                return now - began.expect("keys come from a handshake");
            }
        }
        if let Some(began) = began {
            let so_far = now - began;
            assert!(so_far <= limit, "not after {so_far:?}: connecting\n{}", network.describe());
        }
    }
    panic!("no handshake has begun\n{}", network.describe());
}
