use std::collections::{BTreeMap, BTreeSet};

use mpt_wire::control::Offsets;
use proptest::prelude::*;

use super::super::encoder::{Encoder, Strength};
use super::*;
use crate::PathId;

#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
fn origin() -> Instant {
    Instant::now()
}

/// An IPv4 packet of `len` bytes, at least 24, that differ with `n`.
fn packet(n: u32, len: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..len).map(|i| (i as u32 * 7 + n * 13) as u8).collect();
    let [high, low] = (len as u16).to_be_bytes();
    packet[..4].copy_from_slice(&[0x45, 0, high, low]);
    (packet[6], packet[7], packet[9]) = (0, 0, 17);
    packet[len - 1] = 0xff;
    packet
}

/// A symbol as it was sent.
#[derive(Clone)]
struct Sent {
    first: u32,
    offsets: Offsets,
    counts: (u8, u8),
    parity: Vec<u8>,
}

impl Sent {
    fn symbol(&self) -> Symbol<'_> {
        Symbol::new(self.first, &self.offsets, self.counts, &self.parity)
    }
}

/// A transmission: the packet of this number, or a symbol.
#[derive(Clone)]
enum Event {
    Packet(u32),
    Symbol(Sent),
}

/// A stream of packets with symbols, and what came of it.
struct Stream {
    packets: BTreeMap<u32, Vec<u8>>,
    events: Vec<Event>,
}

impl Stream {
    /// Packets of these lengths, one symbol for so many.
    fn new(first: u32, lengths: &[usize], every: usize) -> Self {
        let now = origin();
        let mut encoder = Encoder::new();
        let (mut packets, mut events) = (BTreeMap::new(), Vec::new());
        for (n, &len) in (0..).zip(lengths) {
            // Others have numbers between them.
            let number = first.wrapping_add(3 * n);
            let packet = packet(n, len);
            assert!(encoder.expect(now, 1, Strength::EveryNth(every)));
            encoder.note(number, PathId::first(0), [&packet, &[]]);
            packets.insert(number, packet);
            events.push(Event::Packet(number));
            if let Some(ready) = encoder.take(now) {
                let (first, offsets, counts) = (ready.first, ready.offsets, ready.counts);
                let parity = ready.parity.to_vec();
                events.push(Event::Symbol(Sent { first, offsets, counts, parity }));
            }
        }
        Self { packets, events }
    }

    /// Returns what comes if these events of the stream are lost.
    fn lose(&self, lost: &BTreeSet<usize>) -> (BTreeMap<u32, Vec<u8>>, FecCounters) {
        let now = origin();
        let mut restorer = Restorer::new();
        // The receiver knows of the symbols already.
        restorer.longest = MAX_LEN;
        let mut came = BTreeMap::new();
        for (place, event) in self.events.iter().enumerate() {
            if lost.contains(&place) {
                continue;
            }
            match event {
                Event::Packet(number) => {
                    restorer.note(*number, &self.packets[number]);
                    came.insert(*number, self.packets[number].clone());
                }
                Event::Symbol(sent) => restorer.handle(now, &sent.symbol()),
            }
            while let Some(Restored { number, packet }) = restorer.take() {
                assert_eq!(came.insert(number, packet), None, "{number} comes once");
            }
        }
        (came, restorer.counters())
    }
}

#[test]
fn one_loss_in_a_group_and_two_are_restored() {
    for start in [0, u32::MAX - 20] {
        let lengths = [200, 24, 100, 300, 24, 200, MAX_LEN, 40, 24, 60, 60, 60];
        let stream = Stream::new(start, &lengths, 3);
        // Events 0, 1, 2 are packets and 3 is the symbol, and so on.
        for lost in [[4, 4], [5, 6], [4, 6], [0, 10], [4, 8], [8, 9]] {
            let (came, counters) = stream.lose(&lost.into_iter().collect());
            assert_eq!(came, stream.packets, "{lost:?}");
            assert_eq!(counters.fec_recovered, BTreeSet::from(lost).len() as u64);
            assert_eq!((counters.fec_useless, counters.fec_recovered_early), (0, 0));
        }
    }
}

