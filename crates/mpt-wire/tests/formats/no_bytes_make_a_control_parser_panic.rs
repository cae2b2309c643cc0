//! Fuzz targets that are ordinary tests, too: whatever the bytes, the parsers of the control
//! protocol say something, and what they accept is written as they read it.

use mpt_wire::control::frame::{self, Frame, MAX_PAYLOAD_LEN, SEALED_HEADER_LEN};
use mpt_wire::control::hello::{self, HELLO_LEN, WELCOME_LEN};
use mpt_wire::control::{
    Cookie, Hello, Initiation, Message, Response, Welcome, Writer, message, messages,
};

const ITERATIONS: usize = 20_000;

/// Bytes, and what makes a frame of them.
#[derive(Debug, bolero::TypeGenerator)]
struct Bytes {
    /// The type, if it is a frame: then the length is right as well, give or take one.
    kind: Option<(Kind, i8)>,
    seed: u8,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, bolero::TypeGenerator)]
enum Kind {
    Initiation,
    Response,
    Cookie,
    Sealed,
}

impl Bytes {
    fn build(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let Some((kind, damage)) = self.kind else { return bytes };
        let (kind, len) = match kind {
            Kind::Initiation => (1, frame::INITIATION_LEN),
            Kind::Response => (2, frame::RESPONSE_LEN),
            Kind::Cookie => (3, frame::COOKIE_LEN),
            Kind::Sealed => (4, bytes.len().max(30)),
        };
        let damage = if damage.unsigned_abs() > 100 { damage.signum() } else { 0 };
        let len = len.saturating_add_signed(damage.into());
        let mut value = self.seed;
        bytes.resize_with(len, || {
            value = value.wrapping_mul(5).wrapping_add(1);
            value
        });
        bytes[..2].copy_from_slice(&[kind, 1]);
        bytes
    }
}

#[test]
fn fuzz_control_frame() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Bytes>().for_each(|bytes| {
        let bytes = bytes.build();
        let again = match frame::parse(&bytes) {
            Ok(Frame::Initiation(view)) => {
                let noise = view.noise().try_into().expect("one length");
                let mut again = Initiation::emit(view.path_id(), view.sender_index(), noise);
                assert_eq!(view.before_mac1(), &again[..view.before_mac1().len()]);
                Initiation::set_mac1(&mut again, &view.mac1());
                assert_eq!(view.before_mac2(), &again[..view.before_mac2().len()]);
                Initiation::set_mac2(&mut again, &view.mac2());
                again.to_vec()
            }
            Ok(Frame::Response(view)) => {
                let noise = view.noise().try_into().expect("one length");
                let (sender, receiver) = (view.sender_index(), view.receiver_index());
                let mut again = Response::emit(view.path_id(), sender, receiver, noise);
                assert_eq!(view.before_mac1(), &again[..view.before_mac1().len()]);
                Response::set_mac1(&mut again, &view.mac1());
                again.to_vec()
            }
            Ok(Frame::Cookie(view)) => {
                let (nonce, sealed) = (view.nonce(), view.sealed());
                Cookie::emit(view.path_id(), view.receiver_index(), &nonce, &sealed).to_vec()
            }
            Ok(Frame::Sealed(view)) => {
                assert_eq!(view.header().nonce().to_be_bytes(), bytes[6..SEALED_HEADER_LEN]);
                [&view.header().emit(), view.ciphertext()].concat()
            }
            Err(frame::Error::Truncated) => return assert!(bytes.len() < frame::INITIATION_LEN),
            Err(frame::Error::Length) => return assert!(bytes.len() > frame::COOKIE_LEN),
            Err(frame::Error::Version) => return assert_ne!(bytes[1], frame::VERSION),
            Err(frame::Error::Type) => return assert!(!(1..=4).contains(&bytes[0])),
        };
        assert_eq!(again, bytes);
    });
}

/// Bytes of a Hello or a Welcome: random counts would hardly ever be allowed.
#[derive(Debug, bolero::TypeGenerator)]
struct Greeting {
    bytes: [u8; HELLO_LEN],
    kind: Option<u8>,
    capabilities: Option<u8>,
    name: Option<(u8, [char; 8])>,
}

impl Greeting {
    fn hello(&self) -> [u8; HELLO_LEN] {
        let mut bytes = self.bytes;
        if let Some(kind) = self.kind {
            bytes[0] = 1 + kind % 2;
        }
        if let Some(count) = self.capabilities {
            bytes[2] = count % 18;
        }
        if let Some((len, name)) = self.name {
            bytes[3] = len % 34;
            let name = name.iter().collect::<String>().into_bytes();
            bytes[72..72 + name.len()].copy_from_slice(&name);
        }
        bytes
    }

