//! Cookies: what a responder sends instead of a response when it wants to see more.
//!
//! A cookie frame carries three things. The *time* at which it was made, by a clock of the
//! responder's own. The *cookie*, bound to this time and to the address that the initiation came
//! from: MAC 2 made with it shows that the initiator receives at that address. The *challenge*,
//! bound to the time alone: an initiation that repeats it inside its sealed Hello was made after the
//! responder has issued it, by the owner of the initiator's private key, and is no recording.
//!
//! The responder keeps nothing for the cookies that it sends. It makes cookie and challenge again
//! from its secret and the time when they come back. The secret is new at each start, so nothing
//! that was recorded before is good for anything afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use mpt_wire::control::Challenge;
use mpt_wire::control::frame::{self, COOKIE_CONTENT_LEN, COOKIE_LEN, SEALED_COOKIE_LEN};
use smallvec::SmallVec;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::mac::{self, MAC_LEN};
use crate::session::keys::MAX_PATHS;
use crate::session::keys::PublicKey;
use crate::session::keys::Random;

/// The time for which cookie and challenge are good, by the clock of the responder. An initiator
/// keeps a cookie for as long. Long enough for initiators with round-trip times of seconds.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(10);
/// The challenges that are remembered as used, at most. More than the default
/// [`AdmissionLimits`](super::AdmissionLimits) accept within [`COOKIE_LIFETIME`]; if there are more
/// all the same, further ones count as no challenge until some have expired.
pub const MAX_USED_CHALLENGES: usize = 16_384;

/// The text in front of the parts of a cookie, so that no cookie is a challenge.
const COOKIE_DOMAIN: &[u8] = b"cookie";
/// The text from which the time of the first use is derived.
const FIRST_TIME_DOMAIN: &[u8] = b"first time";
/// The text in front of the time of a challenge.
const CHALLENGE_DOMAIN: &[u8] = b"challenge";

/// A cookie and a challenge that a responder gave to an initiator, which shows them with an initiation on the same path.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Cookie {
    time: u64,
    cookie: [u8; MAC_LEN],
    challenge: [u8; MAC_LEN],
}

impl Cookie {
    /// The time that goes with MAC 2.
    pub(in crate::session) fn time(&self) -> u64 {
        self.time
    }

    /// Returns MAC 2, which shows that the sender of the initiation was given this cookie. The
    /// initiation has to have the cookie's time.
    pub(in crate::session) fn mac2(&self, initiation: &frame::Initiation<'_>) -> [u8; MAC_LEN] {
        mac::mac(&self.cookie, &[initiation.before_mac2()])
    }

    /// Returns the bytes that a cookie frame seals: time, cookie, challenge.
    #[must_use]
    pub fn content(&self) -> [u8; COOKIE_CONTENT_LEN] {
        let mut bytes = [0; COOKIE_CONTENT_LEN];
        bytes[..8].copy_from_slice(&self.time.to_be_bytes());
        bytes[8..24].copy_from_slice(&self.cookie);
        bytes[24..].copy_from_slice(&self.challenge);
        bytes
    }

    /// Returns the challenge that came with the cookie, for the Hello of the next initiation.
    #[must_use]
    pub fn challenge(&self) -> Challenge {
        Challenge { time: self.time, value: self.challenge }
    }
}

/// Does not show the cookie.
impl fmt::Debug for Cookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cookie(..)")
    }
}

/// The secret with which a responder makes cookies and challenges and recognises them, its clock for
/// them, and the challenges that were used up.
#[derive(ZeroizeOnDrop)]
pub struct CookieSecret {
    secret: [u8; 32],
    /// The time of the first use. Random, so that times do not say how long the daemon has run.
    first: u64,
    /// The latest time that was given out. Times are strictly increasing, so that each names one
    /// cookie.
    last: u64,
    #[zeroize(skip)]
    origin: Option<Instant>,
    #[zeroize(skip)]
    used: BTreeSet<u64>,
}

