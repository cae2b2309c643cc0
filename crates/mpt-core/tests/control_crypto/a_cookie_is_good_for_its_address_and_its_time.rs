use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_core::session::{COOKIE_LIFETIME, Cookie, CookieSecret, HandshakeError, Initiation};
use mpt_wire::control::frame::{self, COOKIE_LEN, Frame, INITIATION_LEN};

use super::harness::*;

fn remote() -> SocketAddr {
    "192.0.2.1:4754".parse().unwrap()
}

fn reply(
    secret: &mut CookieSecret,
    now: Instant,
    frame: &[u8; INITIATION_LEN],
) -> [u8; COOKIE_LEN] {
    let view = frame::Initiation::of(frame);
    secret.reply(now, &server().public(), remote(), &view, &mut random(21))
}

fn open_cookie(initiation: &Initiation, frame: &[u8]) -> Result<Cookie, HandshakeError> {
    let Ok(Frame::Cookie(frame)) = frame::parse(frame) else { panic!("no cookie frame") };
    initiation.open_cookie(&frame)
}

fn check(
    secret: &mut CookieSecret,
    now: Instant,
    remote: SocketAddr,
    frame: &[u8; INITIATION_LEN],
) -> bool {
    secret.check(now, remote, &frame::Initiation::of(frame))
}

#[test]
fn it_is_good_for_the_address_and_port_it_was_sent_to() {
    let (now, initiation) = (origin(), initiate(None));
    let mut secret = CookieSecret::new(&mut random(20));
    let bare = initiation.frame(1, None);
    assert!(!check(&mut secret, now, remote(), &bare));
    let cookie = open_cookie(&initiation, &reply(&mut secret, now, &bare)).unwrap();
    let frame = initiation.frame(1, Some(&cookie));
    assert!(check(&mut secret, now, remote(), &frame));
    for other in ["192.0.2.1:4755", "192.0.2.2:4754", "[2001:db8::1]:4754"] {
        assert!(!check(&mut secret, now, other.parse().unwrap(), &frame), "{other}");
    }
    // It opens the way for other initiations from there, too; a new handshake needs no new cookie.
    let frame = initiation.frame(2, Some(&cookie));
    assert!(check(&mut secret, now, remote(), &frame));
    // Another responder knows nothing of it.
    assert!(!check(&mut CookieSecret::new(&mut random(22)), now, remote(), &frame));
}

#[test]
fn every_changed_byte_of_the_initiation_is_noticed() {
    let (now, initiation) = (origin(), initiate(None));
    let mut secret = CookieSecret::new(&mut random(20));
    let cookie = reply(&mut secret, now, &initiation.frame(1, None));
    let cookie = open_cookie(&initiation, &cookie).unwrap();
    let good = initiation.frame(1, Some(&cookie));
    for at in 0..INITIATION_LEN {
        let mut frame = good;
        frame[at] ^= 0x10;
        assert!(!check(&mut secret, now, remote(), &frame), "byte {at}");
    }
}

#[test]
fn it_is_good_for_its_lifetime() {
    let (start, initiation) = (origin(), initiate(None));
    let mut secret = CookieSecret::new(&mut random(20));
    let bare = initiation.frame(1, None);
    for made in (0..60).step_by(7).map(Duration::from_secs) {
        let cookie = reply(&mut secret, start + made, &bare);
        let frame = initiation.frame(1, Some(&open_cookie(&initiation, &cookie).unwrap()));
        let is_good = |age: &u64| {
            check(&mut secret, start + made + Duration::from_millis(*age), remote(), &frame)
        };
        let ages: Vec<u64> = (0..30_000).step_by(100).filter(is_good).collect();
        assert!(ages.iter().copied().eq((0..ages.len() as u64).map(|n| 100 * n)), "{ages:?}");
        let last = Duration::from_millis(*ages.last().unwrap());
        assert!((COOKIE_LIFETIME - millis(100)..=COOKIE_LIFETIME).contains(&last), "{last:?}");
    }
}

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn every_changed_byte_of_a_cookie_is_noticed() {
    let (now, initiation) = (origin(), initiate(None));
    let mut secret = CookieSecret::new(&mut random(20));
    let good = reply(&mut secret, now, &initiation.frame(1, None));
    for at in 2..COOKIE_LEN {
        let mut frame = good;
        frame[at] ^= 0x10;
        let index = (4..8).contains(&at);
        let expected = if index { HandshakeError::Index } else { HandshakeError::Unauthentic };
        assert_eq!(open_cookie(&initiation, &frame), Err(expected), "byte {at}");
    }
}

#[test]
fn it_answers_one_initiation_only() {
    let (now, client, server) = (origin(), client(), server().public());
    let mut random = random(1);
    let mut initiate =
        || Initiation::new(&client, &server, None, CLIENT_INDEX, &hello(), &mut random).unwrap();
    let (first, second) = (initiate(), initiate());
    let mut secret = CookieSecret::new(&mut super::harness::random(20));
    let frame = reply(&mut secret, now, &first.frame(1, None));
    assert!(open_cookie(&first, &frame).is_ok());
    assert_eq!(open_cookie(&second, &frame), Err(HandshakeError::Unauthentic));
}
