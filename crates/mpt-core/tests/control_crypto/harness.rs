//! Two ends with keys, and the frames between them.

use std::time::Instant;

use mpt_core::session::{
    Incoming, Initiation, PresharedKey, PrivateKey, Random, Received, Response, Transport,
};
use mpt_wire::control::frame::{
    self, Frame, INITIATION_LEN, MAC_LEN, MAX_PAYLOAD_LEN, RESPONSE_LEN,
};
use mpt_wire::control::{Capabilities, Capability, Hello, Kind, Name, Welcome};

pub(crate) const CLIENT_INDEX: u32 = 0x0102_0304;
pub(crate) const SERVER_INDEX: u32 = 0x0506_0708;

#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
pub(crate) fn origin() -> Instant {
    Instant::now()
}

pub(crate) fn private(seed: u8) -> PrivateKey {
    PrivateKey::from_seed([seed; 32])
}

pub(crate) fn client() -> PrivateKey {
    private(1)
}

pub(crate) fn server() -> PrivateKey {
    private(2)
}

pub(crate) fn psk(seed: u8) -> Option<PresharedKey> {
    Some(PresharedKey::from_seed([seed; 32]))
}

pub(crate) fn random(seed: u8) -> Random {
    Random::new([seed; 32])
}

pub(crate) fn hello() -> Hello {
    Hello {
        kind: Kind::Connection,
        key: Some(7),
        capabilities: Capabilities::from_slice(&[Capability::CONTROL]).unwrap(),
        name: Name::new("client").unwrap(),
        challenge: None,
        sealing: None,
    }
}

pub(crate) fn welcome() -> Welcome {
    let capabilities = Capabilities::from_slice(&[Capability::CONTROL]).unwrap();
    Welcome { attached: true, capabilities, sealing: None }
}

/// The client's initiation for the server.
pub(crate) fn initiate(psk: Option<&PresharedKey>) -> Initiation {
    let (client, server) = (client(), server().public());
    Initiation::new(&client, &server, psk, CLIENT_INDEX, &hello(), &mut random(10)).unwrap()
}

pub(crate) fn receive(frame: &[u8; INITIATION_LEN]) -> Received {
    let frame = frame::Initiation::of(frame);
    Incoming::verify(&server(), frame).unwrap().receive(&server(), &mut random(11)).unwrap()
}

/// The server's answer.
pub(crate) fn respond(
    frame: &[u8; INITIATION_LEN],
    psk: Option<&PresharedKey>,
) -> (Response, Transport) {
    receive(frame).respond(psk, SERVER_INDEX, &welcome()).unwrap()
}

/// Both ends of a session.
pub(crate) fn session() -> (Transport, Transport) {
    let mut initiation = initiate(None);
    let (response, server) = respond(&initiation.frame(1, None), None);
    let (client, _) = initiation.finish(&frame::Response::of(&response.frame(1))).unwrap();
    (client, server)
}

pub(crate) fn seal(transport: &mut Transport, path: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    transport.seal(path, payload, &mut frame).unwrap();
    frame
}

/// Path, whether it is fresh, and payload; or the error, as text.
pub(crate) fn open(
    transport: &mut Transport,
    frame: &[u8],
) -> Result<(u16, bool, Vec<u8>), String> {
    let frame = match frame::parse(frame).map_err(|error| error.to_string())? {
        Frame::Sealed(frame) => frame,
        other => return Err(format!("no sealed frame: {other:?}")),
    };
    let mut out = [0; MAX_PAYLOAD_LEN];
    let opened = transport.open(&frame, &mut out).map_err(|error| format!("{error:?}"))?;
    Ok((opened.path, opened.fresh, opened.payload.to_vec()))
}

/// mac1 for these bytes, by whoever knows the public key: computed here by hand.
fn forge_mac1(recipient: &PrivateKey, before: &[u8]) -> [u8; MAC_LEN] {
    use blake2::digest::consts::U16;
    use blake2::digest::{FixedOutput, KeyInit, Update};
    use blake2::{Blake2s256, Blake2sMac, Digest};

    let public = recipient.public();
    let key =
        Blake2s256::new().chain_update(b"mpt mac1").chain_update(public.as_bytes()).finalize();
    let mut mac = Blake2sMac::<U16>::new_from_slice(&key).unwrap();
    Update::update(&mut mac, before);
    mac.finalize_fixed().into()
}

/// Gives an initiation the mac1 that `recipient` expects.
pub(crate) fn with_mac1(
    mut frame: [u8; INITIATION_LEN],
    recipient: &PrivateKey,
) -> [u8; INITIATION_LEN] {
    let mac1 = forge_mac1(recipient, frame::Initiation::of(&frame).before_mac1());
    frame::Initiation::set_mac1(&mut frame, &mac1);
    frame
}

/// Gives a response the mac1 that `recipient` expects.
pub(crate) fn response_with_mac1(
    mut frame: [u8; RESPONSE_LEN],
    recipient: &PrivateKey,
) -> [u8; RESPONSE_LEN] {
    let mac1 = forge_mac1(recipient, frame::Response::of(&frame).before_mac1());
    frame::Response::set_mac1(&mut frame, &mac1);
    frame
}
