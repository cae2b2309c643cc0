//! A NAT in user space, which forgets its bindings when told to.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use mpt_wire::gre;

use super::Network;
use crate::topology::End;
use crate::traffic::Moment;
use crate::traffic::buffer;

/// Number of outer sockets of one line: one for each binding there will ever be. They are made beforehand, because a socket belongs to the namespace
/// of the thread that makes it.
const BINDINGS: usize = 8;
/// Interval at which a thread without packets checks whether it has to end.
const LOOK: Duration = Duration::from_millis(20);
/// Size of the socket buffers, for packets that arrive while other sockets have their turn, in bytes.
const BUFFER: usize = 4 * 1024 * 1024;
/// Size of the longest datagram on the lines, in bytes.
const DATAGRAM: usize = 2048;

/// Address translation on every line of a network with a gap, host a inside and host b outside.
#[derive(Debug)]
pub(crate) struct Nat {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// The present generation: bindings of an earlier one are forgotten.
    generation: AtomicU64,
}

/// One line's translation, towards the outside.
struct Translator {
    inside: Arc<UdpSocket>,
    spare: Vec<Arc<UdpSocket>>,
    /// The bindings by client.
    bindings: HashMap<SocketAddr, (u64, Arc<UdpSocket>)>,
    /// Sockets of forgotten bindings, which are kept open: a NAT drops what comes to such a binding without an answer.
    forgotten: Vec<Arc<UdpSocket>>,
    readers: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Nat {
    /// Starts to translate.
    pub(crate) fn start(network: &Network) -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let mut threads = Vec::new();
        for line in 0..network.lines() {
            let server = SocketAddr::new(network.address(line, End::B), gre::PORT);
            let bind = |address: SocketAddr| -> Result<Arc<UdpSocket>> {
                let socket = network.middle().run(|| UdpSocket::bind(address))?;
                let socket = socket.with_context(|| format!("bind {address}"))?;
                buffer::enlarge(&socket, BUFFER)?;
                socket.set_read_timeout(Some(LOOK))?;
                Ok(Arc::new(socket))
            };
            let inside = bind(SocketAddr::new(network.remote(line, End::A), gre::PORT))?;
            let mut spare = Vec::new();
            for _ in 0..BINDINGS {
                let socket = bind(SocketAddr::new(network.remote(line, End::B), 0))?;
                // Only the server gets in.
                socket.connect(server)?;
                spare.push(socket);
            }
            let mut translator = Translator {
                inside,
                spare,
                bindings: HashMap::new(),
                forgotten: Vec::new(),
                readers: Vec::new(),
                shared: Arc::clone(&shared),
            };
            let thread =
                thread::Builder::new().name("nat".into()).spawn(move || translator.run())?;
            threads.push(thread);
        }
        Ok(Self { shared, threads })
    }

    /// Forgets all bindings, and returns the time. Packets from outside are lost until one has come from inside, which gets other ports.
    pub(crate) fn rebind(&self) -> Moment {
        let moment = Moment::now();
        self.shared.generation.fetch_add(1, Ordering::SeqCst);
        moment
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic of the thread has been shown already.
            let _ = thread.join();
        }
    }
}

impl Translator {
    fn run(&mut self) {
        let mut buffer = [0; DATAGRAM];
        let inside = Arc::clone(&self.inside);
        while !self.shared.stop.load(Ordering::Relaxed) {
            match inside.recv_from(&mut buffer) {
                Ok((length, client)) => {
                    if let Some(outside) = self.binding(client) {
                        // A datagram that the kernel refuses is lost, as on any line.
                        let _ = outside.send(&buffer[..length]);
                    }
                }
                Err(error) if is_nothing(error.kind()) => {}
                Err(_) => break,
            }
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }

    /// Returns the outer socket for a client; `None` when there are no more.
    fn binding(&mut self, client: SocketAddr) -> Option<&UdpSocket> {
        let now = self.shared.generation.load(Ordering::SeqCst);
        if self.bindings.get(&client).is_none_or(|(generation, _)| *generation != now) {
            let socket = self.spare.pop()?;
            let (inside, shared) = (Arc::clone(&self.inside), Arc::clone(&self.shared));
            let outside = Arc::clone(&socket);
            let work = move || back(&outside, &inside, client, now, &shared);
            self.readers.push(thread::Builder::new().name("nat".into()).spawn(work).ok()?);
            if let Some((_, old)) = self.bindings.insert(client, (now, socket)) {
                self.forgotten.push(old);
            }
        }
        self.bindings.get(&client).map(|(_, socket)| &**socket)
    }
}

/// Carries packets of one binding back inside, for as long as it is remembered.
fn back(outside: &UdpSocket, inside: &UdpSocket, client: SocketAddr, born: u64, shared: &Shared) {
    let mut buffer = [0; DATAGRAM];
    while !shared.stop.load(Ordering::Relaxed) {
        let received = outside.recv(&mut buffer);
        if shared.generation.load(Ordering::SeqCst) != born {
            return;
        }
        match received {
            Ok(length) => drop(inside.send_to(&buffer[..length], client)),
            Err(error) if is_nothing(error.kind()) => {}
            Err(_) => return,
        }
    }
}

/// Returns true if no packet came in time, or an earlier one was answered by an error.
fn is_nothing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::failover::network::{LineSpec, Middle};

    #[test]
    fn a_forgotten_binding_lets_nothing_in_and_the_next_one_has_another_port() {
        let network = Network::new(1, LineSpec::USUAL, Middle::Gap).unwrap();
        let nat = Nat::start(&network).unwrap();
        let bind = |end, port| {
            let address = SocketAddr::new(network.address(0, end), port);
            let socket = network.host(end).run(|| UdpSocket::bind(address)).unwrap().unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        };
        let (client, server) = (bind(End::A, 0), bind(End::B, gre::PORT));
        let outside = SocketAddr::new(network.remote(0, End::A), gre::PORT);
        let mut buffer = [0; 16];
        let mut ask = |question: &[u8]| {
            client.send_to(question, outside).unwrap();
            let (length, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], question);
            from
        };

        let first = ask(b"one");
        assert_eq!(first, ask(b"two"), "the binding stays");
        server.send_to(b"answer", first).unwrap();
        let (length, from) = client.recv_from(&mut [0; 16]).unwrap();
        assert_eq!((length, from), (6, outside));

        nat.rebind();
        server.send_to(b"lost", first).unwrap();
        let second = ask(b"three");
        assert_ne!(first, second);
        server.send_to(b"found", second).unwrap();
        let (length, _) = client.recv_from(&mut [0; 16]).unwrap();
        assert_eq!(length, 5, "what came to the forgotten binding is lost");
    }
}
