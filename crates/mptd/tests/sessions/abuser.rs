//! A peer with a valid key and frames of its own making.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mpt_core::session::{Cookie, Initiation, Random, Transport};
use mpt_wire::control::frame::{self, Frame, MAX_PAYLOAD_LEN};
use mpt_wire::control::{Capabilities, Hello, Kind, Message, Name, Writer, messages};

use crate::hosts::{Host, Identity, PATIENCE};

/// GRE header of a control frame, without key.
const HEADER: [u8; 4] = [0, 0, 0x88, 0xb5];

/// The peer, and the socket it sends from.
pub(crate) struct Abuser {
    pub(crate) socket: UdpSocket,
    pub(crate) server: SocketAddr,
    transport: Transport,
}

impl Abuser {
    /// Agrees on keys with the daemon at `server`, from the address `local` of `host`.
    pub(crate) fn connect(
        host: &Host,
        (local, own): (&str, &Identity),
        (server, peer): (&str, &Identity),
        (kind, name): (Kind, &str),
    ) -> Self {
        let socket = host.udp(local);
        let server: SocketAddr = server.parse().unwrap();
        let mut seed = [0; 32];
        seed.fill_with(|| fastrand::u8(..));
        let mut random = Random::new(seed);
        let mut cookie: Option<Cookie> = None;
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "no keys within {PATIENCE:?}");
            let hello = Hello {
                kind,
                key: None,
                capabilities: Capabilities::new(),
                name: Name::new(name).unwrap(),
                challenge: cookie.as_ref().map(Cookie::challenge),
                sealing: None,
            };
            let index = random.u32();
            let initiation =
                Initiation::new(&own.private, &peer.public_key(), None, index, &hello, &mut random);
            let mut initiation = initiation.unwrap();
            let frame = initiation.frame(1, cookie.as_ref());
            socket.send_to(&[HEADER.as_slice(), &frame].concat(), server).unwrap();
            let mut buffer = [0; 2048];
            let Ok(length) = socket.recv(&mut buffer) else { continue };
            match frame::parse(&buffer[HEADER.len()..length]) {
                Ok(Frame::Response(response)) => {
                    if let Ok((transport, _)) = initiation.finish(&response) {
                        return Self { socket, server, transport };
                    }
                }
                Ok(Frame::Cookie(answer)) => cookie = initiation.open_cookie(&answer).ok(),
                _ => {}
            }
        }
    }

    /// A datagram with these messages.
    pub(crate) fn datagram(&mut self, messages: &[Message<'_>]) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut writer = Writer::new(&mut payload, MAX_PAYLOAD_LEN);
        for message in messages {
            writer.push(message).expect("there is room");
        }
        self.sealed(&payload)
    }

    /// A datagram with these bytes as messages.
    pub(crate) fn sealed(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        self.transport.seal(1, payload, &mut frame).unwrap();
        [HEADER.as_slice(), &frame].concat()
    }

    /// Sends it from the peer's own address.
    pub(crate) fn send(&self, datagram: &[u8]) {
        // A full socket loses it, as the way may.
        let _ = self.socket.send_to(datagram, self.server);
    }

    /// Messages of the next frame that comes, for at most `wait`.
    pub(crate) fn receive(&mut self, wait: Duration) -> Option<Vec<u8>> {
        self.socket.set_read_timeout(Some(wait)).unwrap();
        let mut buffer = [0; 2048];
        let length = self.socket.recv(&mut buffer).ok()?;
        let Ok(Frame::Sealed(sealed)) = frame::parse(&buffer[HEADER.len()..length]) else {
            return None;
        };
        let mut payload = vec![0; MAX_PAYLOAD_LEN];
        Some(self.transport.open(&sealed, &mut payload).ok()?.payload.to_vec())
    }

    /// Answers the challenges that come within `time`; gives how many bytes came.
    pub(crate) fn answer_challenges(&mut self, time: Duration) -> usize {
        let start = Instant::now();
        let mut bytes = 0;
        while start.elapsed() < time {
            let Some(payload) = self.receive(Duration::from_millis(50)) else { continue };
            bytes += payload.len();
            let tokens: Vec<u64> = messages(&payload)
                .filter_map(|message| match message {
                    Ok(Message::Probe { token }) => Some(token),
                    _ => None,
                })
                .collect();
            for token in tokens {
                let echo = self.datagram(&[Message::Echo { token }]);
                self.send(&echo);
            }
        }
        bytes
    }
}
