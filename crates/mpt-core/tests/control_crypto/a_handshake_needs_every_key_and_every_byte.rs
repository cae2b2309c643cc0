use mpt_core::session::{
    HandshakeError, Incoming, Initiation, PublicKey, Random, receive as receive_checked,
};
use mpt_wire::control::frame::{self, INITIATION_LEN};
use mpt_wire::control::{Hello, Kind, Name};

use super::harness::*;

#[test]
fn two_frames_make_a_session() {
    for psk in [None, psk(1)] {
        let mut initiation = initiate(psk.as_ref());
        assert_eq!((initiation.index(), initiation.peer()), (CLIENT_INDEX, server().public()));
        let received = receive(&initiation.frame(3, None));
        assert_eq!((received.peer, received.hello), (client().public(), hello()));
        assert_eq!((received.path_id, received.sender_index), (3, CLIENT_INDEX));
        let (response, mut server) =
            received.respond(psk.as_ref(), SERVER_INDEX, &welcome()).unwrap();
        let frame = response.frame(3);
        let (mut client, said) = initiation.finish(&frame::Response::of(&frame)).unwrap();
        assert_eq!(said, welcome());
        assert_eq!((client.local_index(), client.remote_index()), (CLIENT_INDEX, SERVER_INDEX));
        assert_eq!((server.local_index(), server.remote_index()), (SERVER_INDEX, CLIENT_INDEX));
        assert!(client.is_initiator() && !server.is_initiator());
        let frame = seal(&mut client, 3, b"to the server");
        assert_eq!(open(&mut server, &frame), Ok((3, true, b"to the server".to_vec())));
        let frame = seal(&mut server, 3, b"to the client");
        assert_eq!(open(&mut client, &frame), Ok((3, true, b"to the client".to_vec())));
    }
}

#[test]
fn preshared_keys_have_to_be_the_same() {
    let keys = [None, psk(1), psk(2)];
    for at_client in &keys {
        for at_server in &keys {
            let mut initiation = initiate(at_client.as_ref());
            let (response, _) = respond(&initiation.frame(1, None), at_server.as_ref());
            let frame = response.frame(1);
            let result = initiation.finish(&frame::Response::of(&frame)).map(|_| ());
            let same = at_client == at_server;
            let expected = if same { Ok(()) } else { Err(HandshakeError::Unauthentic) };
            assert_eq!(result, expected);
        }
    }
}

#[test]
fn an_initiation_for_another_key_is_not_answered() {
    let frame = initiate(None).frame(1, None);
    let received = receive_checked(&private(3), frame::Initiation::of(&frame), &mut random(1));
    assert_eq!(received.unwrap_err(), HandshakeError::Mac);
    // Not even with the right mac1.
    let frame = with_mac1(frame, &private(3));
    let received = receive_checked(&private(3), frame::Initiation::of(&frame), &mut random(1));
    assert_eq!(received.unwrap_err(), HandshakeError::Unauthentic);
}

#[test]
fn a_response_of_somebody_else_is_refused() {
    let mut initiation = initiate(None);
    let other = {
        let (identity, peer) = (client(), private(3).public());
        let initiation =
            Initiation::new(&identity, &peer, None, CLIENT_INDEX, &hello(), &mut random(12));
        let frame = initiation.unwrap().frame(1, None);
        let received =
            receive_checked(&private(3), frame::Initiation::of(&frame), &mut random(1)).unwrap();
        received.respond(None, SERVER_INDEX, &welcome()).unwrap().0.frame(1)
    };
    let result = initiation.finish(&frame::Response::of(&other));
    assert_eq!(result.unwrap_err(), HandshakeError::Unauthentic);
}

#[test]
fn every_changed_byte_of_an_initiation_is_noticed() {
    let good = initiate(None).frame(1, None);
    let mac2 = 248;
    for at in 0..INITIATION_LEN {
        let mut frame = good;
        frame[at] ^= 0x10;
        let Ok(frame::Frame::Initiation(view)) = frame::parse(&frame) else {
            assert!(at < 2, "byte {at}");
            continue;
        };
        let result = receive_checked(&server(), view, &mut random(1)).map(|_| ());
        // mac2 is looked at under load only, and with it the cookie.
        let expected = if at < mac2 { Err(HandshakeError::Mac) } else { Ok(()) };
        assert_eq!(result, expected, "byte {at}");

        // By somebody who can make mac1 anew. Path id and index are not part of what Noise
        // protects: an answer to a wrong index finds nobody.
        let frame = with_mac1(frame, &server());
        let result = receive_checked(&server(), frame::Initiation::of(&frame), &mut random(1));
        match at {
            8..232 => {
                assert_eq!(result.unwrap_err(), HandshakeError::Unauthentic, "byte {at}");
            }
            _ => assert!(result.is_ok(), "byte {at}"),
        }
    }
}

