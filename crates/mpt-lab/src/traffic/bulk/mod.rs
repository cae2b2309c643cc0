//! A TCP flow that sends as fast as it goes, and what its receiver gets in every 10 ms.

mod arrived;
mod ends;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce, TcpCongestion};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::Moment;
use crate::topology::Host;

pub(crate) use arrived::Arrived;

/// How long the connection may take to be set up.
const CONNECT: Duration = Duration::from_secs(10);
/// How often the threads look whether they have to end.
const LOOK: Duration = Duration::from_millis(50);

/// What carries the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One TCP connection.
    Tcp,
    /// Multipath TCP (RFC 8684).
    Mptcp,
}

/// How much is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As much as goes until [`Flow::finish`]. A connection that ends before is an error.
    Endless,
    /// As much as goes in this time.
    Time(Duration),
    /// So many bytes, given up after that time.
    Bytes(u64, Duration),
}

/// What a flow is like.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) transport: Transport,
    /// Congestion control, set explicitly.
    pub(crate) congestion: String,
    /// Bytes of its sockets' buffers, whatever the host allows; `None` for those of the host.
    pub(crate) buffer: Option<usize>,
    pub(crate) task: Task,
}

/// A host that takes connections.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    address: SocketAddr,
    plan: Plan,
}

/// A running flow; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Kept, because every further subflow of Multipath TCP is a connection to it.
    _listener: Arc<Listener>,
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<()>>>,
    receiver: Option<JoinHandle<Result<Arrived>>>,
}

impl Plan {
    /// One TCP connection by cubic that sends until it is stopped.
    pub(crate) fn cubic() -> Self {
        let (transport, task) = (Transport::Tcp, Task::Endless);
        Self { transport, congestion: "cubic".into(), buffer: None, task }
    }
}

impl Listener {
    /// Listens at host `at`. Multipath TCP listens at all of its addresses: a subflow is a connection to the same port of
    /// another one.
    pub(crate) fn open(at: &Host, address: SocketAddr, plan: Plan) -> Result<Arc<Self>> {
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = match plan.transport {
            Transport::Tcp => address,
            Transport::Mptcp => SocketAddr::new(any, address.port()),
        };
        let listen = || {
            let socket = plan.transport.socket(local)?;
            socket.set_reuse_address(true)?;
            socket.bind(&SockAddr::from(local))?;
            if let Some(bytes) = plan.buffer {
                // Accepted connections inherit it, and offer a window that fits.
                setsockopt(&socket, RcvBufForce, &bytes)?;
            }
            socket.listen(1024)?;
            Ok::<_, io::Error>(socket)
        };
        let socket = at.run(listen)?.with_context(|| format!("cannot listen at {local}"))?;
        Ok(Arc::new(Self { socket, address, plan }))
    }

    /// Connects host `from`, from an address of its own if one is given, and starts to send. Times are counted from now on.
    pub(crate) fn start(self: &Arc<Self>, from: &Host, local: Option<IpAddr>) -> Result<Flow> {
        let began = Instant::now();
        let Self { plan, address, socket } = &**self;
        let connect = || {
            let socket = plan.transport.socket(*address)?;
            if let Some(local) = local {
                socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
            }
            setsockopt(&socket, TcpCongestion, &plan.congestion.clone().into())?;
            if let Some(bytes) = plan.buffer {
                setsockopt(&socket, SndBufForce, &bytes)?;
            }
            socket.connect_timeout(&SockAddr::from(*address), CONNECT)?;
            Ok::<_, io::Error>(TcpStream::from(socket))
        };
        let sending = from.run(connect)?.with_context(|| format!("cannot connect to {address}"))?;
        let receiving = TcpStream::from(socket.accept().context("cannot accept")?.0);
        sending.set_write_timeout(Some(LOOK))?;
        receiving.set_read_timeout(Some(LOOK))?;
        let (stop, received) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let sender = {
            let (task, stop) = (plan.task, Arc::clone(&stop));
            let work = move || ends::send(&sending, task, began, &stop);
            thread::Builder::new().name("bulk a".into()).spawn(work)?
        };
        let receiver = {
            let (task, stop, received) = (plan.task, Arc::clone(&stop), Arc::clone(&received));
            let work = move || ends::receive(&receiving, task, began, &stop, &received);
            thread::Builder::new().name("bulk b".into()).spawn(work)?
        };
        let (sender, receiver) = (Some(sender), Some(receiver));
        Ok(Flow { _listener: Arc::clone(self), stop, received, sender, receiver })
    }
}

impl Transport {
    fn socket(self, address: SocketAddr) -> io::Result<Socket> {
        let protocol = match self {
            Self::Tcp => Protocol::TCP,
            Self::Mptcp => Protocol::MPTCP,
        };
        Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))
    }
}

impl Flow {
    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether its receiver has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.receiver.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it and gives what has arrived; an error when it broke before.
    pub(crate) fn finish(mut self) -> Result<Arrived> {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.take().map(JoinHandle::join);
        let arrived = self.receiver.take().map(JoinHandle::join);
        sent.and_then(Result::ok).ok_or_else(|| anyhow!("the sender of a flow failed"))??;
        arrived.and_then(Result::ok).ok_or_else(|| anyhow!("the receiver of a flow failed"))?
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
