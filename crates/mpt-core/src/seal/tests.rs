//! Both ends of sealed data, without connections around them.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use mpt_wire::control::{Sealing, Suite, Suites};
use mpt_wire::gre;
use proptest::prelude::*;

use super::keys::{Agreement, Keys, Split};
use super::{HEADER_LEN, Opener, Refused, Sealer, TAG_LEN};

const PLAIN: &[u8] = b"an inner packet, or what looks like one";

/// The keys of both ends, of which the initiator counts from `first`.
pub(super) fn ends(suite: Suite, first: u64) -> (Keys, Keys) {
    let split = Split::new(&[1; 32], &[2; 32]);
    let sealing = |index, first| Sealing { index, suites: Suites::only(suite), first };
    let (initiator, responder) = (sealing(0x0a0b_0c0d, first), sealing(0x1a1b_1c1d, 5));
    let agreement = Agreement { suite, initiator, responder };
    (split.keys(&agreement, true).unwrap(), split.keys(&agreement, false).unwrap())
}

/// A datagram with this number, sealed.
fn sealed(sealer: &Sealer, number: u64) -> Option<Vec<u8>> {
    datagram(sealer, number, PLAIN)
}

/// A datagram with this number and content, sealed.
pub(super) fn datagram(sealer: &Sealer, number: u64, plain: &[u8]) -> Option<Vec<u8>> {
    let mut datagram = vec![0; HEADER_LEN];
    let header = gre::Repr {
        protocol: gre::Protocol::SEALED,
        checksum: false,
        key: Some(sealer.index()),
        sequence: Some(number as u32),
    };
    header.emit(&mut datagram);
    datagram.extend_from_slice(plain);
    datagram.resize(datagram.len() + TAG_LEN, 0);
    sealer.seal(number as u32, None, &mut datagram).then_some(datagram)
}

/// Opens a copy of a datagram on a path: whether it is the first one.
fn open(opener: &mut Opener, slot: u16, datagram: &[u8]) -> Result<bool, Refused> {
    let mut datagram = datagram.to_vec();
    let number = u32::from_be_bytes(datagram[8..12].try_into().unwrap());
    let opened = opener.open(number, slot, &mut datagram)?;
    assert_eq!(&datagram[HEADER_LEN..opened.len], PLAIN);
    Ok(!opened.copy)
}

#[test]
fn each_end_opens_what_the_other_one_seals_and_nothing_of_its_own() {
    for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let (mut initiator, mut responder) = ends(suite, 0);
        let there = sealed(&initiator.sealer, 0).unwrap();
        let back = sealed(&responder.sealer, 5).unwrap();
        assert!(!there.windows(8).any(|part| PLAIN.starts_with(part)));
        assert_eq!(open(&mut initiator.opener, 0, &there), Err(Refused::Unopened));
        assert_eq!(open(&mut responder.opener, 0, &there), Ok(true));
        assert_eq!(open(&mut initiator.opener, 0, &back), Ok(true));
    }
}

#[test]
fn keys_depend_on_suite_and_indices() {
    let (aes, chacha) = (ends(Suite::Aes256Gcm, 0), ends(Suite::ChaCha20Poly1305, 0));
    let datagram = sealed(&aes.0.sealer, 0).unwrap();
    let mut opener = chacha.1.opener;
    assert_eq!(open(&mut opener, 0, &datagram), Err(Refused::Unopened));
}

#[test]
fn no_changed_byte_goes_unnoticed_and_what_is_refused_changes_nothing() {
    let (initiator, mut responder) = ends(Suite::Aes256Gcm, 0);
    let good = sealed(&initiator.sealer, 0).unwrap();
    for at in (0..good.len()).filter(|at| !(8..12).contains(at)) {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert_eq!(open(&mut responder.opener, 0, &bad), Err(Refused::Unopened), "byte {at}");
        }
    }
    // Another number, with and without the bytes of the header that say so.
    for number in [1, 65_535, 65_536, 1 << 31, u32::MAX] {
        let mut bad = good.clone();
        assert_eq!(responder.opener.open(number, 0, &mut bad), Err(Refused::Unopened));
        let mut bad = good.clone();
        bad[8..12].copy_from_slice(&number.to_be_bytes());
        assert_eq!(open(&mut responder.opener, 0, &bad), Err(Refused::Unopened));
    }
    for len in 0..good.len() {
        let mut short = good[..len].to_vec();
        assert_eq!(responder.opener.open(0, 0, &mut short), Err(Refused::Unopened));
    }
    assert_eq!(open(&mut responder.opener, 0, &good), Ok(true));
    assert_eq!(open(&mut responder.opener, 0, &good), Err(Refused::Replayed));
    assert_eq!(open(&mut responder.opener, 1, &good), Ok(false), "a copy over another path");
    assert_eq!(open(&mut responder.opener, 1, &good), Err(Refused::Replayed));
}

