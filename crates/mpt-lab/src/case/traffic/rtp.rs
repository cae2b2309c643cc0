//! A stream of numbered datagrams at regular intervals, as of a video call (RTP, RFC 3550, without its header).

use std::collections::HashSet;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};

use super::{Ends, Outcome, Running};
use crate::case::cpu::Watched;
use crate::case::{analysis, metric};
use crate::interrupt::Interrupt;

/// Number and time of sending, 8 bytes each.
const HEADER: usize = 16;
/// How long the receiver waits for a datagram before it looks whether it has to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long what is on its way may take after the last datagram was sent.
const DRAIN: Duration = Duration::from_secs(1);
/// Buffer of the receiving socket, in bytes; the machine may allow less.
const BUFFER: usize = 4 << 20;

/// A receiver that waits.
#[derive(Debug)]
pub(super) struct Ready {
    interval: Duration,
    size: usize,
    count: u64,
    stop: Stop,
    to: SocketAddr,
    receiver: JoinHandle<Result<Vec<Arrival>>>,
}

#[derive(Debug)]
struct Streaming {
    size: usize,
    sent: Arc<AtomicU64>,
    stop: Stop,
    sender: Option<JoinHandle<Result<u64>>>,
    receiver: Option<JoinHandle<Result<Vec<Arrival>>>>,
    began: u64,
}

/// A datagram that arrived; times in nanoseconds since 1970, of the same clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    number: u64,
    sent: u64,
    at: u64,
}

impl Ready {
    pub(super) fn new(rate: u64, size: u16, duration: Duration, ends: Ends<'_>) -> Result<Self> {
        let size = usize::from(size);
        ensure!(size >= HEADER, "datagrams of {size} bytes: at least {HEADER} are needed");
        ensure!(rate > 0, "a stream of 0 bit/s");
        let interval = Duration::from_secs_f64(size as f64 * 8.0 / rate as f64);
        ensure!(!interval.is_zero(), "a stream of {rate} bit/s in datagrams of {size} bytes");
        let count = (duration.as_secs_f64() / interval.as_secs_f64()).round() as u64;
        let address = SocketAddr::new(ends.to, 0);
        let socket = ends.b.run(|| UdpSocket::bind(address))?;
        let socket = socket.with_context(|| format!("bind {address}"))?;
        // The machine may give less; what does not fit in is counted as a hidden loss.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER);
        setsockopt(&socket, ReceiveTimestampns, &true).context("no time stamps")?;
        socket.set_read_timeout(Some(LOOK))?;
        let to = socket.local_addr()?;
        let stop = Stop::default();
        let receiver = {
            let stop = Arc::clone(&stop.0);
            let work = move || receive(&socket, &stop, size);
            thread::Builder::new().name("rtp b".into()).spawn(work)?
        };
        Ok(Self { interval, size, count, stop, to, receiver })
    }
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { interval, size, count, stop, to, receiver } = *self;
        let address = SocketAddr::new(ends.from, 0);
        let socket = ends.a.run(|| UdpSocket::bind(address))?;
        let socket = socket.with_context(|| format!("bind {address}"))?;
        let sent = Arc::<AtomicU64>::default();
        let began = now();
        let sender = {
            let (stop, sent) = (Arc::clone(&stop.0), Arc::clone(&sent));
            let work = move || send(&socket, to, interval, size, count, &stop, &sent);
            thread::Builder::new().name("rtp a".into()).spawn(work)?
        };
        let (sender, receiver) = (Some(sender), Some(receiver));
        Ok(Box::new(Streaming { size, sent, stop, sender, receiver, began }))
    }
}

impl Running for Streaming {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.sender.as_ref().is_none_or(JoinHandle::is_finished))
    }

    fn processes(&self) -> Vec<Watched> {
        Vec::new()
    }

    fn outcome(mut self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        let ended = match self.sender.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended?,
            _ => bail!("the sender of the stream failed"),
        };
        interrupt.sleep(DRAIN)?;
        self.stop.0.store(true, Ordering::Relaxed);
        let arrivals = match self.receiver.take().map(JoinHandle::join) {
            Some(Ok(arrivals)) => arrivals?,
            _ => bail!("the receiver of the stream failed"),
        };
        let sent = self.sent.load(Ordering::Relaxed);
        outcome(&arrivals, sent, self.began, ended, self.size)
    }

    fn is_silent_about_tcp(&self) -> bool {
        false
    }
}

/// Tells the threads to end when it is dropped.
#[derive(Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends each datagram at its time, and gives back when the last one was due.
fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    interval: Duration,
    size: usize,
    count: u64,
    stop: &AtomicBool,
    sent: &AtomicU64,
) -> Result<u64> {
    let mut datagram = vec![0; size];
    let start = Instant::now();
    for number in 0..count {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // From the start and not from the one before, so that lateness does not add up.
        let due = interval.mul_f64(number as f64);
        thread::sleep(due.saturating_sub(start.elapsed()));
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        datagram[8..HEADER].copy_from_slice(&now().to_be_bytes());
        match socket.send_to(&datagram, to) {
            // A path that is gone, a full queue: lost, as any other.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error.into()),
            Err(_) => {}
        }
        sent.store(number + 1, Ordering::Relaxed);
    }
    Ok(now())
}

