//! Fuzz targets that are ordinary tests, too. Random bytes alone would end at the first
//! authenticator, so most are real frames with damage, and mac1 is made right.
//! (`AssertUnwindSafe`: when one panics, the test is over.)

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;

use mpt_core::session::{CookieSecret, HandshakeError, OpenError, receive};
use mpt_wire::control::frame::{self, Frame, INITIATION_LEN, MAX_PAYLOAD_LEN, RESPONSE_LEN};

use super::harness::*;

/// A handshake message costs a tenth of a millisecond, unoptimised more.
const HANDSHAKES: usize = 1000;
const FRAMES: usize = 20_000;

/// The changes that are made to a real frame.
#[derive(Debug, bolero::TypeGenerator)]
struct Damage {
    /// Nothing of it is kept.
    noise: Option<Vec<u8>>,
    #[generator(bolero::generator::produce::<Vec<(u16, u8)>>().with().len(0usize..4))]
    patches: Vec<(u16, u8)>,
    cut: Option<u16>,
}

impl Damage {
    fn apply(&self, frame: &mut [u8]) {
        if let Some(noise) = &self.noise {
            let bytes = noise.iter().copied().chain(std::iter::repeat(0));
            frame.iter_mut().zip(bytes).for_each(|(old, new)| *old = new);
        }
        for (at, value) in &self.patches {
            let len = frame.len();
            frame[usize::from(*at) % len] ^= value;
        }
    }

    fn apply_and_cut(&self, mut frame: Vec<u8>) -> Vec<u8> {
        self.apply(&mut frame);
        if let Some(cut) = self.cut {
            frame.truncate(usize::from(cut) % (frame.len() + 1));
        }
        frame
    }
}

#[test]
fn fuzz_initiation() {
    let good = initiate(None).frame(1, None);
    bolero::check!().with_iterations(HANDSHAKES).with_type::<Damage>().for_each(|damage| {
        let mut frame = good;
        damage.apply(&mut frame);
        let frame: [u8; INITIATION_LEN] = with_mac1(frame, &server());
        match receive(&server(), frame::Initiation::of(&frame), &mut random(1)) {
            // Whatever else was changed, Noise was not.
            Ok(received) => {
                assert_eq!(frame[8..232], good[8..232]);
                assert_eq!((received.peer, received.hello), (client().public(), hello()));
                assert!(received.respond(None, 1, &welcome()).is_ok());
            }
            Err(error) => {
                assert_ne!(frame[8..232], good[8..232]);
                assert!(
                    matches!(error, HandshakeError::Unauthentic | HandshakeError::SmallOrder),
                    "{error:?}"
                );
            }
        }
    });
}

#[test]
fn fuzz_response() {
    let good = respond(&initiate(None).frame(1, None), None).0.frame(1);
    let initiation = AssertUnwindSafe(RefCell::new(initiate(None)));
    bolero::check!().with_iterations(HANDSHAKES).with_type::<Damage>().for_each(|damage| {
        let mut frame = good;
        damage.apply(&mut frame);
        frame[8..12].copy_from_slice(&CLIENT_INDEX.to_be_bytes());
        let frame: [u8; RESPONSE_LEN] = response_with_mac1(frame, &client());
        let result = initiation.borrow_mut().finish(&frame::Response::of(&frame));
        if frame[12..124] == good[12..124] {
            let (_, said) = result.unwrap();
            assert_eq!(said, welcome());
            *initiation.borrow_mut() = initiate(None);
        } else {
            let error = result.unwrap_err();
            let expected = [HandshakeError::Unauthentic, HandshakeError::SmallOrder];
            assert!(expected.contains(&error), "{error:?}");
        }
    });
    // However often that was, the handshake is as good as new.
    let (response, _) = respond(&initiation.borrow().frame(1, None), None);
    assert!(initiation.borrow_mut().finish(&frame::Response::of(&response.frame(1))).is_ok());
}

#[test]
fn fuzz_cookie() {
    let initiation = AssertUnwindSafe(initiate(None));
    let bare = initiation.frame(1, None);
    let remote = "192.0.2.1:4754".parse().unwrap();
    let mut secret = CookieSecret::new(&mut random(20));
    let view = frame::Initiation::of(&bare);
    let good = secret.reply(origin(), &server().public(), remote, &view, &mut random(21));
    bolero::check!().with_iterations(FRAMES).with_type::<Damage>().for_each(|damage| {
        let frame = damage.apply_and_cut(good.to_vec());
        let Ok(Frame::Cookie(view)) = frame::parse(&frame) else { return };
        assert_eq!(initiation.open_cookie(&view).is_ok(), frame == good);
    });
}

#[test]
fn fuzz_open() {
    let (mut client, server) = session();
    let good: Vec<_> = (0..8).map(|n| seal(&mut client, n % 2, &[n as u8; 40])).collect();
    let server = AssertUnwindSafe(RefCell::new(server));
    bolero::check!().with_iterations(FRAMES).with_type::<(u8, Damage)>().for_each(|(n, damage)| {
        let frame = damage.apply_and_cut(good[usize::from(n % 8)].clone());
        let Ok(Frame::Sealed(view)) = frame::parse(&frame) else { return };
        let mut out = [0; MAX_PAYLOAD_LEN];
        match server.borrow_mut().open(&view, &mut out) {
            Ok(opened) => {
                assert!(good.contains(&frame));
                assert_eq!(opened.payload, [n % 8; 40]);
            }
            Err(OpenError::Replayed) => {}
            Err(error) => {
                assert!(!good.contains(&frame));
                assert!(matches!(error, OpenError::Index | OpenError::Unauthentic), "{error:?}");
            }
        }
    });
}
