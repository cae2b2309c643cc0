//! A stream of numbered datagrams, each with the time at which it left, and stamped by the kernel when it arrives. All times are
//! of one clock.

mod arrivals;
mod ends;
mod plan;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{ReceiveTimestampns, UdpGroSegment, UdpGsoSegment};

use super::{Moment, Stop, buffer};
use crate::topology::Host;

pub(crate) use arrivals::{Arrival, Arrivals};
pub(crate) use plan::{HEADER, Pace, Plan};

/// Size of the receive buffer in bytes, for arrivals between two looks: 1 Gbit/s for a quarter of a second.
const BUFFER: usize = 32 * 1024 * 1024;

/// A receiver that waits for a stream.
#[derive(Debug)]
pub(crate) struct Receiver {
    plan: Plan,
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<Result<Vec<Arrival>>>,
}

/// A running stream; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Stream {
    began: Moment,
    sent: Arc<AtomicU64>,
    stop_sending: Stop,
    stop_receiving: Stop,
    sender: Option<JoinHandle<Result<Moment>>>,
    receiver: Option<JoinHandle<Result<Vec<Arrival>>>>,
}

impl Receiver {
    /// Waits at host `at` for a stream of that kind; port 0 takes any.
    pub(crate) fn start(at: &Host, address: SocketAddr, plan: Plan) -> Result<Self> {
        plan.check()?;
        let socket = at.run(|| UdpSocket::bind(address))?;
        let socket = socket.with_context(|| format!("cannot listen at {address}"))?;
        // The machine may give less; what does not fit in is counted as a hidden loss.
        let _ = buffer::enlarge(&socket, BUFFER);
        setsockopt(&socket, ReceiveTimestampns, &true).context("no time stamps")?;
        if plan.batches {
            setsockopt(&socket, UdpGroSegment, &true)?;
        }
        let address = socket.local_addr()?;
        let stop = Stop::default();
        let thread = {
            let stop = stop.flag();
            let work = move || ends::receive(&socket, plan, &stop);
            thread::Builder::new().name("datagrams b".into()).spawn(work)?
        };
        Ok(Self { plan, address, stop, thread })
    }

    /// Starts to send to it from an address of host `from`.
    pub(crate) fn send(self, from: &Host, local: SocketAddr) -> Result<Stream> {
        let Self { plan, address, stop, thread: receiver } = self;
        let socket = from.run(|| UdpSocket::bind(local))?;
        let socket = socket.with_context(|| format!("cannot send from {local}"))?;
        if plan.dscp != 0 {
            // The two lowest bits of the octet are the ECN field (RFC 3168 section 5).
            let socket = socket2::SockRef::from(&socket);
            socket.set_tos_v4(u32::from(plan.dscp) << 2).context("cannot mark datagrams")?;
        }
        if plan.batches {
            setsockopt(&socket, UdpGsoSegment, &i32::try_from(plan.size)?)?;
        }
        let (stop_sending, sent) = (Stop::default(), Arc::<AtomicU64>::default());
        let began = Moment::now();
        let sender = {
            let (stop, sent) = (stop_sending.flag(), Arc::clone(&sent));
            let work = move || ends::send(&socket, address, plan, &stop, &sent);
            thread::Builder::new().name("datagrams a".into()).spawn(work)?
        };
        let (sender, receiver) = (Some(sender), Some(receiver));
        Ok(Stream { began, sent, stop_sending, stop_receiving: stop, sender, receiver })
    }
}

impl Stream {
    /// True if all have been sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.sender.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the sending, gives datagrams on their way `time` to arrive, and returns those that have.
    pub(crate) fn finish(mut self, time: Duration) -> Result<Arrivals> {
        self.stop_sending.now();
        let ended = self.sender.take().and_then(|thread| thread.join().ok());
        let ended = ended.ok_or_else(|| anyhow!("the sender of a stream failed"))??;
        thread::sleep(time);
        self.stop_receiving.now();
        let arrivals = self.receiver.take().and_then(|thread| thread.join().ok());
        let arrivals = arrivals.ok_or_else(|| anyhow!("the receiver of a stream failed"))??;
        let sent = self.sent.load(Ordering::Relaxed);
        Ok(Arrivals { sent, arrivals, began: self.began, ended })
    }
}