fn receive(socket: &UdpSocket, stop: &AtomicBool, size: usize) -> Result<Vec<Arrival>> {
    let mut arrivals = Vec::new();
    let mut buffer = vec![0; size];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    loop {
        let mut slices = [IoSliceMut::new(&mut buffer)];
        let received = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut slices,
            Some(&mut control),
            MsgFlags::empty(),
        );
        let (length, at) = match received {
            Ok(message) => {
                let mut at = None;
                for control in message.cmsgs()? {
                    if let ControlMessageOwned::ScmTimestampns(time) = control {
                        at = Some(Duration::from(time).as_nanos() as u64);
                    }
                }
                (message.bytes, at.unwrap_or_else(now))
            }
            Err(Errno::EAGAIN | Errno::EINTR) if !stop.load(Ordering::Relaxed) => continue,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(arrivals),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        if length != size {
            continue;
        }
        let (Some(number), Some(sent)) = (word(&buffer, 0), word(&buffer, 8)) else { continue };
        arrivals.push(Arrival { number, sent, at });
    }
}

fn word(buffer: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(buffer.get(at..at + 8)?.try_into().ok()?))
}

/// Nanoseconds since 1970: the clock of the kernel's time stamps.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// `arrivals` in the order in which they came.
fn outcome(
    arrivals: &[Arrival],
    sent: u64,
    began: u64,
    ended: u64,
    size: usize,
) -> Result<Outcome> {
    let mut known = HashSet::new();
    let (mut reordered, mut next) = (0_u64, 0);
    let mut first: Vec<Arrival> = Vec::new();
    for arrival in arrivals {
        if !known.insert(arrival.number) {
            continue;
        }
        // RFC 4737, section 3.
        if arrival.number < next {
            reordered += 1;
        } else {
            next = arrival.number + 1;
        }
        first.push(*arrival);
    }
    ensure!(!first.is_empty(), "none of {sent} datagrams arrived");
    let mut outcome = Outcome::default();
    let lost = sent.saturating_sub(first.len() as u64);
    outcome.metric(metric::LOSS, Some(100.0 * lost as f64 / sent.max(1) as f64));
    outcome.metric(metric::REORDERED, Some(100.0 * reordered as f64 / first.len() as f64));
    let gaps = first.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
    // A stream that ends before its sender does has a gap at its end.
    let last = ended.saturating_sub(first[first.len() - 1].at);
    outcome.metric(metric::LONGEST_GAP, gaps.chain([last]).max().map(|gap| gap as f64 / 1e6));
    let mut by_number = first.clone();
    by_number.sort_by_key(|arrival| arrival.number);
    let delay = |arrival: &Arrival| (arrival.at as f64 - arrival.sent as f64) / 1e6;
    outcome.metric(metric::JITTER, analysis::jitter(by_number.iter().map(delay)));

    let step = analysis::STEP.as_nanos() as u64;
    let steps = usize::try_from(ended.saturating_sub(began) / step).unwrap_or(0);
    let mut bytes = vec![0.0; steps];
    let mut delays = vec![Vec::new(); steps];
    for arrival in &first {
        let bin = usize::try_from(arrival.at.saturating_sub(began) / step).unwrap_or(usize::MAX);
        if let Some(bin) = bytes.get_mut(bin) {
            *bin += size as f64;
        }
        if let Some(bin) = delays.get_mut(bin) {
            bin.push(delay(arrival));
        }
    }
    let seconds = (ended.saturating_sub(began) as f64 / 1e9).max(f64::MIN_POSITIVE);
    let arrived = first.len() as f64 * size as f64;
    outcome.metric(metric::GOODPUT, Some(arrived * 8.0 / 1e6 / seconds));
    outcome.goodput(&bytes);
    outcome.series("delay", "ms", delays.iter().map(|delays| analysis::mean(delays)).collect());
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_order_gaps_and_jitter_are_counted() {
        let ms = 1_000_000;
        let arrival = |number: u64, delay: u64| {
            let sent = 1_000 * ms + number * 10 * ms;
            Arrival { number, sent, at: sent + delay * ms }
        };
        // 2 is overtaken by 3, 3 comes twice, 4 and 5 are lost.
        let arrivals = [
            arrival(0, 5),
            arrival(1, 5),
            arrival(3, 5),
            arrival(2, 17),
            arrival(3, 15),
            arrival(6, 5),
        ];
        let outcome = outcome(&arrivals, 7, 1_000 * ms, 1_070 * ms, 100).unwrap();
        let value = |name: &str| outcome.metrics[name];
        assert!((value(metric::LOSS) - 200.0 / 7.0).abs() < 1e-9);
        assert_eq!(value(metric::REORDERED), 20.0);
        assert_eq!(value(metric::LONGEST_GAP), 28.0);
        // Delays by number: 5, 5, 17, 5, 5.
        assert_eq!(value(metric::JITTER), 6.0);
    }

    #[test]
    fn silence_is_no_result() {
        assert!(outcome(&[], 7, 0, 1, 100).is_err());
    }
}