impl CookieSecret {
    /// Makes a new secret. Its clock runs from the first use on.
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        let secret = *random.key();
        let [a, b, c, d, e, f, g, h, ..] = mac::mac(&secret, &[FIRST_TIME_DOMAIN]);
        let first = (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 2) | 1;
        Self { secret, first, last: first, origin: None, used: BTreeSet::new() }
    }

    /// Returns the frame that answers `initiation`, which came from `remote`, with a cookie and a
    /// challenge. `responder` is our own public key.
    pub fn reply(
        &mut self,
        now: Instant,
        responder: &PublicKey,
        remote: SocketAddr,
        initiation: &frame::Initiation<'_>,
        random: &mut Random,
    ) -> [u8; COOKIE_LEN] {
        self.last = self.time(now).max(self.last + 1);
        let cookie = self.make(self.last, remote);
        let nonce = random.bytes();
        let sealed = seal(responder, &initiation.mac1(), &nonce, &cookie);
        let (path_id, index) = (initiation.path_id(), initiation.sender_index());
        frame::Cookie::emit(path_id, index, &nonce, &sealed)
    }

    /// True if MAC 2 of `initiation` was made with a cookie that was given to `remote` within the
    /// last [`COOKIE_LIFETIME`].
    pub fn check(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        initiation: &frame::Initiation<'_>,
    ) -> bool {
        let time = initiation.cookie_time();
        self.is_recent(now, time)
            && mac::equal(&self.make(time, remote).mac2(initiation), &initiation.mac2())
    }

    /// True if the challenge was issued here within the last [`COOKIE_LIFETIME`], and was not used
    /// up.
    pub fn is_good(&mut self, now: Instant, challenge: &Challenge) -> bool {
        self.is_recent(now, challenge.time)
            && mac::equal(&self.challenge(challenge.time), &challenge.value)
            && self.used.len() < MAX_USED_CHALLENGES
            && !self.used.contains(&challenge.time)
    }

    /// Uses up a challenge that [is good](Self::is_good): another initiation with it counts as
    /// having none.
    pub fn use_up(&mut self, now: Instant, challenge: &Challenge) {
        let oldest = self.time(now).saturating_sub(LIFETIME_MICROS);
        while self.used.first().is_some_and(|&time| time < oldest) {
            self.used.pop_first();
        }
        self.used.insert(challenge.time);
    }

    fn is_recent(&mut self, now: Instant, time: u64) -> bool {
        time > self.first
            && time <= self.last
            && self.time(now).saturating_sub(time) < LIFETIME_MICROS
    }

    /// The time by the clock of the cookies, microseconds.
    fn time(&mut self, now: Instant) -> u64 {
        let origin = *self.origin.get_or_insert(now);
        let elapsed = now.saturating_duration_since(origin).as_micros();
        self.first.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn make(&self, time: u64, remote: SocketAddr) -> Cookie {
        // One address has one cookie, whatever kind of socket it was received on.
        let address = match remote.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let (at, port) = (time.to_be_bytes(), remote.port().to_be_bytes());
        let cookie = mac::mac(&self.secret, &[COOKIE_DOMAIN, &at, &address.octets(), &port]);
        Cookie { time, cookie, challenge: self.challenge(time) }
    }

    fn challenge(&self, time: u64) -> [u8; MAC_LEN] {
        mac::mac(&self.secret, &[CHALLENGE_DOMAIN, &time.to_be_bytes()])
    }
}

const LIFETIME_MICROS: u64 = COOKIE_LIFETIME.as_secs() * 1_000_000;

/// Does not show the secret.
impl fmt::Debug for CookieSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CookieSecret").finish_non_exhaustive()
    }
}

type Nonce = [u8; frame::COOKIE_NONCE_LEN];

