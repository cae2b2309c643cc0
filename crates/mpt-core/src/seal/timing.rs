//! The time that a refusal takes reveals nothing about why the tag is wrong. A packet that was seen
//! before is refused before its tag is examined (docs/protocol.md, section 28.7). That takes less
//! time, and the same time whatever the tag is.
//!
//! A difference is one of the medians of interleaved measurements. On a busy machine the medians of equal kinds differ, too, now in favour of one and now
//! of the other. So a kind counts as the slower one only if it is that in [`FOUND`] of [`ATTEMPTS`] attempts: by chance a given pair is that once in
//! 10 million runs, and any of the 42 pairs of seven kinds once in 250,000. The last test shows on a comparison that stops at the first wrong byte that
//! such a difference is found.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use mpt_wire::control::Suite;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::cipher::{Cipher, KEY_LEN};
use super::nonce::IV_LEN;
use super::tests::{datagram, ends};
use super::{HEADER_LEN, Opener, Refused, TAG_LEN};

/// Measurements of each kind, and packets in each.
const ROUNDS: usize = 301;
const PACKETS: usize = 32;
/// A prime number, and at least as many as there are kinds in a test.
const PLACES_IN_A_ROUND: usize = 7;
/// Attempts to find a difference.
const ATTEMPTS: usize = 40;
/// The attempts in which the same difference has to be found.
const FOUND: usize = 36;
/// The smallest share of the time that counts as a difference.
const SHARE: f64 = 0.02;
/// An acknowledgement of TCP: the shorter the packet, the greater the share of the comparison of tags.
const PLAIN: [u8; 40] = [0x45; 40];
const SUITES: [Suite; 2] = [Suite::Aes256Gcm, Suite::ChaCha20Poly1305];

/// A packet in all the ways in which it can be wrong.
struct Kind {
    what: &'static str,
    number: u32,
    datagram: Vec<u8>,
}

#[expect(clippy::disallowed_methods, reason = "it is the time of the processor that is asked for")]
fn now() -> Instant {
    Instant::now()
}

/// The median time for a packet of each kind, all of which are refused.
fn medians(kinds: &[Kind], refuse: &mut impl FnMut(u32, &mut [u8]) -> bool) -> Vec<f64> {
    let len = kinds[0].datagram.len();
    assert!(
        kinds.len() <= PLACES_IN_A_ROUND && kinds.iter().all(|kind| kind.datagram.len() == len)
    );
    let mut buffer = vec![0; len * PACKETS];
    // Each kind is copied from the same place, since how long a copy is on its way through the caches depends on the two addresses.
    let mut copied = vec![0; len];
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(ROUNDS); kinds.len()];
    for round in 0..ROUNDS {
        // Each kind is measured once in a round, and comes after each other one in turn: steps of any length reach all of a prime number of places.
        for turn in 0..PLACES_IN_A_ROUND {
            let nth = (turn * (1 + round % (PLACES_IN_A_ROUND - 1)) + round) % PLACES_IN_A_ROUND;
            let Some(kind) = kinds.get(nth) else {
                continue;
            };
            // Each kind at the same address, too: a load waits for stores to addresses that end alike.
            let (number, what) = (kind.number, kind.what);
            copied.copy_from_slice(&kind.datagram);
            buffer.chunks_mut(len).for_each(|packet| packet.copy_from_slice(&copied));
            // What was written is in the cache by then: else the time depends on the address of what was copied.
            fence(Ordering::SeqCst);
            let start = now();
            for packet in buffer.chunks_mut(len) {
                assert!(refuse(number, packet), "{what}");
            }
            times[nth].push(now() - start);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() / PACKETS as f64
    };
    times.iter_mut().map(median).collect()
}

/// True if two kinds can be told from one another by the time they take.
fn differ(kinds: &[Kind], mut refuse: impl FnMut(u32, &mut [u8]) -> bool) -> bool {
    told_apart(kinds.len(), || {
        let times = medians(kinds, &mut refuse);
        let shown = kinds.iter().zip(&times);
        let shown: Vec<_> =
            shown.map(|(it, time)| format!("{} {:.1}", it.what, time * 1e9)).collect();
        eprintln!("{} ns", shown.join(", "));
        times
    })
}

/// True if of this many kinds the same one is slower than the same other one in nearly every attempt. What else runs on the machine makes now one and
/// now another one slow.
fn told_apart(kinds: usize, mut attempt: impl FnMut() -> Vec<f64>) -> bool {
    let pairs = (0..kinds).flat_map(|slow| (0..kinds).map(move |fast| (slow, fast)));
    let mut slower: Vec<((usize, usize), usize)> = pairs.map(|pair| (pair, 0)).collect();
    for made in 1..=ATTEMPTS {
        let times = attempt();
        slower.retain_mut(|((slow, fast), found)| {
            *found += usize::from(times[*slow] > times[*fast] * (1.0 + SHARE));
            made - *found <= ATTEMPTS - FOUND
        });
        if slower.is_empty() {
            return false;
        }
    }
    true
}