    fn welcome(&self) -> [u8; WELCOME_LEN] {
        let mut bytes: [u8; WELCOME_LEN] = self.bytes[..WELCOME_LEN].try_into().expect("its half");
        if let Some(count) = self.capabilities {
            bytes[1] = count % 14;
        }
        bytes
    }
}

#[test]
fn fuzz_control_hello() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Greeting>().for_each(|greeting| {
        let bytes = greeting.hello();
        match Hello::decode(&bytes) {
            Ok(hello) => {
                let again = hello.encode();
                assert_eq!(Hello::decode(&again), Ok(hello));
                // The fields with a meaning are as they were, and the rest is zero.
                let named = 72 + usize::from(bytes[3]);
                let known = 8 + 4 * usize::from(bytes[2]);
                assert_eq!(again[0], bytes[0]);
                assert_eq!(again[1], bytes[1] & 3);
                assert_eq!(again[2..4], bytes[2..4]);
                assert_eq!(again[8..known], bytes[8..known]);
                assert_eq!(again[72..named], bytes[72..named]);
                assert!(again[known..56].iter().chain(&again[named..104]).all(|byte| *byte == 0));
                assert_eq!(again[56..72], sealing(bytes[1], &bytes[56..72]));
                let challenge = if bytes[104..112] == [0; 8] { &[0; 24] } else { &bytes[104..] };
                assert_eq!(again[104..], *challenge);
                assert_eq!(hello.name.as_str().as_bytes(), &bytes[72..named]);
                assert_eq!(hello.key.is_some(), bytes[1] & 1 == 1);
            }
            Err(hello::Error::Kind) => assert!(!matches!(bytes[0], 1 | 2)),
            Err(hello::Error::Capabilities) => assert!(bytes[2] > 12),
            Err(hello::Error::Name) => {
                let name = bytes.get(72..72 + usize::from(bytes[3].min(32)));
                let name = name.and_then(|name| str::from_utf8(name).ok());
                assert!(bytes[3] > 32 || name.is_none_or(|name| name.contains(char::is_control)));
            }
        }
        let bytes = greeting.welcome();
        match Welcome::decode(&bytes) {
            Ok(welcome) => {
                let again = welcome.encode();
                assert_eq!(Welcome::decode(&again), Ok(welcome));
                let known = 4 + 4 * usize::from(bytes[1]);
                assert_eq!(again[..2], [bytes[0] & 3, bytes[1]]);
                assert_eq!(again[4..known], bytes[4..known]);
                assert!(again[2..4].iter().chain(&again[known..48]).all(|byte| *byte == 0));
                assert_eq!(again[48..], sealing(bytes[0], &bytes[48..]));
            }
            Err(error) => assert!(error == hello::Error::Capabilities && bytes[1] > 11),
        }
    });
}

/// Returns the bytes about sealed data as an encoder writes them.
fn sealing(flags: u8, bytes: &[u8]) -> [u8; 16] {
    let mut left = [0; 16];
    if flags & 2 != 0 {
        left.copy_from_slice(bytes);
        left[5..8].fill(0);
    }
    left
}

/// A row of messages, most of them with bodies that their types may have.
#[derive(Debug, bolero::TypeGenerator)]
struct Payload {
    #[generator(bolero::generator::produce::<Vec<Body>>().with().len(0usize..8))]
    messages: Vec<Body>,
    /// Damage at the end.
    patch: Option<(u8, u8)>,
    cut: Option<u8>,
}

#[derive(Debug, bolero::TypeGenerator)]
struct Body {
    kind: u8,
    /// Zero bytes at the beginning make for small numbers.
    small: bool,
    right_len: bool,
    bytes: Vec<u8>,
}

impl Payload {
    fn build(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        for message in &self.messages {
            let kind = message.kind % 12;
            let mut body = message.bytes.clone();
            if message.right_len {
                let len = match kind {
                    1 | 2 => 8,
                    3 => body.len() / 22 * 22,
                    4 => 12 + body.len() / 8 * 8,
                    5 => 4,
                    6 => body.len().max(8),
                    7 => body.len().max(12),
                    8 => 1,
                    _ => body.len(),
                };
                body.resize(len, kind);
            }
            if message.small {
                for (at, byte) in body.iter_mut().take(11).enumerate() {
                    *byte &= if at % 4 == 3 { 0xff } else { 0 };
                }
            }
            payload.push(kind);
            payload.extend((body.len() as u16).to_be_bytes());
            payload.extend(body);
        }
        if let Some((at, value)) = self.patch
            && let Some(byte) = payload.get_mut(usize::from(at))
        {
            *byte = value;
        }
        if let Some(cut) = self.cut {
            payload.truncate(payload.len().saturating_sub(cut.into()));
        }
        payload
    }
}

