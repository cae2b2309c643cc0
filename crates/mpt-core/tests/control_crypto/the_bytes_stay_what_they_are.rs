//! Known answers: any change to labels, prologue, pattern or layout breaks every peer in the field,
//! and this test. The bytes were computed by tests/control_vectors.py, an implementation of its own
//! from RFC 7693 (BLAKE2s), RFC 7748 (Curve25519), RFC 8439 (ChaCha20-Poly1305) and the specification
//! of Noise, so they also show that the libraries do what these say.

use std::net::SocketAddr;

use mpt_core::session::CookieSecret;
use mpt_wire::control::frame;

use super::harness::*;

/// Public keys of client and server.
const PUBLIC: [&str; 2] = [
    "pOCSkrZRwni5dyxWn1+puxPZBrRqtoyd+dwrRAn4ogk=",
    "zo060cy2M+x7cMF4FKXHbs0CloUFDTRHRboFhw5YfVk=",
];
const INITIATION: &str = "\
    0102000301020304c0c57ce3410d46d4a1ed4481d2390ae5b788f2cd977cca04388dc5bfb0c6c407\
    3fb955dd4a1b8ad13d44edcce2ffacf1882fc1985c86b1b5e4d01d980d6c47fd9dc05d552b48881f\
    75affb45a008813e51ca68043ab65459b230b648fe151c9c99fa8d7079dce7c747fecb68b0459eb9\
    468a26038605da2ff220c7a313255eb0572c3e7e37b7108c2aa4db2789e4f87ff3637944e539317c\
    c287ef49033720baf808e4602fbf9a1dab7936940d29684c2b221714d97b6b9cc087787f49c1d670\
    a936aa641fcbca84ec3024b94bb07fd1c0e6a6afa746678720da25e6ec91e2531b7297df3ffba54c\
    cedbba46d122bf37000000000000000000000000000000000000000000000000";
const INITIATION_WITH_COOKIE: &str = "\
    0102000301020304c0c57ce3410d46d4a1ed4481d2390ae5b788f2cd977cca04388dc5bfb0c6c407\
    3fb955dd4a1b8ad13d44edcce2ffacf1882fc1985c86b1b5e4d01d980d6c47fd9dc05d552b48881f\
    75affb45a008813e51ca68043ab65459b230b648fe151c9c99fa8d7079dce7c747fecb68b0459eb9\
    468a26038605da2ff220c7a313255eb0572c3e7e37b7108c2aa4db2789e4f87ff3637944e539317c\
    c287ef49033720baf808e4602fbf9a1dab7936940d29684c2b221714d97b6b9cc087787f49c1d670\
    a936aa641fcbca84ec3024b94bb07fd1c0e6a6afa746678720da25e6ec91e2531b7297df3ffba54c\
    cedbba46d122bf37301a3a0359a80250dbdafbaea6295fb7e018c2fec48da234";
const RESPONSE: &str = "\
    020200030506070801020304112866436d77cdbe987da36d85f61bb9cde2ba4f024a078f6d11f7e5\
    886fe85b84932d83459308fc9e7ca667eb92d85cf0b6a95de98709fa4f140805764f97fed42dad47\
    34451624d0ed1d943f3d20f256f942072af50cea861c51991b693ef1af9cd239d347da16b840809d\
    73f7c7ea4629c0df74af2565aeaa5cf09294e2e6";
const COOKIE: &str = "\
    030200030102030436f73ab386a1cd391104d901875e0e0b9bd11e0dfd4b0e2565f62a5dbd1451db\
    2941d026517f2fda7e1fea9a32cb415e3c66129ea0df5a2680b5ed3f0a9871b000b9d5a10fa5d307\
    b4ecfa54708c43f9";
const SEALED_BY_CLIENT: &str = "\
    0402050607080003000000000000f9d57e430a9bc8327f9713d9181adb20c25229f0d14d53c32029\
    3b93e1";
const SEALED_BY_SERVER: &str = "\
    0402010203040003000000000000335732895e176b392e3ef9d63601c949c7ef303b5401a9e47b80\
    e10dd1";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn public_keys() {
    assert_eq!([client(), server()].map(|key| key.public().to_string()), PUBLIC);
}

#[test]
fn a_handshake_and_the_first_frames() {
    let psk = psk(3);
    let mut initiation = initiate(psk.as_ref());
    let frame = initiation.frame(3, None);
    assert_eq!(hex(&frame), INITIATION);
    let (response, mut server) = respond(&frame, psk.as_ref());
    let frame = response.frame(3);
    assert_eq!(hex(&frame), RESPONSE);
    let (mut client, _) = initiation.finish(&frame::Response::of(&frame)).unwrap();
    assert_eq!(hex(&seal(&mut client, 3, b"to the server")), SEALED_BY_CLIENT);
    assert_eq!(hex(&seal(&mut server, 3, b"to the client")), SEALED_BY_SERVER);
}

#[test]
fn a_cookie() {
    let initiation = initiate(None);
    let frame = initiation.frame(3, None);
    let remote: SocketAddr = "192.0.2.1:4754".parse().unwrap();
    let mut secret = CookieSecret::new(&mut random(20));
    let view = frame::Initiation::of(&frame);
    let reply = secret.reply(origin(), &server().public(), remote, &view, &mut random(21));
    assert_eq!(hex(&reply), COOKIE);
    let Ok(frame::Frame::Cookie(reply)) = frame::parse(&reply) else { panic!("a cookie") };
    let cookie = initiation.open_cookie(&reply).unwrap();
    assert_eq!(hex(&initiation.frame(3, Some(&cookie))), INITIATION_WITH_COOKIE);
}