#[test]
fn a_number_is_sealed_once_and_in_order() {
    let (initiator, _) = ends(Suite::ChaCha20Poly1305, 7);
    let sealer = initiator.sealer;
    assert!(sealed(&sealer, 6).is_none(), "below the first");
    assert!(sealed(&sealer, 7).is_some() && sealed(&sealer, 7).is_none());
    assert!(sealed(&sealer, 9).is_some() && sealed(&sealer, 8).is_none());
    assert!(sealed(&sealer, 10).is_some());
}

#[test]
fn keys_end_after_2_to_the_27_packets_and_ask_for_others_before() {
    let (initiator, _) = ends(Suite::ChaCha20Poly1305, (1 << 32) - 10);
    let sealer = initiator.sealer;
    let first: u64 = (1 << 32) - 10;
    assert!(sealed(&sealer, first).is_some() && !sealer.is_worn());
    assert!(sealed(&sealer, first + (1 << 26) - 2).is_some() && !sealer.is_worn());
    assert!(sealed(&sealer, first + (1 << 26) - 1).is_some() && sealer.is_worn());
    let last = first + (1 << 27) - 1;
    assert!(sealer.has_room(last as u32, 1) && !sealer.has_room(last as u32, 2));
    assert!(sealed(&sealer, last).is_some());
    assert!(!sealer.has_room((last + 1) as u32, 1) && sealed(&sealer, last + 1).is_none());
    assert!(sealer.is_worn());
}

#[test]
fn keys_for_higher_numbers_than_a_connection_has_come_to_seal_nothing() {
    let (initiator, _) = ends(Suite::ChaCha20Poly1305, 1000);
    // The connection was made again and counts from 0.
    assert!(!initiator.sealer.skip_to(0));
    assert!(sealed(&initiator.sealer, 1000).is_none() && sealed(&initiator.sealer, 0).is_none());
    let (initiator, mut responder) = ends(Suite::ChaCha20Poly1305, 1000);
    // It has gone on since the handshake.
    assert!(initiator.sealer.skip_to(70_000));
    let datagram = sealed(&initiator.sealer, 70_000).unwrap();
    assert_eq!(open(&mut responder.opener, 0, &datagram), Ok(true));
}

#[test]
fn numbers_go_on_over_2_to_the_32_and_up_to_the_end_of_64_bits() {
    for first in [(1 << 32) - 3, (1 << 48) - 3, (7 << 32) + 0xffff_fffd, u64::MAX - 5] {
        let (initiator, mut responder) = ends(Suite::Aes256Gcm, first);
        let numbers: Vec<u64> = (first..first.saturating_add(6)).collect();
        let mut datagrams: Vec<Vec<u8>> =
            numbers.iter().filter_map(|&number| sealed(&initiator.sealer, number)).collect();
        assert!(datagrams.len() >= 4);
        datagrams.reverse();
        for datagram in &datagrams {
            assert_eq!(open(&mut responder.opener, 0, datagram), Ok(true));
            assert_eq!(open(&mut responder.opener, 0, datagram), Err(Refused::Replayed));
        }
    }
}

/// A datagram with this number and content, sealed while packets from `kept_from` on are kept. What is
/// refused shows nothing of what it would have become.
fn kept(sealer: &Sealer, number: u64, content: u8, kept_from: Option<u64>) -> Option<Vec<u8>> {
    let mut datagram = vec![0; HEADER_LEN];
    datagram.extend_from_slice(PLAIN);
    datagram.push(content);
    let plain = datagram.clone();
    datagram.resize(datagram.len() + TAG_LEN, 0);
    let may_leave = sealer.seal(number as u32, kept_from.map(|from| from as u32), &mut datagram);
    if !may_leave {
        let body = &datagram[HEADER_LEN..];
        assert!(datagram.starts_with(&plain) || body.iter().all(|&byte| byte == 0));
    }
    may_leave.then_some(datagram)
}

