//! The daemon's UDP sockets: one per (local address, port, interface), shared by all paths that name it.

pub(super) mod command_sockets;
pub(super) mod message;
mod messages;

use std::io;
use std::net::{IpAddr, SocketAddr};

use mpt_core::SocketId;
use mpt_linux::udp::SocketConfig;

use super::system::token::Token;
use super::system::{BatchSocket, System};

/// First port of the dynamic range (RFC 6335 section 6), from which RFC 8086 section 3.2.1 has source ports chosen.
const DYNAMIC_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;
/// The number of times a random port may turn out to be taken before giving up.
const RANDOM_PORT_TRIES: usize = 64;
/// The bytes that may wait in the kernel to be read: more than the largest TCP window of a default Linux, so that a burst is not a loss.
const RECEIVE_BUFFER: usize = 16 << 20;
/// The bytes that may wait in the kernel to be sent on one socket.
const SEND_BUFFER: usize = 1 << 20;

/// The properties that two paths with one socket have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketKey {
    /// Address to bind; unspecified when the path names only its interface.
    pub(crate) local: IpAddr,
    /// Interface to bind to.
    pub(crate) interface: Option<String>,
    /// Outer UDP checksum.
    pub(crate) checksum: bool,
}

/// A socket, how many paths use it, and which paths wait for room in it.
#[derive(Debug)]
pub(crate) struct Entry<K> {
    key: SocketKey,
    port: u16,
    users: usize,
    /// The socket.
    pub(crate) socket: K,
    /// True if the system tells of room to write.
    pub(crate) writable_wanted: bool,
}

/// All sockets, by the identity the endpoint knows them under.
#[derive(Debug)]
pub(crate) struct Sockets<S: System> {
    /// The token under which the system reports a socket.
    token: fn(u32) -> Token,
    entries: Vec<Option<Entry<S::Socket>>>,
    /// Mark of all that is sent, by which policy rules know it.
    mark: Option<u32>,
}

impl<S: System> Sockets<S> {
    /// None yet; to the system each is such a token.
    pub(crate) fn of(token: fn(u32) -> Token) -> Self {
        Self { token, entries: Vec::new(), mark: None }
    }

    /// The socket of this key and port, opened if nobody has it yet.
    pub(crate) fn open(&mut self, system: &S, key: &SocketKey, port: u16) -> io::Result<SocketId> {
        let same = |entry: &Entry<S::Socket>| entry.port == port && entry.key == *key;
        if let Some(index) = self.entries.iter().position(|entry| entry.as_ref().is_some_and(same))
        {
            if let Some(entry) = &mut self.entries[index] {
                entry.users += 1;
            }
            return Ok(SocketId(index as u32));
        }
        let socket = self.bind(system, key, port)?;
        let index = self.entries.iter().position(Option::is_none).unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        system.watch_socket(&socket, (self.token)(index as u32))?;
        self.entries[index] =
            Some(Entry { key: key.clone(), port, users: 1, socket, writable_wanted: false });
        Ok(SocketId(index as u32))
    }

