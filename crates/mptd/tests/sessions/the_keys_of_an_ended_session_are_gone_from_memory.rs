//! The keys of an ended session are gone: the memory of the daemon opens no recorded frame of it. Every piece of the memory is tried as a key.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use blake2::{Blake2s256, Digest};
use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit};
use mpt_api::Command;
use mpt_wire::control::frame::{self, Frame};

use crate::hosts::{Capture, Config, Daemon, Datagram, Pair, Preshared};
use crate::support::authenticate;

/// Length of every key, in bytes.
const KEY: usize = 32;
/// Size of a piece of memory that is read at once, in bytes.
const PIECE: usize = 1 << 20;
/// Longest time that the keys of an ended session may stay. A session without a connection ends after 10 s.
const SOON: Duration = Duration::from_secs(30);

/// A sealed frame of somebody who listens.
struct Recorded {
    nonce: [u8; 12],
    ciphertext: Vec<u8>,
}

impl Recorded {
    fn of(datagram: &Datagram) -> Option<Self> {
        let Ok(Frame::Sealed(sealed)) = frame::parse(&datagram.inner) else { return None };
        // Section 12.3 of the Noise Protocol Framework.
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&sealed.header().nonce().to_le_bytes());
        Some(Self { nonce, ciphertext: sealed.ciphertext().to_vec() })
    }

    fn opens_with(&self, key: &[u8]) -> bool {
        let cipher = ChaCha20Poly1305::new(Key::from_slice(key));
        cipher.decrypt(&self.nonce.into(), &self.ciphertext[..]).is_ok()
    }
}

/// Secrets that are in memory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Keys that open a recorded frame.
    session: usize,
    /// Chaining keys of the handshake, which the session's keys can be computed from.
    chaining: usize,
    /// Copies of the preshared key, as bytes or as text.
    preshared: usize,
}

/// Random bytes look like this; most of the memory does not.
fn may_be_a_key(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    zeros <= 2 && bytes.iter().collect::<HashSet<_>>().len() >= 22
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; KEY] {
    const BLOCK: usize = 64;
    let pad = |value: u8| {
        let mut block = [value; BLOCK];
        block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
        block
    };
    let inner = Blake2s256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Blake2s256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// The keys of a session: `Split` of the Noise Protocol Framework, section 5.2.
fn split(chaining: &[u8]) -> [[u8; KEY]; 2] {
    let temporary = hmac(chaining, &[]);
    let first = hmac(&temporary, &[1]);
    let second = hmac(&temporary, &[&first[..], &[2]].concat());
    [first, second]
}

/// Looks through everything that a process can write: heap, stacks, variables.
fn search(daemon: &Daemon, frame: &Recorded, preshared: &Preshared) -> Found {
    let memory = File::open(format!("/proc/{}/mem", daemon.pid())).unwrap();
    let maps = fs::read_to_string(format!("/proc/{}/maps", daemon.pid())).unwrap();
    let mut found = Found::default();
    let mut tried = HashSet::new();
    for map in maps.lines() {
        let mut fields = map.split_whitespace();
        let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let [mut at, end] = [start, end].map(|it| u64::from_str_radix(it, 16).unwrap());
        while at < end {
            let mut piece = vec![0; PIECE.min((end - at) as usize)];
            // Memory that has been freed since cannot be read.
            if memory.read_exact_at(&mut piece, at).is_ok() {
                look(&piece, frame, preshared, &mut tried, &mut found);
            }
            // A key may lie across the border.
            at += if piece.len() == PIECE { (PIECE - KEY) as u64 } else { piece.len() as u64 };
        }
    }
    found
}

fn look(
    piece: &[u8],
    frame: &Recorded,
    preshared: &Preshared,
    tried: &mut HashSet<[u8; KEY]>,
    found: &mut Found,
) {
    let text = preshared.text();
    found.preshared += piece.windows(text.len()).filter(|it| *it == text.as_bytes()).count();
    for window in piece.windows(KEY) {
        if !may_be_a_key(window) {
            continue;
        }
        found.preshared += usize::from(window == preshared.bytes());
        if tried.insert(window.try_into().unwrap()) {
            found.session += usize::from(frame.opens_with(window));
            found.chaining += usize::from(split(window).iter().any(|key| frame.opens_with(key)));
        }
    }
}

/// Returns the configuration without the connection.
fn emptied(config: &Config) -> Config {
    let mut config = config.clone();
    config.remove("tunnel", None);
    config
}

#[test]
fn the_keys_of_an_ended_session_are_gone_from_memory() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let psk = Preshared::new();
    for config in &mut configs {
        config.peer("tunnel").set("psk_file", psk.file());
    }
    let capture = Capture::start(&pair.a);
    let daemons = pair.start(&configs);
    let frames: Vec<_> = capture.sent().iter().filter_map(Recorded::of).collect();
    // The last frame belongs to the session that lasts, should there have been two.
    let frame = frames.last().expect("frames were recorded");

    // Nothing is hidden from who looks for it as long as the session is there: so the search finds what there is.
    for daemon in &daemons {
        let found = search(daemon, frame, &psk);
        assert!(found.session > 0 && found.preshared > 0, "{found:?}");
        assert_eq!(found.chaining, 0, "the handshake is over: {found:?}");
    }
    for (daemon, config) in daemons.iter().zip(&configs) {
        daemon.write_config(&emptied(config));
        daemon.request(Command::Reload).unwrap();
    }
    for daemon in &daemons {
        let start = Instant::now();
        loop {
            let found = search(daemon, frame, &psk);
            if found == Found::default() {
                break;
            }
            assert!(start.elapsed() < SOON, "still in memory: {found:?}");
        }
    }
}
