use mpt_core::session::{Exhausted, MAX_PATHS, OpenError, REPLAY_WINDOW};
use mpt_wire::control::frame::{
    self, Frame, MAX_FRAME_LEN, MAX_PAYLOAD_LEN, MAX_PROBE_PAYLOAD_LEN, SEALED_HEADER_LEN, TAG_LEN,
};

use super::harness::*;

fn unauthentic() -> Result<(u16, bool, Vec<u8>), String> {
    Err("Unauthentic".into())
}

fn replayed() -> Result<(u16, bool, Vec<u8>), String> {
    Err("Replayed".into())
}

#[test]
fn payloads_of_every_length() {
    let (mut client, mut server) = session();
    let bytes: Vec<u8> = (0..MAX_PAYLOAD_LEN).map(|n| n as u8).collect();
    let mut frame = vec![0xff; 5000];
    for len in 0..=MAX_PAYLOAD_LEN {
        client.seal(9, &bytes[..len], &mut frame).unwrap();
        assert_eq!(frame.len(), SEALED_HEADER_LEN + len + TAG_LEN);
        assert_eq!(open(&mut server, &frame), Ok((9, true, bytes[..len].to_vec())));
    }
    assert_eq!(frame.len(), MAX_FRAME_LEN);
    let too_long = client.seal(9, &[0; MAX_PROBE_PAYLOAD_LEN + 1], &mut frame);
    assert_eq!(too_long, Err(Exhausted::Length));
    assert_eq!(frame, []);
}

#[test]
fn a_repetition_is_refused_on_every_path() {
    let (mut client, mut server) = session();
    for path in [0, 1, 2, u16::MAX] {
        let frame = seal(&mut client, path, b"once");
        assert!(open(&mut server, &frame).is_ok());
        for _ in 0..3 {
            assert_eq!(open(&mut server, &frame), replayed());
        }
    }
}

#[test]
fn frames_in_another_order_open_but_are_not_fresh() {
    let (mut client, mut server) = session();
    let frames: Vec<_> = (0..5_u8).map(|n| seal(&mut client, 1, &[n])).collect();
    for (n, fresh) in [(1, true), (0, false), (4, true), (3, false), (2, false)] {
        assert_eq!(open(&mut server, &frames[n]), Ok((1, fresh, vec![n as u8])));
    }
    for frame in &frames {
        assert_eq!(open(&mut server, frame), replayed());
    }
    // Paths know nothing of each other.
    let frame = seal(&mut client, 2, b"other path");
    assert_eq!(open(&mut server, &frame), Ok((2, true, b"other path".to_vec())));
}

#[test]
fn a_frame_a_window_late_is_too_old() {
    let (mut client, mut server) = session();
    let mut frames: Vec<_> = (0..=REPLAY_WINDOW).map(|_| seal(&mut client, 1, b"")).collect();
    let last = frames.pop().unwrap();
    assert!(open(&mut server, &last).is_ok());
    assert_eq!(open(&mut server, &frames[0]), replayed());
    assert_eq!(open(&mut server, &frames[1]), Ok((1, false, Vec::new())));
}

#[test]
fn a_frame_sent_back_does_not_open_at_its_sender() {
    let (mut client, mut server) = session();
    for n in 0..3 {
        for (from, to) in [(CLIENT_INDEX, SERVER_INDEX), (SERVER_INDEX, CLIENT_INDEX)] {
            let sender = if from == CLIENT_INDEX { &mut client } else { &mut server };
            let mut frame = seal(sender, 1, b"whose?");
            assert_eq!(frame[2..6], to.to_be_bytes());
            assert_eq!(open(sender, &frame), Err("Index".into()), "frame {n}");
            // Nor with the sender's own index in front.
            frame[2..6].copy_from_slice(&from.to_be_bytes());
            assert_eq!(open(sender, &frame), unauthentic(), "frame {n}");
        }
    }
}

#[test]
fn every_changed_byte_and_every_cut_is_noticed() {
    let (mut client, mut server) = session();
    let good = seal(&mut client, 1, b"as it was sent");
    for at in 2..good.len() {
        for bit in 0..8 {
            let mut frame = good.clone();
            frame[at] ^= 1 << bit;
            let expected = if at < 6 { Err("Index".into()) } else { unauthentic() };
            assert_eq!(open(&mut server, &frame), expected, "byte {at}, bit {bit}");
        }
    }
    for len in SEALED_HEADER_LEN + TAG_LEN..good.len() {
        assert_eq!(open(&mut server, &good[..len]), unauthentic(), "{len} bytes");
    }
    assert_eq!(open(&mut server, &[&good[..], &[0]].concat()), unauthentic());
    // None of these attempts has moved a window or shut anything out.
    assert_eq!(open(&mut server, &good), Ok((1, true, b"as it was sent".to_vec())));
}

#[test]
fn forged_frames_use_up_no_path_ids() {
    let (mut client, mut server) = session();
    let mut forged = seal(&mut client, 500, b"");
    for path in (0..500).chain(501..10_000_u16) {
        forged[6..8].copy_from_slice(&path.to_be_bytes());
        assert_eq!(open(&mut server, &forged), unauthentic());
    }
    for path in 1..=MAX_PATHS as u16 {
        let frame = seal(&mut client, path * 500, b"");
        assert_eq!(open(&mut server, &frame), Ok((path * 500, true, Vec::new())));
    }
}

#[test]
fn at_most_128_paths_are_used() {
    let (mut client, mut server) = session();
    let mut frame = Vec::new();
    // In an order that no table would choose.
    for n in 0..MAX_PATHS as u16 {
        client.seal(n * 509 % 128, b"", &mut frame).unwrap();
        assert!(open(&mut server, &frame).is_ok());
    }
    assert_eq!(client.seal(128, b"", &mut frame), Err(Exhausted::Paths));
    assert_eq!(frame, []);
    for path in 0..MAX_PATHS as u16 {
        let frame = seal(&mut client, path, b"still there");
        assert_eq!(open(&mut server, &frame), Ok((path, true, b"still there".to_vec())));
        assert_eq!(open(&mut server, &frame), replayed());
    }
}

#[test]
fn keys_of_another_handshake_open_nothing() {
    let (mut client, _) = session();
    let mut initiation = initiate(psk(1).as_ref());
    let (response, mut server) = respond(&initiation.frame(1, None), psk(1).as_ref());
    let frame = response.frame(1);
    let (mut other, _) = initiation.finish(&frame::Response::of(&frame)).unwrap();
    assert_eq!(open(&mut server, &seal(&mut client, 1, b"")), unauthentic());
    assert!(open(&mut server, &seal(&mut other, 1, b"")).is_ok());
}

#[test]
fn a_buffer_too_short_costs_nothing() {
    let (mut client, mut server) = session();
    let bytes = seal(&mut client, 1, b"eight by");
    let Ok(Frame::Sealed(frame)) = frame::parse(&bytes) else { panic!("a sealed frame") };
    let mut out = [0; 8];
    assert_eq!(server.open(&frame, &mut out[..7]), Err(OpenError::Room));
    assert!(server.open(&frame, &mut out).is_ok());
    assert_eq!(&out, b"eight by");
}