#[test]
fn a_number_becomes_the_same_bytes_again_while_it_is_kept_and_never_others() {
    let (initiator, mut responder) = ends(Suite::Aes256Gcm, (1 << 32) - 2);
    let (sealer, first) = (initiator.sealer, (1_u64 << 32) - 2);
    let datagrams: Vec<_> =
        (first..first + 5).map(|it| kept(&sealer, it, 0, Some(first)).unwrap()).collect();
    for (number, before) in (first..).zip(&datagrams) {
        assert!(sealer.can_repeat(number as u32));
        assert_eq!(kept(&sealer, number, 1, Some(first)), None, "another packet");
        assert_eq!(kept(&sealer, number, 0, Some(first)).as_ref(), Some(before));
    }
    assert_eq!((sealer.take_differing(), sealer.take_differing()), (5, 0));
    assert!(!sealer.can_repeat((first - 1) as u32) && !sealer.can_repeat((first + 5) as u32));
    // From the next packet on, those below `first + 3` are not kept any more. After a packet that is not kept, none is.
    assert!(kept(&sealer, first + 5, 0, Some(first + 3)).is_some());
    assert_eq!(kept(&sealer, first + 2, 0, Some(first + 3)), None);
    assert!(kept(&sealer, first + 3, 0, Some(first + 3)).is_some());
    assert!(kept(&sealer, first + 6, 0, None).is_some());
    assert!(!sealer.can_repeat((first + 5) as u32) && !sealer.can_repeat((first + 6) as u32));
    assert_eq!(kept(&sealer, first + 5, 0, None), None);
    let mut datagram = sealed(&sealer, first + 7).unwrap();
    assert!(responder.opener.open((first + 7) as u32, 0, &mut datagram).is_ok());
    assert_eq!(sealer.take_differing(), 0);
}

proptest! {
    /// Whatever is given to the sealers of two handshakes in whatever order, with whatever is kept.
    #[test]
    fn no_key_and_number_ever_become_two_packets(
        steps in prop::collection::vec(
            (any::<bool>(), 0_u64..40, 0_u8..3, prop::option::of(0_u64..40)), 1..300,
        ),
    ) {
        let (a, b) = (ends(Suite::Aes256Gcm, 0).0, ends(Suite::ChaCha20Poly1305, 0).0);
        let mut before = std::collections::BTreeMap::new();
        for (second, number, content, kept_from) in steps {
            let sealer = if second { &b.sealer } else { &a.sealer };
            let Some(datagram) = kept(sealer, number, content, kept_from) else { continue };
            let first = before.entry((second, number)).or_insert_with(|| (content, datagram.clone()));
            prop_assert_eq!(&*first, &(content, datagram));
        }
    }

    #[test]
    fn whatever_is_lost_repeated_and_reordered_within_65536_each_packet_is_opened_once(
        first in prop_oneof![Just(0), Just((1_u64 << 32) - 200_000), 0..u64::MAX >> 1],
        steps in prop::collection::vec((1_u64..50_000, 0_u64..65_535, 0_u16..3), 1..60),
    ) {
        let (initiator, mut responder) = ends(Suite::ChaCha20Poly1305, first);
        let (mut sent, mut highest): (Vec<(u64, Vec<u8>)>, Option<u64>) = (Vec::new(), None);
        let mut seen = std::collections::BTreeMap::new();
        let mut next = first;
        for (ahead, behind, slot) in steps {
            next += ahead;
            if let Some(datagram) = sealed(&initiator.sealer, next) {
                sent.push((next, datagram));
            }
            // Any that was sent comes, again or for the first time.
            let at = (behind as usize) % sent.len().max(1);
            let Some((number, datagram)) = sent.get(at) else { continue };
            let old = highest.is_some_and(|highest| number + 65_536 <= highest);
            let before: &mut Vec<u16> = seen.entry(*number).or_default();
            let outcome = open(&mut responder.opener, slot, datagram);
            if old || before.contains(&slot) {
                prop_assert_eq!(outcome, Err(Refused::Replayed));
            } else if before.is_empty() {
                prop_assert_eq!(outcome, Ok(true));
            } else {
                // A copy, unless it is too late to say anything about its path.
                prop_assert!(matches!(outcome, Ok(false) | Err(Refused::Replayed)));
            }
            if outcome.is_ok() {
                before.push(slot);
                highest = highest.max(Some(*number));
            }
        }
    }
}
