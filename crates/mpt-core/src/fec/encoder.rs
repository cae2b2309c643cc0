//! The sender: repair symbols of the packets of protected classes.

use std::time::{Duration, Instant};

use mpt_wire::control::{MAX_GROUP, Offsets, Symbol};
use smallvec::SmallVec;

use super::code::{Code, MAX_LEN, Parities, add};
use super::counters::FecCounters;
use crate::PathId;
use crate::sequence::Sequence;

/// A group ends so long after its first packet, however few it has.
const LONGEST: Duration = Duration::from_millis(25);
/// Behind such a pause the group before is not protected any further: its packets have come, or are of no use.
const PAUSE: Duration = Duration::from_millis(200);

/// Packets that share a parity, in the order of their numbers.
#[derive(Clone, Debug)]
struct Group {
    numbers: SmallVec<[u32; MAX_GROUP]>,
    paths: SmallVec<[PathId; MAX_GROUP]>,
    parities: Parities,
}

impl Group {
    fn new() -> Self {
        Self { numbers: SmallVec::new(), paths: SmallVec::new(), parities: Parities::new() }
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.paths.clear();
        self.parities.clear();
    }
}

/// The rate of symbols, by the share of packets lost on the path that carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// No symbol is sent, since next to nothing is lost.
    Off,
    /// One is sent for so many packets.
    EveryNth(usize),
}

impl Strength {
    /// Returns how often symbols are sent where this share is lost.
    pub(crate) fn of(loss: f64) -> Self {
        match loss {
            ..0.000_5 => Self::Off,
            ..0.003 => Self::EveryNth(8),
            ..0.008 => Self::EveryNth(5),
            ..0.02 => Self::EveryNth(4),
            ..0.06 => Self::EveryNth(3),
            _ => Self::EveryNth(2),
        }
    }
}

/// A symbol that is to be sent.
pub(crate) struct Ready<'a> {
    /// The paths that carried packets of its present group: another one is to carry the symbol.
    pub(crate) paths: &'a [PathId],
    pub(crate) first: u32,
    pub(crate) offsets: Offsets,
    pub(crate) counts: (u8, u8),
    pub(crate) parity: &'a [u8],
}

impl Ready<'_> {
    /// Returns the message.
    pub(crate) fn symbol(&self) -> Symbol<'_> {
        Symbol::new(self.first, &self.offsets, self.counts, self.parity)
    }
}

/// The sender's side of a connection.
#[derive(Debug)]
pub(crate) struct Encoder {
    code: Code,
    strength: Strength,
    present: Group,
    earlier: Group,
    /// The time at which the first packet of the present group was given its number, and how many have been since.
    opened: Option<Instant>,
    expected: usize,
    /// The time at which the group before ended.
    ended: Option<Instant>,
    /// The last number that was noted.
    last: Option<Sequence>,
    /// The sum that is sent.
    sum: Box<[u8; MAX_LEN]>,
    counters: FecCounters,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            code: Code::new(),
            strength: Strength::Off,
            present: Group::new(),
            earlier: Group::new(),
            opened: None,
            expected: 0,
            ended: None,
            last: None,
            sum: Box::new([0; MAX_LEN]),
            counters: FecCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> FecCounters {
        self.counters
    }

    /// Packets of a protected class leave now: the group ends when it has enough of them. `strength` counts from the
    /// next group on. Returns false if they are not protected.
    pub(crate) fn expect(&mut self, now: Instant, packets: usize, strength: Strength) -> bool {
        if self.opened.is_none() {
            self.strength = strength;
            if strength == Strength::Off {
                self.earlier.clear();
                return false;
            }
            self.opened = Some(now);
        }
        self.expected += packets;
        true
    }

    /// A packet, in two pieces, leaves under a number, over a path. Copies and repairs are known by their number, and left out.
    pub(crate) fn note(&mut self, number: u32, path: PathId, packet: [&[u8]; 2]) {
        let number = Sequence(number);
        if self.last.is_some_and(|last| !number.is_after(last)) {
            return;
        }
        self.last = Some(number);
        let place = self.present.numbers.len();
        let len = packet[0].len() + packet[1].len();
        if len == 0 || len > MAX_LEN || place == MAX_GROUP {
            self.counters.fec_unprotected += 1;
            return;
        }
        self.code.add(place, 0, packet[0], &mut self.present.parities);
        self.code.add(place, packet[0].len(), packet[1], &mut self.present.parities);
        self.present.numbers.push(number.0);
        if !self.present.paths.contains(&path) {
            self.present.paths.push(path);
        }
    }

