//! The receiver: packets that are lost are restored from the symbols of their groups.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpt_wire::control::{MAX_GROUP, Symbol};
use mpt_wire::ip;
use smallvec::SmallVec;

use super::code::{Code, MAX_LEN, Parities, add};
use super::counters::FecCounters;
use super::store::Store;
use crate::sequence::Sequence;

/// Symbols that are kept, since packets of their groups are missing.
const MOST_SYMBOLS: usize = 16;
/// They are kept no longer: what is still missing then is lost, or of no use.
const KEPT_FOR: Duration = Duration::from_millis(500);
/// Symbols may exceed the packets that have come by so many.
const BURST: u32 = 64;
/// The numbers of a symbol lie so near to the latest number that has come.
const REACH: i32 = 1 << 15;
/// Groups that are restored at a time: what one packet or symbol leads to is bounded, whatever a peer sends.
const MOST_STEPS: usize = 64;
/// Packets that were restored and are to be delivered.
const MOST_RESTORED: usize = 32;

type Numbers = SmallVec<[u32; MAX_GROUP]>;

/// A symbol of which packets are missing.
#[derive(Debug)]
struct Held {
    at: Instant,
    earlier: Numbers,
    present: Numbers,
    parity: Vec<u8>,
}

/// The source of a group's parity: a symbol, and the other group in it.
#[derive(Clone, Copy, Debug)]
struct Source {
    symbol: usize,
    /// The parity is the first one, since the group is the present one of the symbol.
    first: bool,
}

/// A packet that was restored, and its number.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) number: u32,
    pub(crate) packet: Vec<u8>,
}

/// The receiver's side of a connection.
#[derive(Debug)]
pub(crate) struct Restorer {
    code: Code,
    store: Store,
    symbols: VecDeque<Held>,
    restored: VecDeque<Restored>,
    /// Numbers that were restored lately, to know those that come by themselves.
    known: VecDeque<u32>,
    /// No packet that is longer is in any group.
    longest: usize,
    /// The latest number that has come.
    latest: Option<Sequence>,
    /// Symbols that may come.
    tokens: u32,
    /// For the sums of a group.
    parities: Parities,
    shards: Box<[[u8; MAX_LEN]; MAX_GROUP + 2]>,
    counters: FecCounters,
}