#[test]
fn a_symbol_that_is_lost_costs_nothing_by_itself() {
    let stream = Stream::new(5, &[200; 12], 3);
    for packet in [4, 5, 6] {
        // The symbol of its own group is lost: the next one restores it.
        let (came, _) = stream.lose(&[packet, 7].into_iter().collect());
        assert_eq!(came, stream.packets);
    }
}

#[test]
fn what_comes_by_itself_after_it_was_restored_is_counted() {
    let stream = Stream::new(5, &[200; 3], 3);
    let mut restorer = Restorer::new();
    restorer.longest = MAX_LEN;
    for number in [5, 11] {
        restorer.note(number, &stream.packets[&number]);
    }
    let Event::Symbol(sent) = &stream.events[3] else { panic!("a symbol") };
    restorer.handle(origin(), &sent.symbol());
    assert_eq!(restorer.take().map(|it| it.number), Some(8));
    restorer.note(8, &stream.packets[&8]);
    let counters = restorer.counters();
    assert_eq!((counters.fec_recovered, counters.fec_recovered_early), (1, 1));
}

/// Two packets of a group, of which the third one is missing, and its symbol.
fn gap() -> (Restorer, Sent) {
    let stream = Stream::new(100, &[200; 3], 3);
    let mut restorer = Restorer::new();
    restorer.longest = MAX_LEN;
    for number in [100, 103] {
        restorer.note(number, &stream.packets[&number]);
    }
    let Event::Symbol(sent) = stream.events[3].clone() else { panic!("a symbol") };
    (restorer, sent)
}

fn offsets(numbers: &[u32]) -> (u32, Offsets) {
    Offsets::of(numbers.iter().copied()).expect("near one another")
}

#[test]
fn a_symbol_longer_than_any_packet_is_ignored_and_counted() {
    let (mut restorer, sent) = gap();
    restorer.handle(origin(), &Sent { parity: vec![1; MAX_LEN + 1], ..sent }.symbol());
    assert_eq!((restorer.counters().fec_too_long, restorer.symbols.len()), (1, 0));
}

#[test]
fn a_symbol_of_numbers_that_nobody_sends_now_is_ignored_and_counted() {
    for numbers in [
        [40_000, 40_001, 40_002],
        [1 << 31, (1 << 31) + 1, (1 << 31) + 2],
        [100, 100, 101],
        [103, 100, 106],
    ] {
        let (mut restorer, sent) = gap();
        let (first, offsets) = match Offsets::of(numbers) {
            Some(numbers) => numbers,
            None => continue,
        };
        restorer.handle(origin(), &Sent { first, offsets, ..sent }.symbol());
        let counters = restorer.counters();
        assert_eq!((counters.fec_wrong_numbers, restorer.symbols.len()), (1, 0), "{numbers:?}");
        assert!(restorer.take().is_none());
    }
}

#[test]
fn a_flood_of_symbols_is_cut_off_and_counted() {
    let (mut restorer, sent) = gap();
    let (first, offsets) = offsets(&[100, 104, 105]);
    let flood = Sent { first, offsets, ..sent.clone() };
    for _ in 0..10_000 {
        restorer.handle(origin(), &flood.symbol());
    }
    assert!(restorer.counters().fec_flood > 9_900);
    assert!(restorer.symbols.len() <= MOST_SYMBOLS);
    // As many as packets come are taken again.
    restorer.note(200, &packet(9, 50));
    restorer.handle(origin(), &sent.symbol());
    assert_eq!(restorer.take().map(|it| it.number), Some(106));
}

