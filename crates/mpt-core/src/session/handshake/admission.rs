//! The admission of initiations, which defends a responder against floods.
//!
//! Anybody who knows the public key can send initiations, from any address. So under load only
//! initiations with a cookie, which proves their address, are answered. Each source has a budget of
//! these, and there is a limit for all together, half of which is reserved for sources that ask
//! seldom. Nothing here grows with the number of senders.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::mac;
use crate::session::keys::Random;

/// The limits of initiations. At about 0.25 ms for each, the defaults keep a flood from forged
/// addresses at a hundredth of one core and any flood at a quarter, and let a thousand clients
/// return within a second or two after the server was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// More initiations than this in a second are load: then a cookie is asked for.
    pub load: u32,
    /// More than this in a second are refused, with cookie or without.
    pub total: u32,
    /// Initiations per second of one source (an IPv4 address or an IPv6 /64) under load.
    pub source_rate: u32,
    /// Initiations of one source at once under load.
    pub source_burst: u32,
}

/// Initiations at once after which a source no longer counts as one that asks seldom. The owner of a
/// key needs one or two for a handshake, and a handshake in two minutes.
const SELDOM_BURST: u32 = 4;
/// The time after which a source that asks seldom may ask once more.
const SELDOM_INTERVAL: Duration = Duration::from_secs(1);

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self { load: 50, total: 1000, source_rate: 20, source_burst: 20 }
    }
}

/// The decision about an initiation whose mac1 is right and which is no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Open it.
    Accept,
    /// Send a cookie and forget it.
    AskForCookie,
    /// Forget it: the budget is used up, that of its source or that of all.
    Refuse,
}

/// Counts initiations and says which of them to accept. 33 KB, 32 of them only once there was
/// load.
#[derive(Debug)]
pub struct Admission {
    limits: AdmissionLimits,
    origin: Option<Instant>,
    /// The initiations that arrived.
    arrived: LastSecond,
    /// The initiations that were accepted.
    accepted: LastSecond,
    sources: Sources,
}

impl Admission {
    /// With nothing counted.
    #[must_use]
    pub fn new(limits: AdmissionLimits, random: &mut Random) -> Self {
        Self {
            limits,
            origin: None,
            arrived: LastSecond::default(),
            accepted: LastSecond::default(),
            sources: Sources { key: random.bytes(), slots: Vec::new() },
        }
    }

    /// Other limits from now on.
    pub fn set_limits(&mut self, limits: AdmissionLimits) {
        self.limits = limits;
    }

    /// Counts an initiation from `source`. `has_cookie` is asked under load only: whether mac2 was
    /// made with a cookie given to the very address and port of the sender.
    pub fn admit(
        &mut self,
        now: Instant,
        source: IpAddr,
        has_cookie: impl FnOnce() -> bool,
    ) -> Verdict {
        let now = now.saturating_duration_since(*self.origin.get_or_insert(now));
        self.arrived.add(now);
        if self.arrived.count(now) > self.limits.load {
            if !has_cookie() {
                return Verdict::AskForCookie;
            }
            let half = self.accepted.count(now) >= self.limits.total / 2;
            if self.is_exhausted(now) || !self.sources.take(now, source, half, &self.limits) {
                return Verdict::Refuse;
            }
        } else if self.is_exhausted(now) {
            return Verdict::Refuse;
        }
        self.accepted.add(now);
        Verdict::Accept
    }

    fn is_exhausted(&mut self, now: Duration) -> bool {
        self.accepted.count(now) >= self.limits.total
    }
}

/// The number of events in the last second and in up to an eighth of a second before it. It never covers less than a second, so that a limit holds
/// for every second.
#[derive(Debug, Default)]
struct LastSecond {
    /// A ring: events per eighth of a second.
    slots: [u32; Self::SLOTS],
    /// The number of the slot that is being counted in.
    current: u64,
}

impl LastSecond {
    /// A second may begin and end within a slot.
    const SLOTS: usize = 9;

    /// Returns the place in the ring of a slot by its number.
    fn place(slot: u64) -> usize {
        usize::try_from(slot % Self::SLOTS as u64).unwrap_or_default()
    }

    fn add(&mut self, now: Duration) {
        self.advance(now);
        if let Some(slot) = self.slots.get_mut(Self::place(self.current)) {
            *slot = slot.saturating_add(1);
        }
    }

    fn count(&mut self, now: Duration) -> u32 {
        self.advance(now);
        self.slots.iter().fold(0, |sum: u32, slot| sum.saturating_add(*slot))
    }