impl Restorer {
    pub(crate) fn new() -> Self {
        Self {
            code: Code::new(),
            store: Store::new(),
            symbols: VecDeque::new(),
            restored: VecDeque::new(),
            known: VecDeque::new(),
            longest: 0,
            latest: None,
            tokens: BURST,
            parities: Parities::new(),
            shards: Box::new([[0; MAX_LEN]; _]),
            counters: FecCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> FecCounters {
        self.counters
    }

    /// A packet has come, as it was sent.
    pub(crate) fn note(&mut self, number: u32, packet: &[u8]) {
        self.tokens = (self.tokens + 1).min(BURST);
        if self.latest.is_none_or(|latest| Sequence(number).is_after(latest)) {
            self.latest = Some(Sequence(number));
        }
        if packet.len() > self.longest {
            return;
        }
        if let Some(place) = self.known.iter().position(|&known| known == number) {
            self.known.remove(place);
            self.counters.fec_recovered_early += 1;
            return;
        }
        self.store.insert(number, packet);
        let concerns =
            |held: &Held| held.earlier.contains(&number) || held.present.contains(&number);
        if self.symbols.iter().any(concerns) {
            self.solve();
        }
    }

    /// A symbol has come.
    pub(crate) fn handle(&mut self, now: Instant, symbol: &Symbol<'_>) {
        self.counters.fec_symbols_received += 1;
        if self.tokens == 0 {
            self.counters.fec_flood += 1;
            return;
        }
        self.tokens -= 1;
        if symbol.parity.len() > MAX_LEN {
            self.counters.fec_too_long += 1;
            return;
        }
        let numbers: SmallVec<[u32; 2 * MAX_GROUP]> = symbol.numbers().collect();
        let ascend = numbers.windows(2).all(|it| Sequence(it[1]).is_after(Sequence(it[0])));
        let near = |&number: &u32| {
            let ahead = |latest| Sequence(number).ahead_of(latest);
            self.latest.is_none_or(|latest| (-REACH..REACH).contains(&ahead(latest)))
        };
        if !ascend || !numbers.iter().all(near) {
            self.counters.fec_wrong_numbers += 1;
            return;
        }
        self.longest = self.longest.max(symbol.parity.len());
        if numbers.iter().all(|&number| self.store.get(number).is_some()) {
            // Nothing is missing, as mostly.
            return;
        }
        let (earlier, present) = numbers.split_at(usize::from(symbol.earlier));
        self.symbols.retain(|held| now <= held.at + KEPT_FOR);
        if self.symbols.len() == MOST_SYMBOLS {
            self.symbols.pop_front();
        }
        self.symbols.push_back(Held {
            at: now,
            earlier: Numbers::from_slice(earlier),
            present: Numbers::from_slice(present),
            parity: symbol.parity.to_vec(),
        });
        self.solve();
    }

    /// Returns true if packets were restored that are to be delivered.
    pub(crate) fn has_restored(&self) -> bool {
        !self.restored.is_empty()
    }

    /// Returns the next packet that was restored.
    pub(crate) fn take(&mut self) -> Option<Restored> {
        self.restored.pop_front()
    }

    /// Restores what can be, and forgets the symbols that are of no more use.
    fn solve(&mut self) {
        for _ in 0..MOST_STEPS {
            let (store, symbols) = (&self.store, &mut self.symbols);
            let is_missing = |&number: &u32| store.get(number).is_none();
            symbols.retain(|it| it.earlier.iter().chain(&it.present).any(is_missing));
            let groups = (0..self.symbols.len()).flat_map(|at| [(at, false), (at, true)]);
            let Some(progress) = groups.into_iter().find_map(|(at, first)| self.restore(at, first))
            else {
                return;
            };
            if let Err(useless) = progress {
                self.counters.fec_useless += 1;
                self.symbols.remove(useless);
            }
        }
    }

    /// Restores what is missing of a group of a symbol, if it can be: of its present one, or of its earlier
    /// one. An error is the symbol that is wrong.
    fn restore(&mut self, symbol: usize, present: bool) -> Option<Result<(), usize>> {
        let held = self.symbols.get(symbol)?;
        let group = if present { held.present.clone() } else { held.earlier.clone() };
        let missing = group.iter().filter(|&&number| self.store.get(number).is_none()).count();
        if missing == 0 || missing > 2 {
            return None;
        }
        let sources = [true, false].map(|first| self.source(&group, first));
        let known = sources.iter().flatten().count();
        if known < missing {
            return None;
        }
        let len = sources.iter().flatten().map(|it| self.symbols[it.symbol].parity.len()).max()?;
        for (which, source) in sources.into_iter().enumerate() {
            if let Some(source) = source {
                self.parity(source, len, MAX_GROUP + which);
            }
        }
        let mut is_known = [true; MAX_GROUP + 2];
        for (place, shard) in self.shards[..MAX_GROUP].iter_mut().enumerate() {
            shard[..len].fill(0);
            let Some(&number) = group.get(place) else { continue };
            match self.store.get(number) {
                // A peer that lies may have the parity of another group here.
                Some(packet) if packet.len() > len => return Some(Err(symbol)),
                Some(packet) => shard[..packet.len()].copy_from_slice(packet),
                None => is_known[place] = false,
            }
        }
        for (which, source) in sources.iter().enumerate() {
            is_known[MAX_GROUP + which] = source.is_some();
        }
        let mut places = 0..;
        let mut shards = self.shards.each_mut().map(|shard| {
            let known = is_known[places.next().unwrap_or_default()];
            (&mut shard[..len], known)
        });
        if !self.code.restore(&mut shards) {
            return Some(Err(symbol));
        }
        for (place, &number) in group.iter().enumerate() {
            if !is_known[place] && !self.deliver(number, place, len) {
                return Some(Err(symbol));
            }
        }
        Some(Ok(()))
    }

    /// Returns where the first or second parity of a group comes from: a symbol of which all other packets are there.
    fn source(&self, group: &Numbers, first: bool) -> Option<Source> {
        let has = |number: &u32| self.store.get(*number).is_some();
        let symbol = self.symbols.iter().position(|held| {
            let (own, other) = match first {
                true => (&held.present, &held.earlier),
                false => (&held.earlier, &held.present),
            };
            own == group && other.iter().all(has)
        })?;
        Some(Source { symbol, first })
    }

    /// Writes the parity of a group to a shard: that of the symbol less the parity of the other group in it.
    fn parity(&mut self, source: Source, len: usize, shard: usize) {
        let held = &self.symbols[source.symbol];
        let other = if source.first { &held.earlier } else { &held.present };
        self.parities.clear();
        for (place, &number) in other.iter().enumerate() {
            if let Some(packet) = self.store.get(number) {
                self.code.add(place, 0, packet, &mut self.parities);
            }
        }
        let shard = &mut self.shards[shard][..len];
        shard.fill(0);
        shard[..held.parity.len()].copy_from_slice(&held.parity);
        add(shard, self.parities.get(usize::from(source.first)));
    }

    /// Takes a packet that was restored. Returns false if it is none.
    fn deliver(&mut self, number: u32, place: usize, len: usize) -> bool {
        let shard = &self.shards[place][..len];
        let Some(packet) = whole(shard) else { return false };
        self.store.insert(number, packet);
        if self.restored.len() < MOST_RESTORED {
            self.restored.push_back(Restored { number, packet: packet.to_vec() });
            self.counters.fec_recovered += 1;
        }
        if self.known.len() == 2 * MOST_RESTORED {
            self.known.pop_front();
        }
        self.known.push_back(number);
        true
    }
}

/// Returns the packet in a shard: a whole one with nothing but zeros behind it.
fn whole(shard: &[u8]) -> Option<&[u8]> {
    let summary = ip::Summary::parse(shard).ok()?;
    let (packet, behind) = shard.split_at_checked(summary.total_len)?;
    behind.iter().all(|&byte| byte == 0).then_some(packet)
}

#[cfg(test)]
mod tests;