    /// A socket on a random free port of the dynamic range.
    pub(crate) fn open_random(&mut self, system: &S, key: &SocketKey) -> io::Result<SocketId> {
        let mut tries = RANDOM_PORT_TRIES;
        loop {
            let port = fastrand::u16(DYNAMIC_PORTS);
            let ours = |entry: &Entry<S::Socket>| entry.port == port && entry.key == *key;
            let taken = self.entries.iter().flatten().any(ours);
            if !taken {
                match self.open(system, key, port) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
                    result => return result,
                }
            }
            tries = tries.saturating_sub(1);
        }
    }

    /// A socket on the port that another one has, for a path that takes the place of that one's. `None` when the port cannot be had.
    pub(crate) fn open_after(
        &mut self,
        system: &S,
        key: &SocketKey,
        former: SocketId,
    ) -> Option<SocketId> {
        let entry = self.entry(former)?;
        let (port, same) = (entry.port, entry.key == *key);
        let of_another =
            |entry: &Entry<S::Socket>| !same && entry.port == port && entry.key == *key;
        if self.entries.iter().flatten().any(of_another) {
            return None;
        }
        // A random port may serve as well: why this one cannot be had is no error.
        self.open(system, key, port).ok()
    }

    /// One more path needs a socket that is open.
    pub(crate) fn share(&mut self, id: SocketId) {
        if let Some(Some(entry)) = self.entries.get_mut(id.0 as usize) {
            entry.users += 1;
        }
    }

    /// Gives everything that is sent from now on, by any socket, this mark.
    pub(crate) fn set_mark(&mut self, mark: Option<u32>) -> io::Result<()> {
        self.mark = mark;
        self.entries.iter().flatten().try_for_each(|entry| entry.socket.set_mark(mark))
    }

    /// One path needs the socket no longer; the last one closes it.
    pub(crate) fn close(&mut self, system: &S, id: SocketId) {
        let Some(slot) = self.entries.get_mut(id.0 as usize) else { return };
        let Some(entry) = slot else { return };
        entry.users -= 1;
        if entry.users == 0 {
            system.forget_socket(&entry.socket);
            *slot = None;
        }
    }

    /// Opens every socket bound to `interface` anew: the device came back, and the old binding names one that is gone. Every one is tried; gives the
    /// first error.
    pub(crate) fn reopen(&mut self, system: &S, interface: &str) -> io::Result<()> {
        let mut result = Ok(());
        for index in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[index] else { continue };
            if entry.key.interface.as_deref() != Some(interface) {
                continue;
            }
            let (key, port) = (entry.key.clone(), entry.port);
            system.forget_socket(&entry.socket);
            entry.writable_wanted = false;
            // The old one has the port: it must be closed first.
            let closed = placeholder(system, &key, self.mark).map(|socket| entry.socket = socket);
            let reopened = closed.and_then(|()| self.bind(system, &key, port)).and_then(|socket| {
                system.watch_socket(&socket, (self.token)(index as u32))?;
                Ok(socket)
            });
            match (reopened, &mut self.entries[index]) {
                (Ok(socket), Some(entry)) => entry.socket = socket,
                (Ok(_), None) => {}
                (Err(error), _) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Binds, or while the interface does not exist keeps its place.
    fn bind(&self, system: &S, key: &SocketKey, port: u16) -> io::Result<S::Socket> {
        let config = config(key, port, self.mark);
        match system.bind(&config) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                tracing::warn!(
                    interface = key.interface,
                    "no such interface yet; its paths wait for it"
                );
                placeholder(system, key, self.mark)
            }
            // One of ours may be in the way, of a path that this one is beside, or replaces.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let ours = self.entries.iter().flatten().filter(|entry| entry.port == port);
                let ours: Vec<&S::Socket> = ours.map(|entry| &entry.socket).collect();
                if ours.is_empty() { Err(error) } else { system.bind_beside(&config, &ours) }
            }
            result => result,
        }
    }

    /// The entry, if the identity is in use.
    #[inline]
    #[must_use]
    pub(crate) fn entry(&self, id: SocketId) -> Option<&Entry<S::Socket>> {
        self.entries.get(id.0 as usize)?.as_ref()
    }

    /// The socket, if the identity is in use.
    #[inline]
    #[must_use]
    pub(crate) fn socket(&self, id: SocketId) -> Option<&S::Socket> {
        self.entry(id).map(|entry| &entry.socket)
    }

    /// Starts or stops waiting for room in a socket.
    pub(crate) fn want_writable(
        &mut self,
        system: &S,
        id: SocketId,
        wanted: bool,
    ) -> io::Result<()> {
        let Some(Some(entry)) = self.entries.get_mut(id.0 as usize) else { return Ok(()) };
        if entry.writable_wanted == wanted {
            return Ok(());
        }
        system.watch_room(&entry.socket, (self.token)(id.0), wanted)?;
        entry.writable_wanted = wanted;
        Ok(())
    }

    /// The local address and port of a socket.
    #[must_use]
    pub(crate) fn local(&self, id: SocketId) -> Option<SocketAddr> {
        self.socket(id).map(BatchSocket::local)
    }
}

/// A socket on any port of any interface, through which nothing is sent: its paths are down for lack of their interface.
fn placeholder<S: System>(system: &S, key: &SocketKey, mark: Option<u32>) -> io::Result<S::Socket> {
    system.bind(&config(&SocketKey { interface: None, ..key.clone() }, 0, mark))
}

fn config(key: &SocketKey, port: u16, mark: Option<u32>) -> SocketConfig {
    SocketConfig {
        local: SocketAddr::new(key.local, port),
        interface: key.interface.clone(),
        mark,
        checksum: key.checksum,
        receive_buffer: RECEIVE_BUFFER,
        send_buffer: SEND_BUFFER,
    }
}
