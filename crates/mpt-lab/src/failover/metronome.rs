//! Numbered UDP packets at a steady rate through the tunnel, every one of them accounted for.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mpt_wire::ip::protocol;
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};

use super::buffer;
use super::clock::Moment;
use crate::daemon::Tunnel;
use crate::topology::{End, Host};

/// UDP port, the same at both ends.
const PORT: u16 = 4700;
/// UDP payload of a beat that only measures, in bytes: no other packet of the measurements has its length.
pub(super) const SMALL: usize = 220;
/// How often the arrived packets are fetched; their time stamps are the kernel's.
const FETCH: Duration = Duration::from_millis(5);
/// Small sleeps are long on a busy machine: packets due within that time are sent together.
const TOGETHER: Duration = Duration::from_micros(500);
/// Room for the packets of some fetches.
const BUFFER: usize = 8 * 1024 * 1024;

/// How often and how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beat {
    /// Packets per second.
    pub(super) rate: u32,
    /// UDP payload in bytes, 16 at least.
    pub(super) length: usize,
}

impl Beat {
    /// Measures beside other traffic, which it hardly disturbs.
    pub(super) const LIGHT: Self = Self { rate: 500, length: SMALL };

    /// A load of about so many Mbit/s of inner packets.
    pub(super) fn load(megabits: u32) -> Self {
        let length = 1372;
        Self { rate: megabits * 1_000_000 / (8 * (length as u32 + 28)), length }
    }
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Its number, from 0.
    pub(super) number: u64,
    /// When it was sent.
    pub(super) sent: Moment,
    /// When the tunnel's device delivered it.
    pub(super) at: Moment,
}

/// What became of a metronome's packets.
#[derive(Debug, Default)]
pub(super) struct Beats {
    /// How many were sent.
    pub(super) sent: u64,
    /// Those that arrived, in the order in which they did.
    pub(super) arrivals: Vec<Arrival>,
}

/// A running metronome in one direction.
#[derive(Debug)]
pub(super) struct Metronome {
    stop_sending: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<()>>>,
    receiver: Option<JoinHandle<Result<Vec<Arrival>>>>,
}

impl Metronome {
    /// From host `from`, which is that of end `end`, to host `to`.
    pub(super) fn start(from: &Host, to: &Host, end: End, beat: Beat) -> Result<Self> {
        let bind = |host: &Host, end| {
            let address = SocketAddr::new(Tunnel::address(end), PORT + u16::from(end.number()));
            host.run(|| UdpSocket::bind(address))?.with_context(|| format!("bind {address}"))
        };
        // Sockets of the two directions have ports of their own; what is sent goes to the receiver's.
        let receiving = bind(to, end.other())?;
        buffer::enlarge(&receiving, BUFFER)?;
        setsockopt(&receiving, ReceiveTimestampns, &true)?;
        let destination = receiving.local_addr()?;
        let local = SocketAddr::new(Tunnel::address(end), 0);
        let sending =
            from.run(|| UdpSocket::bind(local))?.with_context(|| format!("bind {local}"))?;
        let (stop_sending, stop) = (Arc::default(), Arc::default());
        let sent = Arc::default();
        let sender = {
            let (stop, sent) = (Arc::clone(&stop_sending), Arc::clone(&sent));
            let work = move || send(&sending, destination, beat, &stop, &sent);
            thread::Builder::new().name("metronome".into()).spawn(work)?
        };
        let receiver = {
            let stop = Arc::clone(&stop);
            let work = move || receive(&receiving, &stop);
            thread::Builder::new().name("metronome".into()).spawn(work)?
        };
        Ok(Self { stop_sending, stop, sent, sender: Some(sender), receiver: Some(receiver) })
    }

