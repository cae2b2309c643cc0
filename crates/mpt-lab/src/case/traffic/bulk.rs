//! Bulk data over Multipath TCP (RFC 8684) by a sender and a receiver of our own: iperf3 speaks it from 3.19 on only, and servers
//! and clients of FTP and HTTP hardly ever.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{Ends, Outcome, Running};
use crate::case::cpu::Watched;
use crate::case::{analysis, metric};
use crate::interrupt::Interrupt;
use crate::poll::POLL;

/// TCP port at the receiver.
const PORT: u16 = 5301;
/// How long a connection may take to be set up.
const CONNECT: Duration = Duration::from_secs(10);
/// How often the threads look whether they have to end.
const LOOK: Duration = Duration::from_millis(100);
/// Length of a write, as iperf3's.
const CHUNK: usize = 128 * 1024;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// As much as goes in this time, on each of several flows.
    Time(Duration),
    /// A file of so many bytes, given up after that time.
    File(u64, Duration),
}

/// A receiver that listens.
#[derive(Debug)]
pub(super) struct Ready {
    listener: Socket,
    flows: u16,
    task: Task,
    congestion: String,
}

#[derive(Debug)]
struct Transfer {
    /// Kept, because every further subflow is a connection to it.
    listener: Socket,
    task: Task,
    stop: Arc<AtomicBool>,
    senders: Vec<JoinHandle<Result<()>>>,
    receivers: Vec<JoinHandle<Result<Received>>>,
    began: Instant,
}

/// What a flow has brought.
#[derive(Debug, Clone, PartialEq)]
struct Received {
    /// Bytes in each interval of [`analysis::STEP`] since the start.
    bins: Vec<u64>,
    /// When it ended, since the start.
    end: Duration,
}

impl Ready {
    pub(super) fn for_time(
        flows: u16,
        duration: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(flows, Task::Time(duration), congestion, ends)
    }

    pub(super) fn of_a_file(
        bytes: u64,
        limit: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        Self::new(1, Task::File(bytes, limit), congestion, ends)
    }

    fn new(flows: u16, task: Task, congestion: &str, ends: Ends<'_>) -> Result<Self> {
        // Of every link: a subflow is a connection to the same port of another address.
        let any: IpAddr = match ends.to {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let address = SocketAddr::new(any, PORT);
        let listen = || {
            let listener = socket(address)?;
            listener.set_reuse_address(true)?;
            listener.bind(&SockAddr::from(address))?;
            listener.listen(i32::from(flows))?;
            Ok::<_, io::Error>(listener)
        };
        let listener =
            ends.b.run(listen)?.with_context(|| format!("cannot listen at {address}"))?;
        Ok(Self { listener, flows, task, congestion: congestion.into() })
    }
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP))
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { listener, flows, task, congestion } = *self;
        let (to, from) = (SocketAddr::new(ends.to, PORT), SocketAddr::new(ends.from, 0));
        let stop = Arc::<AtomicBool>::default();
        let mut transfer = Transfer {
            listener,
            task,
            stop,
            senders: Vec::new(),
            receivers: Vec::new(),
            began: Instant::now(),
        };
        for _ in 0..flows {
            let connect = || {
                let socket = socket(to)?;
                socket.bind(&SockAddr::from(from))?;
                setsockopt(&socket, TcpCongestion, &congestion.clone().into())?;
                socket.connect_timeout(&SockAddr::from(to), CONNECT)?;
                Ok::<_, io::Error>(TcpStream::from(socket))
            };
            let sending =
                ends.a.run(connect)?.with_context(|| format!("cannot connect to {to}"))?;
            let receiving = TcpStream::from(transfer.listener.accept().context("cannot accept")?.0);
            sending.set_write_timeout(Some(LOOK))?;
            receiving.set_read_timeout(Some(LOOK))?;
            transfer.add(sending, receiving)?;
        }
        Ok(Box::new(transfer))
    }
}

impl Transfer {
    fn add(&mut self, sending: TcpStream, receiving: TcpStream) -> Result<()> {
        let (task, began) = (self.task, self.began);
        let stop = Arc::clone(&self.stop);
        let work = move || send(&sending, task, began, &stop);
        self.senders.push(thread::Builder::new().name("bulk a".into()).spawn(work)?);
        let stop = Arc::clone(&self.stop);
        let work = move || receive(&receiving, task, began, &stop);
        self.receivers.push(thread::Builder::new().name("bulk b".into()).spawn(work)?);
        Ok(())
    }
}