#[test]
fn fuzz_control_messages() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Payload>().for_each(|payload| {
        let payload = payload.build();
        let mut good = Vec::new();
        let mut all = messages(&payload);
        for message in all.by_ref() {
            match message {
                Ok(message) => good.push(message),
                Err(error) => {
                    assert!(matches!(
                        error,
                        message::Error::Truncated | message::Error::Length | message::Error::Value
                    ));
                    break;
                }
            }
        }
        assert_eq!(all.next(), None, "an error is the end");

        // Written, they are read as they were; written again, they have the same bytes.
        let mut written = Vec::new();
        let mut writer = Writer::new(&mut written, usize::MAX);
        let mut fit = Vec::new();
        for message in &good {
            if writer.push(message).is_ok() {
                fit.push(*message);
            } else {
                assert!(payload.len() > MAX_PAYLOAD_LEN);
            }
        }
        let read: Result<Vec<_>, _> = messages(&written).collect();
        let read = read.expect("messages of our own");
        assert_eq!(read, fit);
        let mut again = Vec::new();
        let mut writer = Writer::new(&mut again, written.len());
        assert!(read.iter().all(|message| writer.push(message).is_ok()));
        assert_eq!((writer.remaining(), &again), (0, &written));
        for message in read {
            let _ = format!("{message:?}");
        }
    });
}

/// A call of a writer.
#[derive(Debug, bolero::TypeGenerator)]
enum Write {
    Probe(u64),
    Pad(u16),
    PadTo(u16),
    Reports(u8),
    Paths(u8),
    Request(u16),
    Result(u16),
    Goodbye(u8),
    Clock(u32),
}

#[test]
fn fuzz_control_writer() {
    bolero::check!()
        .with_iterations(ITERATIONS)
        .with_type::<(Vec<u8>, u16, Vec<Write>)>()
        .for_each(|(before, limit, writes)| {
            let limit = usize::from(*limit % 1400);
            let bytes = [0xcc; 1500];
            let mut buffer = before.clone();
            let mut writer = Writer::new(&mut buffer, limit);
            let mut count = 0;
            for write in writes {
                let (len, room) = (writer.len(), writer.remaining());
                assert_eq!(len + room, limit.min(MAX_PAYLOAD_LEN));
                // The bytes that it takes, whether any frame may carry it, and whether it was written.
                let (needed, allowed, written) = match *write {
                    Write::Probe(token) => (11, true, writer.push(&Message::Probe { token })),
                    Write::Pad(len) => {
                        (3 + usize::from(len), true, writer.push(&Message::Pad { len }))
                    }
                    Write::PadTo(to) => {
                        let missing = usize::from(to % 1500).saturating_sub(len);
                        let needed = if missing == 0 { 0 } else { missing.max(3) };
                        (needed, true, writer.pad_to(usize::from(to % 1500)))
                    }
                    Write::Reports(count) => {
                        let count = usize::from(count % 64);
                        let entry = Default::default();
                        assert_eq!(
                            count <= writer.room_for_report() && room >= 3,
                            3 + 22 * count <= room
                        );
                        (3 + 22 * count, true, writer.push_report(vec![entry; count].into_iter()))
                    }
                    Write::Paths(count) => {
                        let state = mpt_wire::control::PathState::DEAD;
                        let economy = mpt_wire::control::Economy::METERED;
                        let (path_id, weight, wish) = (1, 2, 3);
                        let entry =
                            mpt_wire::control::PathEntry { path_id, weight, wish, state, economy };
                        let entries = vec![entry; count.into()].into_iter();
                        let written = writer.push_paths(1, 2, 3, entries);
                        (15 + 8 * usize::from(count), count <= 128, written)
                    }
                    Write::Request(len) => {
                        let body = &bytes[..usize::from(len) % 1500];
                        let message = Message::Request { id: 1, offset: 2, body };
                        (11 + body.len(), body.len() <= 1024, writer.push(&message))
                    }
                    Write::Result(len) => {
                        let chunk = &bytes[..usize::from(len) % 1500];
                        let message = Message::Result { id: 1, offset: 0, total: 1500, chunk };
                        (15 + chunk.len(), chunk.len() <= 1024, writer.push(&message))
                    }
                    Write::Goodbye(reason) => {
                        let reason = mpt_wire::control::Reason(reason);
                        (4, true, writer.push(&Message::Goodbye { reason }))
                    }
                    Write::Clock(time) => (11, true, writer.push(&Message::Clock { id: 1, time })),
                };
                assert_eq!(written.is_ok(), allowed && needed <= room, "{write:?} into {room}");
                assert_eq!(writer.len(), if written.is_ok() { len + needed } else { len });
                count += usize::from(written.is_ok() && needed > 0);
            }
            let len = writer.len();
            assert_eq!(buffer.len(), before.len() + len);
            assert_eq!(buffer[..before.len()], before[..]);
            let read = &buffer[before.len()..];
            assert_eq!(messages(read).filter(Result::is_ok).count(), count);
            assert!(messages(read).all(|message| message.is_ok()));
        });
}