/// A packet with this number, and that with a bit changed at one place and another, counted from the end.
fn changed(good: &[u8], number: u32, places: &[(&'static str, usize)]) -> Vec<Kind> {
    let kind = |&(what, from_end): &(&'static str, usize)| {
        let mut datagram = good.to_vec();
        let at = datagram.len() - from_end;
        datagram[at] ^= 1;
        Kind { what, number, datagram }
    };
    places.iter().map(kind).collect()
}

/// Bytes from the end of a packet.
const PLACES: [(&str, usize); 5] = [
    ("first byte of the tag", TAG_LEN),
    ("last byte of the tag", 1),
    ("first byte of the packet", TAG_LEN + PLAIN.len()),
    ("last byte of the packet", TAG_LEN + 1),
    ("the header's index", TAG_LEN + PLAIN.len() + 8),
];

/// An opener that has seen the first of two packets, and both of them.
fn opener(suite: Suite) -> (Opener, [Vec<u8>; 2]) {
    let (initiator, responder) = ends(suite, 7);
    let packets = [7, 8].map(|number| datagram(&initiator.sealer, number, &PLAIN).unwrap());
    let mut opener = responder.opener;
    assert!(opener.open(7, 0, &mut packets[0].clone()).is_ok());
    (*opener, packets)
}

#[test]
fn a_wrong_tag_takes_the_same_time_wherever_it_is_wrong() {
    for suite in SUITES {
        let (mut opener, [_, fresh]) = opener(suite);
        let mut kinds = changed(&fresh, 8, &PLACES);
        // Another number than that under which it was sealed, near and far.
        for (what, number) in [("the next number", 9_u32), ("a far number", 60_000)] {
            let mut datagram = fresh.clone();
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            kinds.push(Kind { what, number, datagram });
        }
        let refuse =
            |number, packet: &mut [u8]| opener.open(number, 0, packet) == Err(Refused::Unopened);
        assert!(!differ(&kinds, refuse), "{suite:?}");
    }
}

#[test]
fn a_repeated_packet_takes_the_same_time_whatever_its_tag_is() {
    for suite in SUITES {
        let (mut opener, [seen, _]) = opener(suite);
        let mut kinds = changed(&seen, 7, &PLACES);
        kinds.push(Kind { what: "nothing", number: 7, datagram: seen });
        let refuse =
            |number, packet: &mut [u8]| opener.open(number, 0, packet) == Err(Refused::Replayed);
        assert!(!differ(&kinds, refuse), "{suite:?}");
    }
}

/// An opener whose comparison stops at the first byte that is wrong is found.
#[test]
fn a_comparison_that_ends_early_would_be_noticed() {
    for suite in SUITES {
        let cipher = Cipher::new(suite, &[3; KEY_LEN], [4; IV_LEN]).unwrap();
        let mut good = vec![0; HEADER_LEN];
        good.extend_from_slice(&PLAIN);
        good.resize(good.len() + TAG_LEN, 0);
        let (header, body) = good.split_at_mut(HEADER_LEN);
        assert!(cipher.seal(8, header, body));
        let refuse = |number: u32, packet: &mut [u8]| {
            let mut tag = [0; TAG_LEN];
            let (front, end) = packet.split_at_mut(packet.len() - TAG_LEN);
            tag.copy_from_slice(end);
            let (header, body) = front.split_at_mut(HEADER_LEN);
            body.copy_from_slice(&PLAIN);
            let mut again = [0; PLAIN.len() + TAG_LEN];
            again[..PLAIN.len()].copy_from_slice(body);
            assert!(cipher.seal(u64::from(number), header, &mut again));
            let right = &again[PLAIN.len()..];
            !(0..TAG_LEN).all(|at| std::hint::black_box(tag[at]) == std::hint::black_box(right[at]))
        };
        let kinds = changed(&good, 8, &PLACES[..2]);
        assert!(differ(&kinds, refuse), "{suite:?}");
    }
}

/// A machine so busy that each median is another one each time makes no difference between kinds that are equal, and hides none of a half.
#[test]
fn what_a_busy_machine_makes_of_the_medians_is_no_difference() {
    let mut random = ChaCha20Rng::seed_from_u64(1);
    let mut busy = |time: f64| time + 20.0 * f64::from(random.next_u32()) / f64::from(u32::MAX);
    for _ in 0..10_000 {
        let equal = told_apart(7, || (0..7).map(|_| busy(60.0)).collect());
        assert!(!equal);
    }
    for _ in 0..100 {
        assert!(told_apart(2, || vec![busy(60.0), busy(90.0)]));
    }
}