#[test]
fn every_changed_byte_of_a_response_is_noticed_and_does_not_end_the_handshake() {
    let mut initiation = initiate(None);
    let (response, mut server) = respond(&initiation.frame(1, None), None);
    let good = response.frame(1);
    for at in 0..good.len() {
        let mut frame = good;
        frame[at] ^= 0x10;
        let Ok(frame::Frame::Response(view)) = frame::parse(&frame) else {
            assert!(at < 2, "byte {at}");
            continue;
        };
        let index = (8..12).contains(&at);
        let expected = if index { HandshakeError::Index } else { HandshakeError::Mac };
        assert_eq!(initiation.finish(&view).unwrap_err(), expected, "byte {at}");
        if (12..124).contains(&at) {
            let frame = response_with_mac1(frame, &client());
            let result = initiation.finish(&frame::Response::of(&frame));
            assert_eq!(result.unwrap_err(), HandshakeError::Unauthentic, "byte {at}");
        }
    }
    let (mut client, _) = initiation.finish(&frame::Response::of(&good)).unwrap();
    let frame = seal(&mut client, 1, b"after all");
    assert_eq!(open(&mut server, &frame), Ok((1, true, b"after all".to_vec())));
    // A second response has nothing left to answer.
    let result = initiation.finish(&frame::Response::of(&good));
    assert_eq!(result.unwrap_err(), HandshakeError::State);
}

#[test]
fn an_initiation_sent_back_is_not_for_its_sender() {
    let frame = initiate(None).frame(1, None);
    let result = receive_checked(&client(), frame::Initiation::of(&frame), &mut random(1));
    assert_eq!(result.unwrap_err(), HandshakeError::Mac);
}

#[test]
fn keys_of_small_order_are_refused() {
    // 0, 1 and p - 1, p, p + 1 (RFC 7748, section 6.1; the curve's points of order 1, 2 and 4).
    let mut one = [0; 32];
    one[0] = 1;
    let near_p = |last: u8| {
        let mut bytes = [0xff; 32];
        (bytes[0], bytes[31]) = (last, 0x7f);
        bytes
    };
    for point in [[0; 32], one, near_p(0xec), near_p(0xed), near_p(0xee)] {
        let peer = PublicKey::from(point);
        let result = Initiation::new(&client(), &peer, None, 1, &hello(), &mut random(1));
        assert_eq!(result.unwrap_err(), HandshakeError::SmallOrder);
        let mut frame = initiate(None).frame(1, None);
        frame[8..40].copy_from_slice(&point);
        let frame = with_mac1(frame, &server());
        let result = receive_checked(&server(), frame::Initiation::of(&frame), &mut random(1));
        assert_eq!(result.unwrap_err(), HandshakeError::SmallOrder);
    }
}

#[test]
fn copies_over_other_paths_have_one_fingerprint_and_other_initiations_have_others() {
    let fingerprint = |frame: [u8; INITIATION_LEN]| {
        Incoming::verify(&server(), frame::Initiation::of(&frame)).unwrap().fingerprint()
    };
    let initiation = initiate(None);
    let first = fingerprint(initiation.frame(1, None));
    assert_eq!(fingerprint(initiation.frame(2, None)), first);
    for at in 4..232 {
        let mut frame = initiation.frame(1, None);
        frame[at] ^= 1;
        assert_ne!(fingerprint(with_mac1(frame, &server())), first, "byte {at}");
    }
    let (client, server) = (client(), server().public());
    let other = |random: &mut Random| {
        Initiation::new(&client, &server, None, CLIENT_INDEX, &hello(), random).unwrap()
    };
    let mut random = random(10);
    assert_eq!(fingerprint(other(&mut random).frame(1, None)), first, "the seed decides");
    assert_ne!(fingerprint(other(&mut random).frame(1, None)), first);
}

#[test]
fn the_answer_to_a_copy_finishes_the_handshake_too() {
    let mut initiation = initiate(None);
    let (response, _) = respond(&initiation.frame(1, None), None);
    let frame = response.frame(2);
    assert_eq!(frame::Response::of(&frame).path_id(), 2);
    assert!(initiation.finish(&frame::Response::of(&frame)).is_ok());
}

#[test]
fn what_is_printed_has_no_secrets() {
    let initiation = initiate(psk(1).as_ref());
    let frame = initiation.frame(1, None);
    let received = receive(&frame);
    let peer = server().public();
    assert_eq!(
        format!("{initiation:?}"),
        format!("Initiation {{ peer: {peer:?}, index: {CLIENT_INDEX}, .. }}")
    );
    assert!(format!("{received:?}").starts_with("Received { peer: PublicKey("));
    let (_, transport) = received.respond(None, 5, &welcome()).unwrap();
    assert_eq!(
        format!("{transport:?}"),
        format!(
            "Transport {{ local_index: 5, remote_index: {CLIENT_INDEX}, initiator: false, .. }}"
        )
    );
}

#[test]
fn a_hello_without_a_name_and_for_steering() {
    let hello = Hello { kind: Kind::Steering, key: None, name: Name::default(), ..hello() };
    let (client, peer) = (client(), server().public());
    let initiation = Initiation::new(&client, &peer, None, 9, &hello, &mut random(1)).unwrap();
    assert_eq!(receive(&initiation.frame(0, None)).hello, hello);
}
