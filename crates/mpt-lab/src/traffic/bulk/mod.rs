//! A TCP flow that sends as fast as it goes, and what its receiver gets in every 10 ms.

mod arrived;
mod ends;
mod task;

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use socket2::Socket;

use super::{Moment, Options, Stop, Transport, Unconnected};
use crate::topology::Host;

pub(crate) use arrived::Arrived;
pub(crate) use task::Task;

/// Interval at which the threads check whether they have to end.
const LOOK: Duration = Duration::from_millis(50);

/// The properties of a flow.
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

/// A flow that has not started.
#[derive(Debug)]
pub(crate) struct Prepared {
    listener: Arc<Listener>,
    socket: Unconnected,
}

/// A running flow; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The listener, which is kept because every further subflow of Multipath TCP is a connection to it.
    _listener: Arc<Listener>,
    stop: Stop,
    received: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<()>>>,
    receiver: Option<JoinHandle<Result<Arrived>>>,
}

impl Plan {
    /// Returns the plan of one TCP connection by cubic that sends until it is stopped.
    pub(crate) fn cubic() -> Self {
        let (transport, task) = (Transport::Tcp, Task::Endless);
        Self { transport, congestion: "cubic".into(), buffer: None, task }
    }
}

impl Listener {
    /// Listens at host `at`.
    pub(crate) fn open(at: &Host, address: SocketAddr, plan: Plan) -> Result<Arc<Self>> {
        let socket = plan.transport.listen(at, address, plan.buffer)?;
        Ok(Arc::new(Self { socket, address, plan }))
    }

    /// Prepares a flow from host `from`, and from an address of its own if one is given, that starts with [`Prepared::start`].
    pub(crate) fn prepare(
        self: &Arc<Self>,
        from: &Host,
        local: Option<IpAddr>,
    ) -> Result<Prepared> {
        let Plan { transport, congestion, buffer, .. } = &self.plan;
        let (congestion, buffer) = (Some(congestion.as_str()), *buffer);
        let options = Options { from: local, congestion, buffer };
        let socket = transport.prepare(from, self.address, options)?;
        Ok(Prepared { listener: Arc::clone(self), socket })
    }

    /// Starts a flow at once.
    pub(crate) fn start(self: &Arc<Self>, from: &Host, local: Option<IpAddr>) -> Result<Flow> {
        self.prepare(from, local)?.start()
    }
}

impl Prepared {
    /// Connects and starts to send. Times are counted from now on.
    ///
    /// # Errors
    ///
    /// Fails when there is no connection, or when it took all the time that the flow has. The first packets of a connection may be lost in a full
    /// queue, and TCP sends them again after 1 and after 3 s (RFC 6298, section 2).
    pub(crate) fn start(self) -> Result<Flow> {
        let began = Instant::now();
        let Self { listener, socket } = self;
        let sending = socket.connect()?;
        let receiving = TcpStream::from(listener.socket.accept().context("cannot accept")?.0);
        let (task, connecting) = (listener.plan.task, began.elapsed());
        if connecting >= task.limit() {
            bail!(
                "nothing arrived: the connection took {connecting:.1?}, and the flow has {:.1?} with it",
                task.limit()
            );
        }
        sending.set_write_timeout(Some(LOOK))?;
        receiving.set_read_timeout(Some(LOOK))?;
        let (stop, received) = (Stop::default(), Arc::<AtomicU64>::default());
        let sender = {
            let stop = stop.flag();
            let work = move || ends::send(&sending, task, began, &stop);
            thread::Builder::new().name("bulk a".into()).spawn(work)?
        };
        let receiver = {
            let (stop, received) = (stop.flag(), Arc::clone(&received));
            let work = move || ends::receive(&receiving, task, began, &stop, &received);
            thread::Builder::new().name("bulk b".into()).spawn(work)?
        };
        let (sender, receiver) = (Some(sender), Some(receiver));
        Ok(Flow { _listener: listener, stop, received, sender, receiver })
    }
}

impl Flow {
    /// Returns the bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// True if its receiver has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.receiver.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it and returns what has arrived; an error when it broke before.
    pub(crate) fn finish(mut self) -> Result<Arrived> {
        self.stop.now();
        let sent = self.sender.take().map(JoinHandle::join);
        let arrived = self.receiver.take().map(JoinHandle::join);
        sent.and_then(Result::ok).ok_or_else(|| anyhow!("the sender of a flow failed"))??;
        arrived.and_then(Result::ok).ok_or_else(|| anyhow!("the receiver of a flow failed"))?
    }
}
