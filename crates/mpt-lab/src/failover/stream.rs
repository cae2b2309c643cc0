//! One TCP flow through the tunnel, and what its receiver gets in every 10 ms.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};

use super::clock::Moment;
use crate::daemon::Tunnel;
use crate::topology::{End, Host};

/// TCP port at the receiving end.
const PORT: u16 = 4710;
/// Length of a bin.
pub(super) const BIN: Duration = Duration::from_millis(10);
/// How long the connection may take to be set up.
const CONNECT: Duration = Duration::from_secs(10);
/// How often the threads look whether they have to end.
const LOOK: Duration = Duration::from_millis(50);

/// A running flow from host a to host b, as fast as cubic goes.
#[derive(Debug)]
pub(super) struct Stream {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<()>>>,
    receiver: Option<JoinHandle<Result<Goodput>>>,
}

/// What arrived, in order and complete, as the application saw it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Goodput {
    /// When the first bin begins.
    pub(super) start: Moment,
    /// Bytes in each bin of [`BIN`].
    pub(super) bins: Vec<u32>,
}

impl Stream {
    /// Connects and starts to send.
    pub(super) fn start(from: &Host, to: &Host) -> Result<Self> {
        let address = SocketAddr::new(Tunnel::address(End::B), PORT);
        let listener = to.run(|| TcpListener::bind(address))?.context("cannot listen")?;
        let connected = from.run(|| TcpStream::connect_timeout(&address, CONNECT))?;
        let sending = connected.with_context(|| format!("cannot connect to {address}"))?;
        setsockopt(&sending, TcpCongestion, &"cubic".into())?;
        sending.set_write_timeout(Some(LOOK))?;
        let (receiving, _) = listener.accept()?;
        receiving.set_read_timeout(Some(LOOK))?;
        let stop = Arc::<AtomicBool>::default();
        let received = Arc::<AtomicU64>::default();
        let sender = {
            let stop = Arc::clone(&stop);
            let work = move || send(&sending, &stop);
            thread::Builder::new().name("stream".into()).spawn(work)?
        };
        let receiver = {
            let (stop, received) = (Arc::clone(&stop), Arc::clone(&received));
            let work = move || receive(&receiving, &stop, &received);
            thread::Builder::new().name("stream".into()).spawn(work)?
        };
        Ok(Self { stop, received, sender: Some(sender), receiver: Some(receiver) })
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Ends the flow; an error when it broke before.
    pub(super) fn stop(mut self) -> Result<Goodput> {
        self.stop.store(true, Ordering::Relaxed);
        match self.sender.take().map(JoinHandle::join) {
            Some(Ok(sent)) => sent?,
            _ => bail!("the TCP sender failed"),
        }
        match self.receiver.take().map(JoinHandle::join) {
            Some(Ok(goodput)) => goodput,
            _ => bail!("the TCP receiver failed"),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Goodput {
    /// The mean in bit/s from `start` until `end`, in whole bins.
    pub(super) fn rate(&self, start: Moment, end: Moment) -> f64 {
        let bins = self.between(start, end);
        bits(bins) / (bins.len() as f64 * BIN.as_secs_f64())
    }

    /// The longest time below `rate` (bit/s) from `start` until `end`, in milliseconds.
    pub(super) fn longest_below(&self, rate: f64, start: Moment, end: Moment) -> f64 {
        let (mut longest, mut present) = (0_u32, 0);
        for &bytes in self.between(start, end) {
            present = if bits(&[bytes]) < rate * BIN.as_secs_f64() { present + 1 } else { 0 };
            longest = longest.max(present);
        }
        f64::from(longest) * BIN.as_secs_f64() * 1e3
    }

    /// The time from `start` until the mean over `window` is at least `rate` (bit/s) for the first time, in milliseconds: until the
    /// beginning of that window. Infinite when it never is.
    pub(super) fn reached(&self, rate: f64, start: Moment, window: Duration) -> f64 {
        let length = (window.as_millis() / BIN.as_millis()) as usize;
        let bins = self.between(start, Moment(u64::MAX));
        let position = bins
            .windows(length.max(1))
            .position(|window| bits(window) >= rate * window.len() as f64 * BIN.as_secs_f64());
        position.map_or(f64::INFINITY, |bin| bin as f64 * BIN.as_secs_f64() * 1e3)
    }

    /// The same, but not before the longest stall (below half of `rate`) until `end` is over: what was on its way at `start` still
    /// arrives.
    pub(super) fn recovered(&self, rate: f64, start: Moment, end: Moment, window: Duration) -> f64 {
        let (mut longest, mut present, mut over) = (0, 0, 0_u32);
        for (bin, &bytes) in (1..).zip(self.between(start, end)) {
            present = if bits(&[bytes]) < rate / 2.0 * BIN.as_secs_f64() { present + 1 } else { 0 };
            if present > longest {
                (longest, over) = (present, bin);
            }
        }
        let before = BIN * over;
        before.as_secs_f64() * 1e3 + self.reached(rate, start.after(before), window)
    }

    /// The bins that begin from `start` on and end before `end`.
    fn between(&self, start: Moment, end: Moment) -> &[u32] {
        let bin = BIN.as_nanos() as u64;
        let first = start.0.saturating_sub(self.start.0).div_ceil(bin) as usize;
        let last = (end.0.saturating_sub(self.start.0) / bin) as usize;
        let last = last.min(self.bins.len());
        &self.bins[first.min(last)..last]
    }
}

fn bits(bins: &[u32]) -> f64 {
    bins.iter().map(|&bytes| f64::from(bytes) * 8.0).sum()
}

fn send(mut stream: &TcpStream, stop: &AtomicBool) -> Result<()> {
    let data = vec![0x5a; 64 * 1024];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            Err(error) if is_timeout(error.kind()) => {}
            // The receiver may have seen first that the flow is to end, and closed with data unread.
            Err(_) if stop.load(Ordering::Relaxed) => break,
            result => drop(result.context("TCP broke at the sender")?),
        }
    }
    // The receiver does not wait for the rest.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(())
}

fn receive(mut stream: &TcpStream, stop: &AtomicBool, received: &AtomicU64) -> Result<Goodput> {
    let mut goodput = Goodput { start: Moment::now(), bins: Vec::new() };
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let length = match stream.read(&mut buffer) {
            Err(error) if is_timeout(error.kind()) => 0,
            Ok(0) if !stop.load(Ordering::Relaxed) => bail!("TCP ended at the receiver"),
            result => result.context("TCP broke at the receiver")?,
        };
        received.fetch_add(length as u64, Ordering::Relaxed);
        let since = Moment::now().0.saturating_sub(goodput.start.0);
        let bin = (since / BIN.as_nanos() as u64) as usize;
        if goodput.bins.len() <= bin {
            goodput.bins.resize(bin + 1, 0);
        }
        goodput.bins[bin] += length as u32;
        if stop.load(Ordering::Relaxed) {
            return Ok(goodput);
        }
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins of 1250 bytes are 1 Mbit/s.
    fn goodput(megabits: &[u32]) -> Goodput {
        let bins = megabits.iter().map(|rate| rate * 1250).collect();
        Goodput { start: Moment(1_000_000_000), bins }
    }

    fn at(millis: u64) -> Moment {
        Moment(1_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn means_are_over_whole_bins() {
        let goodput = goodput(&[10, 20, 30, 40]);
        assert_eq!(goodput.rate(at(0), at(40)), 25e6);
        assert_eq!(goodput.rate(at(1), at(39)), 25e6, "second and third");
        assert_eq!(goodput.rate(at(20), at(1000)), 35e6);
    }

    #[test]
    fn stalls_and_recovery() {
        let goodput = goodput(&[100, 100, 0, 40, 4, 100, 30, 100, 100]);
        assert_eq!(goodput.longest_below(50e6, at(0), at(90)), 30.0);
        assert_eq!(goodput.longest_below(10e6, at(0), at(90)), 10.0);
        assert_eq!(goodput.longest_below(1e6, at(50), at(90)), 0.0);
        assert_eq!(goodput.reached(90e6, at(20), Duration::from_millis(10)), 30.0);
        assert_eq!(goodput.reached(90e6, at(20), Duration::from_millis(20)), 50.0);
        assert!(goodput.reached(200e6, at(0), Duration::from_millis(20)).is_infinite());
        assert_eq!(goodput.recovered(90e6, at(0), at(90), Duration::from_millis(10)), 50.0);
        assert_eq!(goodput.recovered(90e6, at(70), at(90), Duration::from_millis(10)), 0.0);
    }
}
