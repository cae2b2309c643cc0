//! Cookies: proof that the sender of an initiation receives at the address it sends from.
//!
//! A responder under load answers an initiation with a cookie, which it can check later without
//! having kept anything, and does nothing else. The scheme is that of WireGuard.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use mpt_wire::control::frame::{self, COOKIE_LEN, SEALED_COOKIE_LEN};
use smallvec::SmallVec;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::key::PublicKey;
use super::mac::{self, MAC_LEN};
use super::random::Random;
use super::transport::MAX_PATHS;

/// How long one secret makes cookies; it accepts them as long again. So a cookie is good for 120
/// to 240 s, whenever it was made, and an initiator keeps it for 120 s.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(120);

/// What an initiator was given, to be shown with its next initiation on the same path.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Cookie([u8; MAC_LEN]);

impl Cookie {
    /// What proves that the sender of the initiation was given this cookie.
    pub(super) fn mac2(&self, initiation: &frame::Initiation<'_>) -> [u8; MAC_LEN] {
        mac::mac(&self.0, &[initiation.before_mac2()])
    }
}

/// Does not show the cookie.
impl fmt::Debug for Cookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cookie(..)")
    }
}

/// What a responder makes its cookies with, and knows them by: a secret of its own that nobody
/// else ever needs, renewed every [`COOKIE_LIFETIME`].
#[derive(ZeroizeOnDrop)]
pub struct CookieSecret {
    /// The secret of each period follows from this and the number of the period.
    seed: [u8; 32],
    #[zeroize(skip)]
    origin: Option<Instant>,
}

impl CookieSecret {
    /// A new secret. Its periods are counted from its first use.
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        Self { seed: *random.key(), origin: None }
    }

    /// The frame that gives the sender of `initiation`, at `remote`, its cookie. `responder` is our
    /// own public key.
    pub fn reply(
        &mut self,
        now: Instant,
        responder: &PublicKey,
        remote: SocketAddr,
        initiation: &frame::Initiation<'_>,
        random: &mut Random,
    ) -> [u8; COOKIE_LEN] {
        let period = self.period(now);
        let cookie = self.make(period, remote);
        let nonce = random.bytes();
        let sealed = seal(responder, &initiation.mac1(), &nonce, &cookie);
        let (path_id, index) = (initiation.path_id(), initiation.sender_index());
        frame::Cookie::emit(path_id, index, &nonce, &sealed)
    }

    /// Whether mac2 of `initiation` was made with a cookie given to `remote`, in this period or the
    /// one before.
    pub fn check(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        initiation: &frame::Initiation<'_>,
    ) -> bool {
        let (period, mac2) = (self.period(now), initiation.mac2());
        [Some(period), period.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|period| mac::equal(&self.make(period, remote).mac2(initiation), &mac2))
    }

    fn period(&mut self, now: Instant) -> u64 {
        let origin = *self.origin.get_or_insert(now);
        now.saturating_duration_since(origin).as_secs() / COOKIE_LIFETIME.as_secs()
    }

    fn make(&self, period: u64, remote: SocketAddr) -> Cookie {
        // One address has one cookie, whatever kind of socket it was received on.
        let address = match remote.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let (period, port) = (period.to_be_bytes(), remote.port().to_be_bytes());
        Cookie(mac::mac(&self.seed, &[&period, &address.octets(), &port]))
    }
}

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
    let (bytes, tag) = sealed.split_at_mut(MAC_LEN);
    bytes.copy_from_slice(&cookie.0);
    let computed = XChaCha20Poly1305::new(&mac::cookie_key(responder).into())
        .encrypt_in_place_detached(nonce.into(), mac1, bytes)
        .expect("16 bytes are less than the cipher can do");
    tag.copy_from_slice(&computed);
    sealed
}

/// Opens the cookie that answers the initiation with this mac1.
pub(super) fn open(
    responder: &PublicKey,
    mac1: &[u8; MAC_LEN],
    frame: &frame::Cookie<'_>,
) -> Option<Cookie> {
    let sealed = frame.sealed();
    let (bytes, tag) = sealed.split_first_chunk::<MAC_LEN>()?;
    let mut cookie = Zeroizing::new(*bytes);
    XChaCha20Poly1305::new(&mac::cookie_key(responder).into())
        .decrypt_in_place_detached(&frame.nonce().into(), mac1, &mut *cookie, tag.into())
        .ok()?;
    Some(Cookie(*cookie))
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

    /// The cookie for a path, unless it is older than [`COOKIE_LIFETIME`].
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

    #[test]
    fn a_jar_keeps_one_cookie_per_path_for_its_lifetime() {
        let start = origin();
        let mut jar = CookieJar::new();
        jar.insert(start, 1, Cookie([1; 16]));
        jar.insert(start, 2, Cookie([2; 16]));
        let later = start + Duration::from_secs(100);
        jar.insert(later, 1, Cookie([3; 16]));
        assert_eq!(jar.get(later, 1), Some(&Cookie([3; 16])));
        assert_eq!(jar.get(later, 2), Some(&Cookie([2; 16])));
        assert_eq!(jar.get(later, 3), None);
        let later = start + COOKIE_LIFETIME;
        assert_eq!(jar.get(later, 2), None);
        assert_eq!(jar.get(later, 1), Some(&Cookie([3; 16])));
    }

    #[test]
    fn a_jar_is_bounded() {
        let now = origin();
        let mut jar = CookieJar::new();
        for path_id in 0..1000 {
            jar.insert(now, path_id, Cookie([1; 16]));
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

    #[test]
    fn debug_output_has_no_secrets() {
        let secret = CookieSecret::new(&mut Random::new([1; 32]));
        assert_eq!(format!("{secret:?} {:?}", Cookie([1; 16])), "CookieSecret { .. } Cookie(..)");
    }
}