impl Running for Transfer {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.receivers.iter().all(JoinHandle::is_finished))
    }

    fn processes(&self) -> Vec<Watched> {
        vec![Watched::traffic("traffic", std::process::id())]
    }

    fn outcome(mut self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        while !self.ended()? {
            interrupt.sleep(POLL)?;
        }
        // Senders whose peers no longer read need not go on.
        self.stop.store(true, Ordering::Relaxed);
        for sender in self.senders.drain(..) {
            sender.join().map_err(|_| anyhow::anyhow!("a sender failed"))??;
        }
        let mut received = Vec::new();
        for receiver in self.receivers.drain(..) {
            received.push(receiver.join().map_err(|_| anyhow::anyhow!("a receiver failed"))??);
        }
        outcome(&received, self.task)
    }

    fn is_silent_about_tcp(&self) -> bool {
        true
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn send(mut stream: &TcpStream, task: Task, began: Instant, stop: &AtomicBool) -> Result<()> {
    let chunk = vec![0; CHUNK];
    let mut left = match task {
        Task::Time(_) => u64::MAX,
        Task::File(bytes, _) => bytes,
    };
    let (Task::Time(limit) | Task::File(_, limit)) = task;
    while left > 0 && !stop.load(Ordering::Relaxed) && began.elapsed() < limit {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match stream.write(&chunk[..length]) {
            Ok(written) => left -= written as u64,
            Err(error) if is_late(&error) => {}
            // The receiver has left on time, and unread data reset the connection.
            Err(_) if began.elapsed() >= limit => break,
            Err(error) => return Err(error).context("the connection broke"),
        }
    }
    // The other end may have closed it already.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(())
}

fn receive(
    mut stream: &TcpStream,
    task: Task,
    began: Instant,
    stop: &AtomicBool,
) -> Result<Received> {
    let mut buffer = vec![0; CHUNK];
    let mut received = Received { bins: Vec::new(), end: Duration::ZERO };
    let (Task::Time(limit) | Task::File(_, limit)) = task;
    loop {
        let length = match stream.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if is_late(&error) => {
                if stop.load(Ordering::Relaxed) || began.elapsed() >= limit {
                    received.end = began.elapsed().min(limit);
                    return Ok(received);
                }
                continue;
            }
            Err(error) => return Err(error).context("the connection broke"),
        };
        let now = began.elapsed();
        // What comes after the time is on its way still, and belongs to nothing.
        if length == 0 || now >= limit {
            received.end = now.min(limit);
            return Ok(received);
        }
        let bin = (now.as_nanos() / analysis::STEP.as_nanos()) as usize;
        if received.bins.len() <= bin {
            received.bins.resize(bin + 1, 0);
        }
        received.bins[bin] += length as u64;
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn outcome(received: &[Received], task: Task) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let bytes: u64 = received.iter().flat_map(|it| &it.bins).sum();
    let end = received.iter().map(|it| it.end).max().unwrap_or_default();
    if bytes == 0 {
        bail!("nothing arrived");
    }
    let steps = (end.as_secs_f64() / analysis::STEP.as_secs_f64() + 0.5) as usize;
    let mut bins = vec![0.0; steps];
    for received in received {
        for (sum, &bytes) in bins.iter_mut().zip(&received.bins) {
            *sum += bytes as f64;
        }
    }
    outcome.metric(metric::GOODPUT, Some(bytes as f64 * 8.0 / 1e6 / end.as_secs_f64()));
    outcome.goodput(&bins);
    if let Task::File(whole, _) = task {
        super::download::finish(&mut outcome, bytes, whole, end);
        outcome.deviations.push(
            "over Multipath TCP the file is sent and received by the laboratory itself: the servers do not speak it".into(),
        );
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_receiver_that_leaves_when_the_time_is_over_breaks_nothing() {
        for (limit, as_it_should_be) in [(50, true), (60_000, false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let sending = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (receiving, _) = listener.accept().unwrap();
            let leave = thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                drop(receiving);
            });
            let task = Task::Time(Duration::from_millis(limit));
            let sent = send(&sending, task, Instant::now(), &AtomicBool::new(false));
            assert_eq!(sent.is_ok(), as_it_should_be, "{sent:?}");
            leave.join().unwrap();
        }
    }
}