    /// Sends no more and gives what is on its way `time` to arrive.
    pub(super) fn stop(mut self, time: Duration) -> Result<Beats> {
        self.stop_sending.store(true, Ordering::Relaxed);
        if let Some(Err(_)) = self.sender.take().map(JoinHandle::join) {
            bail!("the metronome failed");
        }
        thread::sleep(time);
        self.stop.store(true, Ordering::Relaxed);
        match self.receiver.take().map(JoinHandle::join) {
            Some(Ok(arrivals)) => {
                Ok(Beats { sent: self.sent.load(Ordering::Relaxed), arrivals: arrivals? })
            }
            _ => bail!("the metronome failed"),
        }
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.stop_sending.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Beats {
    /// How many of those sent from `start` until `end` never arrived, judged by the numbers around them.
    pub(super) fn lost_between(&self, start: Moment, end: Moment) -> u64 {
        let mut numbers: Vec<u64> = self
            .arrivals
            .iter()
            .filter(|arrival| (start..=end).contains(&arrival.sent))
            .map(|arrival| arrival.number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        match (numbers.first(), numbers.last()) {
            (Some(first), Some(last)) => last - first + 1 - numbers.len() as u64,
            _ => self.sent,
        }
    }

    /// How many of all never arrived.
    pub(super) fn lost(&self) -> u64 {
        let mut numbers: Vec<u64> = self.arrivals.iter().map(|arrival| arrival.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.sent - numbers.len() as u64
    }

    /// The first moment from `start` on at which packets arrive again and keep coming for `steadily` without a pause longer than
    /// `pause`.
    pub(super) fn steady_from(
        &self,
        start: Moment,
        pause: Duration,
        steadily: Duration,
    ) -> Option<Moment> {
        let mut times: Vec<Moment> = self.arrivals.iter().map(|arrival| arrival.at).collect();
        times.sort_unstable();
        let times = &times[times.partition_point(|&at| at < start)..];
        let mut candidate = *times.first()?;
        for pair in times.windows(2) {
            if pair[1] > pair[0].after(pause) {
                candidate = pair[1];
            } else if pair[1] >= candidate.after(steadily) {
                return Some(candidate);
            }
        }
        None
    }
}

fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    beat: Beat,
    stop: &AtomicBool,
    sent: &AtomicU64,
) -> Result<()> {
    let start = Instant::now();
    let mut packet = vec![0; beat.length.max(16)];
    for number in 0.. {
        let due = start + Duration::from_secs_f64(number as f64 / f64::from(beat.rate));
        let early = due.saturating_duration_since(Instant::now());
        if early > TOGETHER {
            thread::sleep(early);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        packet[..8].copy_from_slice(&u64::to_be_bytes(number));
        packet[8..16].copy_from_slice(&Moment::now().0.to_be_bytes());
        // The tunnel may be down, and a packet that the kernel refuses is one that does not arrive.
        let _ = socket.send_to(&packet, to);
        sent.store(number + 1, Ordering::Relaxed);
    }
    Ok(())
}

fn receive(socket: &UdpSocket, stop: &AtomicBool) -> Result<Vec<Arrival>> {
    let mut arrivals = Vec::new();
    let mut buffer = [0; 16];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    loop {
        let last = stop.load(Ordering::Relaxed);
        loop {
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let message = recvmsg::<SockaddrIn>(
                socket.as_raw_fd(),
                &mut parts,
                Some(&mut control),
                MsgFlags::MSG_DONTWAIT,
            );
            let at = match message {
                Ok(message) => message.cmsgs()?.find_map(|control| match control {
                    ControlMessageOwned::ScmTimestampns(stamp) => Some(Moment::stamped(stamp)),
                    _ => None,
                }),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => continue,
                Err(error) => bail!("metronome: {error}"),
            };
            let (number, sent) = buffer.split_at(8);
            if let (Some(at), Ok(number), Ok(sent)) = (at, number.try_into(), sent.try_into()) {
                let sent = Moment(u64::from_be_bytes(sent));
                arrivals.push(Arrival { number: u64::from_be_bytes(number), sent, at });
            }
        }
        if last {
            return Ok(arrivals);
        }
        thread::sleep(FETCH);
    }
}

/// The number of a metronome's packet, from the beginning of an inner IPv4 packet.
pub(super) fn number(packet: &[u8]) -> Option<u64> {
    let port = u16::from_be_bytes(packet.get(22..24)?.try_into().ok()?);
    let ours = packet[0] == 0x45 && packet[9] == protocol::UDP && (PORT..PORT + 3).contains(&port);
    let number = packet.get(28..36)?.try_into().ok()?;
    ours.then(|| u64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(arrivals: &[(u64, u64)]) -> Beats {
        let millis = |at: u64| Moment(at * 1_000_000);
        let arrival = |&(number, at)| Arrival { number, sent: millis(number), at: millis(at) };
        Beats { sent: 100, arrivals: arrivals.iter().map(arrival).collect() }
    }

    #[test]
    fn losses_are_counted_by_number() {
        let beats = beats(&[(1, 1), (2, 2), (5, 6), (4, 7), (4, 8), (9, 9)]);
        assert_eq!(beats.lost(), 95);
        assert_eq!(beats.lost_between(Moment(1_000_000), Moment(5_000_000)), 1);
        assert_eq!(beats.lost_between(Moment(0), Moment(20_000_000)), 4);
    }

    #[test]
    fn steady_means_without_a_pause() {
        let beats = beats(&[(0, 10), (1, 12), (2, 40), (3, 42), (4, 44), (5, 46), (6, 48)]);
        let steady = |start: u64, steadily| {
            let (pause, steadily) = (Duration::from_millis(5), Duration::from_millis(steadily));
            beats.steady_from(Moment(start * 1_000_000), pause, steadily)
        };
        assert_eq!(steady(0, 6), Some(Moment(40_000_000)));
        assert_eq!(steady(41, 6), Some(Moment(42_000_000)));
        assert_eq!(steady(0, 20), None);
        assert_eq!(steady(50, 1), None);
    }
}
