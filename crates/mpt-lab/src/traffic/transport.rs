//! TCP and Multipath TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce, TcpCongestion};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::topology::Host;

/// The longest time that a connection may take to be set up.
const CONNECT: Duration = Duration::from_secs(10);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// The transport of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One TCP connection.
    Tcp,
    /// Multipath TCP (RFC 8684).
    Mptcp,
}

/// A socket that is bound, and not connected yet.
#[derive(Debug)]
pub(crate) struct Unconnected {
    socket: Socket,
    to: SocketAddr,
}

/// The options of a socket before it connects.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// The address that it sends from.
    pub(crate) from: Option<IpAddr>,
    /// Congestion control; `None` for that of the host.
    pub(crate) congestion: Option<&'a str>,
    /// Bytes of its buffer, whatever the host allows.
    pub(crate) buffer: Option<usize>,
}

impl Transport {
    /// Listens at a host. Multipath TCP listens at all of its addresses: a subflow is a connection to the same port of
    /// another one, so the socket has to stay as long as the connections.
    pub(crate) fn listen(
        self,
        at: &Host,
        address: SocketAddr,
        buffer: Option<usize>,
    ) -> Result<Socket> {
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = match self {
            Self::Tcp => address,
            Self::Mptcp => SocketAddr::new(any, address.port()),
        };
        let listen = || {
            let socket = self.socket(local)?;
            socket.set_reuse_address(true)?;
            socket.bind(&SockAddr::from(local))?;
            if let Some(bytes) = buffer {
                // Accepted connections inherit it, and offer a window that fits.
                setsockopt(&socket, RcvBufForce, &bytes)?;
            }
            socket.listen(BACKLOG)?;
            Ok::<_, io::Error>(socket)
        };
        at.run(listen)?.with_context(|| format!("cannot listen at {local}"))
    }

    /// Prepares a socket of a host, for a connection that may be made later and elsewhere.
    pub(crate) fn prepare(
        self,
        from: &Host,
        to: SocketAddr,
        options: Options<'_>,
    ) -> Result<Unconnected> {
        from.run(|| self.prepare_here(to, options))?
    }

    /// Prepares a socket at the host of this thread, for a connection that may be made later and elsewhere.
    pub(crate) fn prepare_here(self, to: SocketAddr, options: Options<'_>) -> Result<Unconnected> {
        let prepare = || {
            let socket = self.socket(to)?;
            if let Some(local) = options.from {
                socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
            }
            if let Some(congestion) = options.congestion {
                setsockopt(&socket, TcpCongestion, &congestion.to_owned().into())?;
            }
            if let Some(bytes) = options.buffer {
                setsockopt(&socket, SndBufForce, &bytes)?;
            }
            Ok::<_, io::Error>(socket)
        };
        let socket = prepare().with_context(|| format!("cannot make a socket to {to}"))?;
        Ok(Unconnected { socket, to })
    }

    fn socket(self, address: SocketAddr) -> io::Result<Socket> {
        let protocol = match self {
            Self::Tcp => Protocol::TCP,
            Self::Mptcp => Protocol::MPTCP,
        };
        Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))
    }
}

impl Unconnected {
    /// Connects.
    pub(crate) fn connect(self) -> Result<TcpStream> {
        let Self { socket, to } = self;
        let connected = socket.connect_timeout(&SockAddr::from(to), CONNECT);
        connected.with_context(|| format!("cannot connect to {to}"))?;
        Ok(TcpStream::from(socket))
    }
}