#[test]
fn a_symbol_that_gives_no_packet_is_ignored_and_counted() {
    let (mut restorer, sent) = gap();
    let mut parity = sent.parity.clone();
    parity[0] ^= 0xff;
    restorer.handle(origin(), &Sent { parity, ..sent.clone() }.symbol());
    assert_eq!((restorer.counters().fec_useless, restorer.symbols.len()), (1, 0));
    // Shorter than a packet that it is to contain.
    restorer
        .handle(origin(), &Sent { parity: sent.parity[..30].to_vec(), ..sent.clone() }.symbol());
    assert_eq!((restorer.counters().fec_useless, restorer.symbols.len()), (2, 0));
    assert!(restorer.take().is_none());
    restorer.handle(origin(), &sent.symbol());
    assert_eq!(restorer.take().map(|it| it.number), Some(106));
}

#[test]
fn symbols_that_are_too_old_are_forgotten() {
    let (mut restorer, sent) = gap();
    let (first, numbers) = offsets(&[100, 104, 105]);
    let now = origin();
    restorer.handle(now, &Sent { first, offsets: numbers, ..sent.clone() }.symbol());
    assert_eq!(restorer.symbols.len(), 1);
    restorer.handle(now + Duration::from_secs(1), &sent.symbol());
    assert_eq!(restorer.symbols.len(), 0, "the other one has done its work");
}

proptest! {
    /// Whatever is lost: what is restored is what was sent. Where no two neighbouring groups have lost
    /// anything, and no symbol is lost, all comes up to the last group but one.
    #[test]
    fn what_is_restored_is_what_was_sent(
        first in any::<u32>(),
        lengths in proptest::collection::vec(24..400_usize, 12..60),
        every in 2..8_usize,
        lost in proptest::collection::btree_set(0..80_usize, 0..20),
    ) {
        let stream = Stream::new(first, &lengths, every);
        let (came, counters) = stream.lose(&lost);
        for (number, packet) in &came {
            prop_assert_eq!(packet, &stream.packets[number]);
        }
        prop_assert_eq!(counters.fec_useless, 0);
        let groups: Vec<(usize, bool)> = (0..stream.events.len() / (every + 1))
            .map(|group| {
                let begin = group * (every + 1);
                let packets = (begin..begin + every).filter(|it| lost.contains(it)).count();
                (packets, lost.contains(&(begin + every)))
            })
            .collect();
        for (group, &(packets, _)) in groups.iter().enumerate().take(groups.len().saturating_sub(2)) {
            let others = [group.wrapping_sub(1), group + 1];
            let clean = others.iter().all(|&it| groups.get(it).is_none_or(|it| *it == (0, false)));
            if clean && packets <= 2 && !groups[group].1 {
                let begin = group * every;
                for n in begin..begin + every {
                    let number = first.wrapping_add(3 * n as u32);
                    prop_assert!(came.contains_key(&number), "{} of group {}", n, group);
                }
            }
        }
    }

    /// Whatever comes, in whatever order: nothing is kept beyond the bounds, and it ends.
    #[test]
    fn no_peer_takes_more_than_the_bounds(
        steps in proptest::collection::vec(
            (any::<bool>(), 0..200_u32, 0..9_u8, 1..9_u8, 1..1_200_usize, any::<u8>()),
            1..200,
        )
    ) {
        let now = origin();
        let mut restorer = Restorer::new();
        for (symbol, number, earlier, present, len, fill) in steps {
            if symbol {
                let numbers = (0..u32::from(earlier + present)).map(|n| number + n * (1 + u32::from(fill % 3)));
                let (first, offsets) = Offsets::of(numbers).expect("near one another");
                let parity = vec![fill; len];
                let counts = (earlier, present);
                restorer.handle(now, &Sent { first, offsets, counts, parity }.symbol());
            } else {
                restorer.note(number, &packet(number, len.clamp(24, MAX_LEN)));
            }
            prop_assert!(restorer.symbols.len() <= MOST_SYMBOLS);
            prop_assert!(restorer.restored.len() <= MOST_RESTORED);
            prop_assert!(restorer.known.len() <= 2 * MOST_RESTORED);
        }
    }
}
