//! Compares what `ring` and `aws-lc-rs` take for the packets of a tunnel: the choice that docs/performance.md explains.
//!
//! Both libraries work on the same bytes in turns, in one thread. A figure is the median of the rounds; a ratio is the median of the
//! ratios within each round, with the smallest and the largest.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds without an argument.
const ROUNDS: usize = 15;
/// The time for which one library works in a round.
const TURN: Duration = Duration::from_millis(20);
const TAG: usize = 16;
/// The GRE header of sealed data: flags, protocol type, key and number.
const HEADER: [u8; 12] = [0x30, 0, 0x88, 0xB6, 1, 2, 3, 4, 0, 0, 0, 1];

/// What is sealed: so many packets of so many bytes, one after the other in memory.
const LOADS: [(&str, usize, usize); 3] =
    [("64 B", 1, 64), ("1,400 B", 1, 1400), ("a super-packet: 44 segments of 1,400 B", 44, 1400)];

/// An AEAD with its key.
trait Aead {
    /// Seals in place and returns the tag.
    fn seal(&self, nonce: [u8; 12], data: &mut [u8]) -> [u8; TAG];
    /// Opens in place: what was sealed, with its tag behind it.
    fn open(&self, nonce: [u8; 12], sealed: &mut [u8]);
}

/// The two libraries have the same interface.
macro_rules! aead {
    ($library:ident) => {
        mod $library {
            use super::TAG;
            use ::$library::aead::{
                AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
            };

            pub struct Key(LessSafeKey);

            impl Key {
                pub fn new(suite: super::Suite) -> Self {
                    let algorithm = match suite {
                        super::Suite::Aes256Gcm => &AES_256_GCM,
                        super::Suite::Chacha20Poly1305 => &CHACHA20_POLY1305,
                    };
                    let key = UnboundKey::new(algorithm, &[7; 32]).expect("a key has 32 bytes");
                    Self(LessSafeKey::new(key))
                }
            }

            impl super::Aead for Key {
                fn seal(&self, nonce: [u8; 12], data: &mut [u8]) -> [u8; TAG] {
                    let nonce = Nonce::assume_unique_for_key(nonce);
                    let tag =
                        self.0.seal_in_place_separate_tag(nonce, Aad::from(super::HEADER), data);
                    tag.expect("a packet is short enough")
                        .as_ref()
                        .try_into()
                        .expect("a tag has 16 bytes")
                }

                fn open(&self, nonce: [u8; 12], sealed: &mut [u8]) {
                    let nonce = Nonce::assume_unique_for_key(nonce);
                    self.0
                        .open_in_place(nonce, Aad::from(super::HEADER), sealed)
                        .expect("it is genuine");
                }
            }
        }
    };
}
aead!(ring);
aead!(aws_lc_rs);

#[derive(Clone, Copy)]
enum Suite {
    Aes256Gcm,
    Chacha20Poly1305,
}

#[derive(Clone, Copy)]
enum Operation {
    Seal,
    /// With a copy of the packet, since opening in place destroys what was sealed.
    Open,
}

fn main() {
    let rounds = match std::env::args().nth(1).map(|rounds| rounds.parse()) {
        None => ROUNDS,
        Some(Ok(rounds)) if rounds > 0 => rounds,
        Some(_) => {
            eprintln!("usage: ciphers [ROUNDS]");
            std::process::exit(2);
        }
    };
    println!(
        "{rounds} rounds of {} ms; times in ns, of one packet or of all segments",
        TURN.as_millis()
    );
    println!(
        "\n| suite | load | operation | ring | aws-lc-rs | aws-lc-rs / ring |\n|---|---|---|---:|---:|---:|"
    );
    for (name, suite) in
        [("AES-256-GCM", Suite::Aes256Gcm), ("ChaCha20-Poly1305", Suite::Chacha20Poly1305)]
    {
        let (ring, aws) = (ring::Key::new(suite), aws_lc_rs::Key::new(suite));
        agree(&ring, &aws);
        for (load, packets, bytes) in LOADS {
            for (operation, what) in
                [(Operation::Seal, "seal"), (Operation::Open, "open, with a copy")]
            {
                let mut times: [Vec<f64>; 2] = Default::default();
                for round in 0..rounds {
                    // Each library is the first of every second round.
                    for turn in [round % 2, 1 - round % 2] {
                        let aead: &dyn Aead = if turn == 0 { &ring } else { &aws };
                        times[turn].push(measure(aead, operation, packets, bytes));
                    }
                }
                let mut ratios: Vec<f64> =
                    times[1].iter().zip(&times[0]).map(|(aws, ring)| aws / ring).collect();
                let ratio = median(&mut ratios);
                let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
                let [ring, aws] = times.each_mut().map(|times| median(times));
                println!(
                    "| {name} | {load} | {what} | {ring:.0} | {aws:.0} | {ratio:.2} ({least:.2} to {most:.2}) |"
                );
            }
        }
    }
}

/// Both libraries have to compute the same: otherwise one of them is used wrongly.
fn agree(one: &dyn Aead, other: &dyn Aead) {
    let mut data = [[5; 1400]; 2];
    let tags = [one.seal([9; 12], &mut data[0]), other.seal([9; 12], &mut data[1])];
    assert_eq!(data[0], data[1]);
    assert_eq!(tags[0], tags[1]);
    let mut sealed = [data[0].as_slice(), &tags[0]].concat();
    other.open([9; 12], &mut sealed);
    assert_eq!(sealed[..1400], [5; 1400]);
}

/// Nanoseconds of one operation on all packets.
fn measure(aead: &dyn Aead, operation: Operation, packets: usize, bytes: usize) -> f64 {
    let each = bytes + TAG;
    let mut sealed = vec![5; packets * each];
    for packet in sealed.chunks_exact_mut(each) {
        let tag = aead.seal([9; 12], &mut packet[..bytes]);
        packet[bytes..].copy_from_slice(&tag);
    }
    let mut work = sealed.clone();
    let mut once = |number: u64| {
        for (packet, sealed) in work.chunks_exact_mut(each).zip(sealed.chunks_exact(each)) {
            match operation {
                Operation::Seal => {
                    let mut nonce = [0; 12];
                    nonce[4..].copy_from_slice(&number.to_be_bytes());
                    let tag = aead.seal(black_box(nonce), &mut packet[..bytes]);
                    packet[bytes..].copy_from_slice(&tag);
                }
                Operation::Open => {
                    packet.copy_from_slice(black_box(sealed));
                    aead.open([9; 12], packet);
                }
            }
            black_box(packet);
        }
    };
    let (start, mut done) = (Instant::now(), 0);
    // The clock is read rarely: it takes as long as a small packet.
    while start.elapsed() < TURN {
        for _ in 0..16 {
            once(done);
            done += 1;
        }
    }
    start.elapsed().as_nanos() as f64 / done as f64
}

/// Sorts them, too.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