    fn advance(&mut self, now: Duration) {
        let slot = now.as_secs() * 8 + u64::from(now.subsec_millis()) / 125;
        if slot >= self.current + Self::SLOTS as u64 {
            self.slots = [0; Self::SLOTS];
        } else {
            for passed in self.current + 1..=slot {
                if let Some(slot) = self.slots.get_mut(Self::place(passed)) {
                    *slot = 0;
                }
            }
        }
        self.current = self.current.max(slot);
    }
}

/// Token buckets per source, in a table of fixed size: [`WAYS`] places for all sources with the
/// same hash, of which the one goes that has asked least. A source that was pushed out begins with a
/// full bucket again, so nobody loses anything by the crowd.
#[derive(Debug)]
struct Sources {
    /// The secret key of the hash, so that no stranger can choose addresses that share a place.
    key: [u8; 32],
    /// Empty before the first use.
    slots: Vec<Bucket>,
}

/// Places per hash.
const WAYS: usize = 4;
/// Hashes. With [`WAYS`] it is about twice the sources that can be accepted in a second.
const SETS: usize = 512;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    source: u64,
    /// The time at which the bucket will be full, nanoseconds.
    full_at: u64,
    /// The time at which the bucket of sources that ask seldom will be full, nanoseconds. It fills slowly.
    seldom_at: u64,
}

impl Sources {
    /// Takes a token out of the bucket of `source`, if there is one. `only_seldom`: if the source is
    /// one that asks seldom, too.
    fn take(
        &mut self,
        now: Duration,
        source: IpAddr,
        only_seldom: bool,
        limits: &AdmissionLimits,
    ) -> bool {
        if self.slots.is_empty() {
            self.slots = vec![Bucket::default(); SETS * WAYS];
        }
        let source = prefix(source);
        let hash = mac::mac(&self.key, &[&source.to_be_bytes()]);
        let set = usize::from(u16::from_be_bytes([hash[0], hash[1]])) % SETS;
        let Some(ways) = self.slots.get_mut(set * WAYS..(set + 1) * WAYS) else { return false };
        let known = ways.iter().position(|bucket| bucket.source == source);
        let least = || (0..WAYS).min_by_key(|&place| ways.get(place).map(|it| it.seldom_at));
        let place = known.or_else(least);
        let Some(bucket) = place.and_then(|place| ways.get_mut(place)) else { return false };
        if bucket.source != source {
            *bucket = Bucket { source, ..Bucket::default() };
        }
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let token = 1_000_000_000 / u64::from(limits.source_rate.max(1));
        let interval = u64::try_from(SELDOM_INTERVAL.as_nanos()).unwrap_or(u64::MAX);
        let most = u64::from(SELDOM_BURST) * interval;
        let full_at = bucket.full_at.max(now).saturating_add(token);
        let seldom_at = bucket.seldom_at.max(now).saturating_add(interval);
        let has_token = full_at - now <= token * u64::from(limits.source_burst);
        let is_seldom = seldom_at - now <= most;
        if !has_token || (only_seldom && !is_seldom) {
            return false;
        }
        bucket.full_at = full_at;
        // A source that stops asking is one that asks seldom again soon.
        bucket.seldom_at = seldom_at.min(now.saturating_add(most));
        true
    }
}

