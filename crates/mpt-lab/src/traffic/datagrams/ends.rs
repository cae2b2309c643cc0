//! The two ends of a stream.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;

use super::arrivals::Arrival;
use super::{HEADER, Moment, Pace, Plan};
use crate::traffic::Flag;

/// Time within which datagrams leave together, where they leave more often than every [`OFTEN`]: small sleeps are long on a busy machine.
const TOGETHER: Duration = Duration::from_micros(500);
const OFTEN: Duration = Duration::from_millis(2);
/// Time between two batches of super-packets.
const PERIOD: Duration = Duration::from_millis(1);
/// Most bytes that a socket may give to the kernel at once: below the longest UDP datagram.
const LONGEST: usize = 64_000;
/// Most datagrams that the kernel sends as one batch (`UDP_MAX_SEGMENTS`, 64 before Linux 6.9).
const MOST: usize = 64;
/// Interval at which arrived datagrams are fetched. Time stamps are the kernel's.
const FETCH: Duration = Duration::from_millis(5);

/// Sends each datagram at its time, and returns the time at which the last one was due.
pub(super) fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    plan: Plan,
    stop: &Flag,
    sent: &AtomicU64,
) -> Result<Moment> {
    let Plan { size, pace, count, batches, .. } = plan;
    let mut times = Times::new(pace);
    let together = match pace {
        Pace::Every(interval) if interval < OFTEN => TOGETHER,
        _ => Duration::ZERO,
    };
    let most = if batches { (LONGEST / size).clamp(1, MOST) } else { 1 };
    let mut payload = vec![0; most * size];
    let start = Instant::now();
    let (mut number, mut due) = (0, Duration::ZERO);
    while count.is_none_or(|count| number < count) {
        // From the start and not from the one before, so that lateness does not add up.
        let early = due.saturating_sub(start.elapsed());
        if early > together {
            thread::sleep(if batches { early.max(PERIOD) } else { early });
        }
        if stop.is_set() {
            break;
        }
        let (now, moment) = (start.elapsed() + together, Moment::now());
        let mut batch = 0;
        for datagram in payload.chunks_exact_mut(size) {
            let is_wanted = batch == 0 || due <= now;
            if !is_wanted || count.is_some_and(|count| number >= count) {
                break;
            }
            datagram[..8].copy_from_slice(&u64::to_be_bytes(number));
            datagram[8..HEADER].copy_from_slice(&moment.0.to_be_bytes());
            (number, batch) = (number + 1, batch + 1);
            due = times.next();
        }
        match socket.send_to(&payload[..batch * size], to) {
            // The datagram is lost, as any other: the path is gone, or a queue is full.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error.into()),
            Err(_) => {}
        }
        sent.store(number, Ordering::Relaxed);
    }
    Ok(Moment::now())
}

/// The due times of datagrams, since the start.
struct Times {
    pace: Pace,
    number: u32,
    due: Duration,
    random: fastrand::Rng,
}

impl Times {
    fn new(pace: Pace) -> Self {
        Self { pace, number: 0, due: Duration::ZERO, random: fastrand::Rng::with_seed(1) }
    }

    /// Returns the due time of the next datagram; the first is due at the start.
    fn next(&mut self) -> Duration {
        match self.pace {
            Pace::Every(interval) => {
                self.number += 1;
                self.due = interval.mul_f64(self.number.into());
            }
            Pace::Around(mean) => self.due += mean.mul_f64(0.5 + self.random.f64()),
        }
        self.due
    }
}

pub(super) fn receive(socket: &UdpSocket, plan: Plan, stop: &Flag) -> Result<Vec<Arrival>> {
    let mut arrivals = Vec::new();
    let mut buffer = vec![0; if plan.batches { 1 << 16 } else { plan.size }];
    // The length of each datagram of a super-packet, and the time.
    let mut control = cmsg_space!(i32, TimeSpec);
    loop {
        let is_last = stop.is_set();
        loop {
            let mut slices = [IoSliceMut::new(&mut buffer)];
            let (socket, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
            let message =
                match recvmsg::<SockaddrStorage>(socket, &mut slices, Some(&mut control), flags) {
                    Ok(message) => message,
                    Err(Errno::EAGAIN) => break,
                    Err(Errno::EINTR) => continue,
                    Err(error) => return Err(io::Error::from(error).into()),
                };
            let stamp = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(Moment::stamped(stamp)),
                _ => None,
            });
            let (at, length) = (stamp.unwrap_or_else(Moment::now), message.bytes);
            // Datagrams of another size are from other senders.
            let datagrams = buffer[..length].chunks(plan.size).filter(|it| it.len() == plan.size);
            arrivals.extend(datagrams.filter_map(|datagram| Arrival::read(datagram, at)));
        }
        if is_last {
            return Ok(arrivals);
        }
        thread::sleep(FETCH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_regular_or_spread_around_their_mean() {
        let ms = Duration::from_millis(1);
        let mut regular = Times::new(Pace::Every(10 * ms));
        assert_eq!([regular.next(), regular.next(), regular.next()], [10 * ms, 20 * ms, 30 * ms]);
        let mut random = Times::new(Pace::Around(10 * ms));
        let mut before = Duration::ZERO;
        for _ in 0..1000 {
            let time = random.next();
            assert!((5 * ms..=15 * ms).contains(&(time - before)));
            before = time;
        }
        assert!((9500 * ms..10_500 * ms).contains(&before), "{before:?}");
    }
}