/// Seals a cookie for the sender of the initiation with this mac1: others cannot use it.
fn seal(
    responder: &PublicKey,
    mac1: &[u8; MAC_LEN],
    nonce: &Nonce,
    cookie: &Cookie,
) -> [u8; SEALED_COOKIE_LEN] {
    let mut sealed = [0; SEALED_COOKIE_LEN];
    let (bytes, tag) = sealed.split_at_mut(COOKIE_CONTENT_LEN);
    bytes.copy_from_slice(&cookie.content());
    let computed = XChaCha20Poly1305::new(&mac::cookie_key(responder).into())
        .encrypt_in_place_detached(nonce.into(), mac1, bytes)
        .expect("40 bytes are less than the cipher can do");
    tag.copy_from_slice(&computed);
    sealed
}

/// Opens the cookie that answers the initiation with this mac1.
pub(in crate::session) fn open(
    responder: &PublicKey,
    mac1: &[u8; MAC_LEN],
    frame: &frame::Cookie<'_>,
) -> Option<Cookie> {
    let sealed = frame.sealed();
    let (bytes, tag) = sealed.split_first_chunk::<COOKIE_CONTENT_LEN>()?;
    let mut content = Zeroizing::new(*bytes);
    XChaCha20Poly1305::new(&mac::cookie_key(responder).into())
        .decrypt_in_place_detached(&frame.nonce().into(), mac1, &mut *content, tag.into())
        .ok()?;
    let (time, rest) = content.split_first_chunk()?;
    let (cookie, challenge) = rest.split_first_chunk()?;
    let time = u64::from_be_bytes(*time);
    Some(Cookie { time, cookie: *cookie, challenge: challenge.try_into().ok()? })
}

/// The cookies of one peer that an initiator was given: one per path, since each path has an
/// address of its own. At most [`MAX_PATHS`].
#[derive(Clone, Debug, Default)]
pub struct CookieJar {
    cookies: SmallVec<[Kept; 2]>,
}

#[derive(Clone, Debug)]
struct Kept {
    path_id: u16,
    since: Instant,
    cookie: Cookie,
}

impl CookieJar {
    /// An empty jar.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the cookie for a path in place of an older one.
    pub fn insert(&mut self, now: Instant, path_id: u16, cookie: Cookie) {
        self.cookies.retain(|kept| kept.path_id != path_id && kept.is_good(now));
        if self.cookies.len() == MAX_PATHS {
            // They are in the order they came in.
            self.cookies.remove(0);
        }
        self.cookies.push(Kept { path_id, since: now, cookie });
    }

    /// Returns the cookie for a path, unless it is older than [`COOKIE_LIFETIME`].
    #[must_use]
    pub fn get(&self, now: Instant, path_id: u16) -> Option<&Cookie> {
        let kept = self.cookies.iter().find(|kept| kept.path_id == path_id)?;
        kept.is_good(now).then_some(&kept.cookie)
    }
}

impl Kept {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < COOKIE_LIFETIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    fn origin() -> Instant {
        Instant::now()
    }

    fn cookie(byte: u8) -> Cookie {
        Cookie { time: 1, cookie: [byte; MAC_LEN], challenge: [byte; MAC_LEN] }
    }

    #[test]
    fn a_jar_keeps_one_cookie_per_path_for_its_lifetime() {
        let start = origin();
        let mut jar = CookieJar::new();
        jar.insert(start, 1, cookie(1));
        jar.insert(start, 2, cookie(2));
        let later = start + COOKIE_LIFETIME * 9 / 10;
        jar.insert(later, 1, cookie(3));
        assert_eq!(jar.get(later, 1), Some(&cookie(3)));
        assert_eq!(jar.get(later, 2), Some(&cookie(2)));
        assert_eq!(jar.get(later, 3), None);
        let later = start + COOKIE_LIFETIME;
        assert_eq!(jar.get(later, 2), None);
        assert_eq!(jar.get(later, 1), Some(&cookie(3)));
    }