/// Returns what counts as one source: an address of IPv4, or the 64 bits that a site of IPv6 has at
/// least.
fn prefix(source: IpAddr) -> u64 {
    match source.to_canonical() {
        // In the upper half of an IPv6 address this number would lie in ::/8, which is reserved, so no source in IPv6 has the same.
        IpAddr::V4(address) => 0xffff_0000_0000 | u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    fn origin() -> Instant {
        Instant::now()
    }

    fn admission() -> Admission {
        Admission::new(AdmissionLimits::default(), &mut Random::new([1; 32]))
    }

    fn v4(n: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + n).into()
    }

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Returns how often each verdict fell: accepted, asked for a cookie, refused.
    fn tally(verdicts: impl IntoIterator<Item = Verdict>) -> (usize, usize, usize) {
        verdicts.into_iter().fold((0, 0, 0), |(accept, ask, refuse), verdict| match verdict {
            Verdict::Accept => (accept + 1, ask, refuse),
            Verdict::AskForCookie => (accept, ask + 1, refuse),
            Verdict::Refuse => (accept, ask, refuse + 1),
        })
    }

    #[test]
    fn without_load_nobody_is_asked() {
        let (start, mut admission) = (origin(), admission());
        for n in 0..10_000 {
            let now = start + 25 * n * MILLISECOND;
            let verdict = admission.admit(now, v4(1), || panic!("asked for a cookie"));
            assert_eq!(verdict, Verdict::Accept);
        }
    }

    #[test]
    fn load_begins_with_the_51st_initiation_in_a_second_and_ends_with_the_flood() {
        let (start, mut admission) = (origin(), admission());
        let verdicts = tally((0..60).map(|n| admission.admit(start, v4(n), || false)));
        assert_eq!(verdicts, (50, 10, 0));
        let later = start + 1125 * MILLISECOND;
        assert_eq!(admission.admit(later, v4(1), || false), Verdict::Accept);
    }

    #[test]
    fn a_spoofed_flood_keeps_no_honest_source_away_and_takes_no_memory() {
        let (start, mut admission) = (origin(), admission());
        let mut honest = 0;
        let mut accepted = 0;
        for n in 0..1_000_000_u32 {
            let now = start + Duration::from_micros(10) * n;
            accepted += u32::from(admission.admit(now, v4(n), || false) == Verdict::Accept);
            if n % 100_000 == 99_999 {
                let source = Ipv4Addr::new(192, 0, 2, 1).into();
                honest += u32::from(admission.admit(now, source, || true) == Verdict::Accept);
            }
        }
        assert_eq!((honest, accepted), (10, 50));
        assert_eq!(admission.sources.slots.len(), SETS * WAYS);
    }

    #[test]
    fn a_million_proved_sources_take_no_more_memory_and_stay_below_the_limit() {
        let (start, mut admission) = (origin(), admission());
        let at = |n: u32| start + Duration::from_micros(10) * n;
        let verdicts = tally((0..1_000_000).map(|n| admission.admit(at(n), v4(n), || true)));
        // 10 s: a thousand in each window, which is up to 1.125 s long.
        assert!((8_889..=10_000).contains(&verdicts.0), "{verdicts:?}");
        assert_eq!(verdicts.1, 0);
        assert_eq!(admission.sources.slots.len(), SETS * WAYS);
    }

    #[test]
    fn a_source_under_load_has_its_burst_and_its_rate() {
        let (start, mut admission) = (origin(), admission());
        tally((0..50).map(|n| admission.admit(start, v4(n), || false)));
        let mut from = |now, source: IpAddr, initiations: u32| {
            tally((0..initiations).map(|_| admission.admit(now, source, || true)))
        };
        assert_eq!(from(start, v4(1), 100), (20, 0, 80));
        // Half a second makes ten tokens.
        assert_eq!(from(start + 500 * MILLISECOND, v4(1), 100), (10, 0, 90));
        assert_eq!(from(start + 500 * MILLISECOND, v4(2), 100), (20, 0, 80));
    }

    /// 200 sources with addresses of their own ask 100 times a second each. One that has asked for
    /// nothing so far is never refused, nor when it asks once a second.
    #[test]
    fn sources_that_ask_all_the_time_leave_room_for_others() {
        let (start, mut admission) = (origin(), admission());
        let (mut greedy, mut others) = (0, Vec::new());
        for n in 0..200_000 {
            let now = start + Duration::from_micros(50) * n;
            greedy += u32::from(admission.admit(now, v4(n % 200), || true) == Verdict::Accept);
            if n % 20_000 == 19_999 {
                let new = admission.admit(now, v4(1000 + n), || true);
                others.push((new, admission.admit(now, v4(999), || true)));
            }
        }
        assert_eq!(others, [(Verdict::Accept, Verdict::Accept); 10]);
        assert!(greedy > 4000, "{greedy}");
    }

    #[test]
    fn a_network_of_ipv6_is_one_source() {
        let address = |text: &str| prefix(IpAddr::V6(text.parse::<Ipv6Addr>().unwrap()));
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::2"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:10.0.0.1"), prefix(v4(1)));
        assert_ne!(prefix(v4(1)), prefix(v4(2)));
    }

    #[test]
    fn the_total_holds_for_every_second() {
        let limits = AdmissionLimits { load: u32::MAX, ..AdmissionLimits::default() };
        let mut admission = Admission::new(limits, &mut Random::new([1; 32]));
        let start = origin();
        let mut accepted = Vec::new();
        for n in 0..30_000 {
            let now = n * Duration::from_micros(137);
            if admission.admit(start + now, v4(1), || false) == Verdict::Accept {
                accepted.push(now);
            }
        }
        assert!(accepted.len() > 2000);
        for pair in accepted.windows(1001) {
            assert!(pair[1000] - pair[0] >= Duration::from_secs(1));
        }
    }
}
