//! The assignment of datagrams from the network to paths.
//!
//! One exact rule: local socket, remote address, remote port where the path names one, and GRE key
//! or its absence name one path of one connection. Two paths that a datagram could both belong to
//! are an error.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashMap;

use crate::{DatagramDrop, PathConfig, PathId, SocketId};

/// The receiving tuples of all paths, ready for look-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assignments {
    tuples: FxHashMap<Tuple, PathId>,
    /// The number of tuples that a sender is in, whatever their keys. It tells a wrong key from an
    /// unknown sender.
    senders: FxHashMap<Sender, u32>,
    /// The numbers of tuples that name a port, and that do not.
    with_port: usize,
    without_port: usize,
    /// The last answer of each socket (by the low bits of its number): datagrams of one receive batch mostly
    /// come from the same place, and a connection's paths mostly have sockets of their own.
    last: [Option<Answer>; LAST],
}

/// The number of sockets whose last answers are remembered.
const LAST: usize = 4;

/// A datagram that was looked up, and its path.
#[derive(Clone, Copy, Debug)]
struct Answer {
    datagram: (SocketId, SocketAddr, Option<u32>),
    path: PathId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuple {
    sender: Sender,
    key: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sender {
    /// The halves of the address; IPv4 addresses mapped into IPv6, as they come from a dual-stack
    /// socket.
    remote: (u64, u64),
    socket: u32,
    port: Option<u16>,
}

/// Four words instead of the seven that would be derived: each takes as long as a multiplication.
impl Hash for Tuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sender.hash(state);
        state.write_u64(self.key.map_or(u64::MAX, u64::from));
    }
}

impl Hash for Sender {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.remote.0);
        state.write_u64(self.remote.1);
        let port = self.port.map_or(u64::from(u32::MAX), u64::from);
        state.write_u64(u64::from(self.socket) << 32 | port);
    }
}

impl Assignments {
    /// Adds the tuples of a path, one for each of its sockets (none while its remote address is not
    /// known), or gives a path that is in the way.
    pub(crate) fn insert(
        &mut self,
        path: PathId,
        key: Option<u32>,
        config: &PathConfig,
    ) -> Result<(), PathId> {
        let Some(remote) = config.remote.address().map(|remote| remote.ip()) else { return Ok(()) };
        if let Some(other) = self.conflict(key, config, remote) {
            return Err(other);
        }
        for &socket in &config.sockets {
            let sender = Sender::new(socket, remote, config.remote_source_port);
            if self.tuples.insert(Tuple { sender, key }, path).is_none() {
                *self.senders.entry(sender).or_default() += 1;
                *self.counter(sender) += 1;
            }
        }
        self.last = [None; LAST];
        Ok(())
    }

    /// Removes the tuples of a path.
    pub(crate) fn remove(&mut self, path: PathId) {
        let gone: Vec<Tuple> = self
            .tuples
            .iter()
            .filter(|&(_, &other)| other == path)
            .map(|(&tuple, _)| tuple)
            .collect();
        for tuple in gone {
            self.tuples.remove(&tuple);
            *self.counter(tuple.sender) -= 1;
            if let Some(count) = self.senders.get_mut(&tuple.sender) {
                *count -= 1;
                if *count == 0 {
                    self.senders.remove(&tuple.sender);
                }
            }
        }
        self.last = [None; LAST];
    }

    /// The path of a datagram, or why there is none.
    #[inline]
    pub(crate) fn lookup(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        key: Option<u32>,
    ) -> Result<PathId, DatagramDrop> {
        if let Some(Answer { datagram, path }) = self.last[place(socket)]
            && datagram == (socket, remote, key)
        {
            return Ok(path);
        }
        self.look_up_anew(socket, remote, key)
    }

    /// Looks in the tables, and remembers the answer for the next datagram.
    fn look_up_anew(
        &mut self,
        socket: SocketId,
        remote: SocketAddr,
        key: Option<u32>,
    ) -> Result<PathId, DatagramDrop> {
        let any_port = Sender::new(socket, remote.ip(), None);
        let this_port = Sender { port: Some(remote.port()), ..any_port };
        let find = |sender, count| match count {
            0 => None,
            _ => self.tuples.get(&Tuple { sender, key }).copied(),
        };
        let path = find(any_port, self.without_port).or_else(|| find(this_port, self.with_port));
        let Some(path) = path else {
            let known =
                [any_port, this_port].iter().any(|sender| self.senders.contains_key(sender));
            return Err(match key {
                _ if !known => DatagramDrop::UnknownSender,
                Some(_) => DatagramDrop::WrongKey,
                None => DatagramDrop::MissingKey,
            });
        };
        self.last[place(socket)] = Some(Answer { datagram: (socket, remote, key), path });
        Ok(path)
    }

    /// A path some datagram of which could also belong to the given one.
    fn conflict(&self, key: Option<u32>, config: &PathConfig, remote: IpAddr) -> Option<PathId> {
        self.tuples.iter().find_map(|(tuple, &path)| {
            let other = tuple.sender;
            let overlap = tuple.key == key
                && other.remote == bits(remote)
                && config.sockets.contains(&SocketId(other.socket))
                && match (other.port, config.remote_source_port) {
                    (Some(a), Some(b)) => a == b,
                    _ => true,
                };
            overlap.then_some(path)
        })
    }

    fn counter(&mut self, sender: Sender) -> &mut usize {
        match sender.port {
            Some(_) => &mut self.with_port,
            None => &mut self.without_port,
        }
    }
}

impl Sender {
    fn new(socket: SocketId, remote: IpAddr, port: Option<u16>) -> Self {
        Self { remote: bits(remote), socket: socket.0, port }
    }
}

/// Returns the place of a socket's last answer.
fn place(socket: SocketId) -> usize {
    socket.0 as usize % LAST
}

fn bits(address: IpAddr) -> (u64, u64) {
    let bits: u128 = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(address) => address.into(),
    };
    ((bits >> 64) as u64, bits as u64)
}