    /// Returns when the next symbol is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let opened = self.opened?;
        let full = match self.strength {
            Strength::EveryNth(most) => self.expected >= most,
            Strength::Off => true,
        };
        Some(if full { opened } else { opened + LONGEST })
    }

    /// Ends the group that is due. Returns its symbol.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Ready<'_>> {
        self.due().filter(|&due| due <= now)?;
        (self.opened, self.expected) = (None, 0);
        if self.present.numbers.is_empty() {
            return None;
        }
        if self.ended.is_some_and(|ended| now > ended + PAUSE) {
            self.earlier.clear();
        }
        self.ended = Some(now);
        let both = || self.earlier.numbers.iter().chain(&self.present.numbers).copied();
        let (first, offsets) = match Offsets::of(both()) {
            Some(numbers) => numbers,
            None => {
                self.earlier.clear();
                Offsets::of(self.present.numbers.iter().copied())?
            }
        };
        let counts = (self.earlier.numbers.len() as u8, self.present.numbers.len() as u8);
        let (second, parity) = (self.earlier.parities.get(1), self.present.parities.get(0));
        let len = second.len().max(parity.len());
        let sum = &mut self.sum[..len];
        sum.fill(0);
        add(sum, second);
        add(sum, parity);
        std::mem::swap(&mut self.earlier, &mut self.present);
        self.present.clear();
        let (paths, parity) = (&self.earlier.paths[..], &self.sum[..len]);
        Some(Ready { paths, first, offsets, counts, parity })
    }

    /// A symbol was sent, of so many bytes.
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.counters.fec_symbols_sent += 1;
        self.counters.fec_bytes_sent += bytes;
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    const EVERY_SECOND: Strength = Strength::EveryNth(2);

    fn give(encoder: &mut Encoder, now: Instant, number: u32, packet: &[u8]) {
        if encoder.expect(now, 1, EVERY_SECOND) {
            let (head, tail) = packet.split_at(packet.len() / 2);
            encoder.note(number, PathId::first(7), [head, tail]);
        }
    }

    #[test]
    fn a_symbol_is_the_sum_of_both_parities_and_names_both_groups() {
        let now = Instant::now();
        let mut encoder = Encoder::new();
        let start = u32::MAX - 1;
        give(&mut encoder, now, start, &[1, 2, 3]);
        assert!(encoder.take(now).is_none());
        give(&mut encoder, now, start.wrapping_add(5), &[4]);
        let ready = encoder.take(now).expect("a symbol");
        let symbol = ready.symbol();
        assert!(symbol.numbers().eq([u32::MAX - 1, 3]));
        assert_eq!((symbol.earlier, symbol.present, symbol.parity.len()), (0, 2, 3));
        assert_eq!(ready.paths, [PathId::first(7)]);
        give(&mut encoder, now, 9, &[0; 5]);
        give(&mut encoder, now, 10, &[0; 5]);
        let code = Code::new();
        let mut parities = Parities::new();
        code.add(0, 0, &[1, 2, 3], &mut parities);
        code.add(1, 0, &[4], &mut parities);
        let ready = encoder.take(now).expect("a symbol");
        let symbol = ready.symbol();
        assert!(symbol.numbers().eq([u32::MAX - 1, 3, 9, 10]));
        assert_eq!((symbol.earlier, symbol.present), (2, 2));
        assert_eq!(symbol.parity[..3], *parities.get(1));
        assert_eq!(symbol.parity[3..], [0; 2]);
    }

    #[test]
    fn a_group_ends_when_it_is_full_or_old() {
        let now = Instant::now();
        let mut encoder = Encoder::new();
        assert_eq!(encoder.due(), None);
        give(&mut encoder, now, 1, &[1]);
        assert_eq!(encoder.due(), Some(now + LONGEST));
        assert!(encoder.take(now + LONGEST).is_some());
        give(&mut encoder, now, 2, &[1]);
        give(&mut encoder, now, 3, &[1]);
        assert_eq!(encoder.due(), Some(now));
    }

    #[test]
    fn what_is_too_long_or_too_much_is_left_out_and_counted() {
        let now = Instant::now();
        let mut encoder = Encoder::new();
        give(&mut encoder, now, 1, &[1; MAX_LEN + 1]);
        give(&mut encoder, now, 2, &[]);
        assert!(encoder.take(now).is_none());
        assert_eq!(encoder.counters().fec_unprotected, 2);
        for number in 3..3 + MAX_GROUP as u32 + 5 {
            give(&mut encoder, now, number, &[1; MAX_LEN]);
            // A copy, or a repair.
            give(&mut encoder, now, number, &[1; MAX_LEN]);
        }
        assert_eq!(encoder.counters().fec_unprotected, 7);
        let ready = encoder.take(now).expect("a symbol");
        assert_eq!(ready.counts, (0, MAX_GROUP as u8));
    }

    #[test]
    fn a_pause_and_a_distance_of_numbers_end_the_protection_of_the_group_before() {
        for (later, number) in [(Duration::from_secs(1), 3), (Duration::ZERO, 100_000)] {
            let now = Instant::now();
            let mut encoder = Encoder::new();
            give(&mut encoder, now, 1, &[1]);
            give(&mut encoder, now, 2, &[1]);
            assert!(encoder.take(now).is_some());
            give(&mut encoder, now + later, number, &[1]);
            give(&mut encoder, now + later, number + 1, &[1]);
            let ready = encoder.take(now + later).expect("a symbol");
            assert_eq!((ready.first, ready.counts), (number, (0, 2)));
        }
    }

    #[test]
    fn next_to_no_loss_takes_no_symbols_and_more_takes_more() {
        let now = Instant::now();
        let mut encoder = Encoder::new();
        assert_eq!(Strength::of(0.000_4), Strength::Off);
        assert!(!encoder.expect(now, 1, Strength::of(0.0)));
        assert_eq!((encoder.due(), encoder.counters()), (None, FecCounters::default()));
        let packets = [0.001, 0.005, 0.01, 0.03, 0.1].map(Strength::of);
        assert_eq!(packets, [8, 5, 4, 3, 2].map(Strength::EveryNth));
    }
}