    #[test]
    fn a_jar_is_bounded() {
        let now = origin();
        let mut jar = CookieJar::new();
        for path_id in 0..1000 {
            jar.insert(now, path_id, cookie(1));
        }
        assert_eq!(jar.cookies.len(), MAX_PATHS);
        assert!(jar.get(now, 999).is_some() && jar.get(now, 0).is_none());
    }

    #[test]
    fn an_address_has_one_cookie_on_sockets_of_both_kinds() {
        let secret = CookieSecret::new(&mut Random::new([1; 32]));
        let (plain, mapped) = ("192.0.2.1:7", "[::ffff:192.0.2.1]:7");
        let make = |remote: &str| secret.make(0, remote.parse().unwrap());
        assert_eq!(make(plain), make(mapped));
        assert_ne!(make(plain), make("192.0.2.1:8"));
    }

    /// Gives out a cookie to anybody, and returns its challenge.
    fn issue(secret: &mut CookieSecret, now: Instant) -> Challenge {
        let (own, remote) = (PublicKey::from([7; 32]), "192.0.2.1:7".parse().unwrap());
        let initiation = frame::Initiation::emit(1, 2, &[3; frame::INITIATION_NOISE_LEN]);
        let view = frame::Initiation::of(&initiation);
        secret.reply(now, &own, remote, &view, &mut Random::new([2; 32]));
        secret.make(secret.last, remote).challenge()
    }

    #[test]
    fn a_challenge_is_good_once_for_its_lifetime_and_at_no_other_responder() {
        let start = origin();
        let mut secret = CookieSecret::new(&mut Random::new([1; 32]));
        let challenge = issue(&mut secret, start);
        assert!(secret.is_good(start, &challenge));
        assert!(secret.is_good(start + COOKIE_LIFETIME * 9 / 10, &challenge));
        assert!(!secret.is_good(start + COOKIE_LIFETIME + Duration::from_micros(1), &challenge));
        let mut other = CookieSecret::new(&mut Random::new([2; 32]));
        issue(&mut other, start);
        assert!(!other.is_good(start, &challenge));
        let later = Challenge { time: challenge.time + 1, ..challenge };
        issue(&mut secret, start);
        assert!(!secret.is_good(start, &later));
        secret.use_up(start, &challenge);
        assert!(!secret.is_good(start, &challenge));
    }

    #[test]
    fn every_challenge_is_another_one_however_many_are_issued_at_once() {
        let start = origin();
        let mut secret = CookieSecret::new(&mut Random::new([1; 32]));
        let times: BTreeSet<u64> = (0..1000).map(|_| issue(&mut secret, start).time).collect();
        assert_eq!(times.len(), 1000);
    }

    #[test]
    fn used_challenges_are_remembered_within_a_bound() {
        let start = origin();
        let mut secret = CookieSecret::new(&mut Random::new([1; 32]));
        for n in 0..3 * MAX_USED_CHALLENGES as u32 {
            let now = start + Duration::from_millis(1) * n;
            let challenge = issue(&mut secret, now);
            assert!(secret.is_good(now, &challenge));
            secret.use_up(now, &challenge);
        }
        let within = COOKIE_LIFETIME.as_millis() as usize;
        assert!(secret.used.len() <= within + 1, "{}", secret.used.len());
        let now = start + Duration::from_secs(3600);
        for _ in 0..2 * MAX_USED_CHALLENGES {
            let challenge = issue(&mut secret, now);
            if secret.is_good(now, &challenge) {
                secret.use_up(now, &challenge);
            }
        }
        assert!(secret.used.len() <= MAX_USED_CHALLENGES);
        let now = now + 2 * COOKIE_LIFETIME;
        let challenge = issue(&mut secret, now);
        secret.use_up(now, &challenge);
        assert_eq!(secret.used.len(), 1);
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let secret = CookieSecret::new(&mut Random::new([1; 32]));
        assert_eq!(format!("{secret:?} {:?}", cookie(1)), "CookieSecret { .. } Cookie(..)");
    }
}
