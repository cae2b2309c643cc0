//! Datagrams at a steady pace while something happens, each with the time of its arrival.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Host;

/// Time between two datagrams.
const BEAT: Duration = Duration::from_millis(1);
/// Bytes of a datagram.
const LENGTH: usize = 200;
/// Time after the last datagram in which all others arrive: longer than any packet waits in a window.
const REST: Duration = Duration::from_millis(700);

/// A running sender with its receiver.
pub(crate) struct Pulse {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<Vec<(Instant, u64)>>,
}

/// The fate of the datagrams.
#[derive(Debug)]
pub(crate) struct Beats {
    /// The times at which number 0, 1, ... were sent.
    pub(crate) sent: Vec<Instant>,
    /// Arrivals in their order, each with its time and number.
    pub(crate) arrived: Vec<(Instant, u64)>,
}

impl Pulse {
    /// Starts with number 0. `to`: an address of `receiver` with a port; `from`: one of `sender` with any.
    pub(crate) fn start(sender: (&Host, &str), receiver: (&Host, &str)) -> Self {
        let [from, to] = [sender, receiver].map(|(host, address)| host.udp(address));
        to.set_read_timeout(Some(REST)).unwrap();
        let address = to.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let sender = thread::spawn(move || send(&from, address, &seen));
        let seen = Arc::clone(&stop);
        let receiver = thread::spawn(move || receive(&to, &seen));
        Self { stop, sender, receiver }
    }

    /// Stops sending, and waits for what is on its way.
    pub(crate) fn end(self) -> Beats {
        self.stop.store(true, Ordering::Relaxed);
        Beats { sent: self.sender.join().unwrap(), arrived: self.receiver.join().unwrap() }
    }
}

impl Beats {
    /// The longest time without any arrival, from `since` to the last datagram sent.
    pub(crate) fn longest_gap(&self, since: Instant) -> Duration {
        let end = *self.sent.last().expect("something was sent");
        let times = self.arrived.iter().map(|&(at, _)| at).filter(|&at| at > since && at < end);
        let times: Vec<_> = [since].into_iter().chain(times).chain([end.max(since)]).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    /// Numbers sent in this time that never arrived.
    pub(crate) fn lost(&self, since: Instant, until: Instant) -> Vec<u64> {
        let mut missing = vec![true; self.sent.len()];
        for &(_, number) in &self.arrived {
            missing[number as usize] = false;
        }
        let within = |at: Instant| at >= since && at < until;
        (0..self.sent.len())
            .filter(|&n| missing[n] && within(self.sent[n]))
            .map(|n| n as u64)
            .collect()
    }

    /// Panics unless every datagram of all the time arrived, and once.
    pub(crate) fn assert_complete(&self) {
        let lost = self.lost(self.sent[0], Instant::now());
        assert!(lost.is_empty(), "lost of {}: {lost:?}", self.sent.len());
        assert_eq!(self.arrived.len(), self.sent.len(), "more arrived than was sent");
    }
}

fn send(socket: &UdpSocket, to: SocketAddr, stop: &AtomicBool) -> Vec<Instant> {
    let mut sent = Vec::new();
    let mut datagram = [0; LENGTH];
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        datagram[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
        // If there is no device for a moment, the datagram cannot be sent and counts as lost.
        let _ = socket.send_to(&datagram, to);
        sent.push(Instant::now());
        due += BEAT;
        match due.checked_duration_since(Instant::now()) {
            Some(early) => thread::sleep(early),
            // No burst to catch up after a pause of the machine.
            None => due = Instant::now(),
        }
    }
    sent
}

fn receive(socket: &UdpSocket, stop: &AtomicBool) -> Vec<(Instant, u64)> {
    let mut arrived = Vec::new();
    let mut buffer = [0; 2 * LENGTH];
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                assert_eq!(length, LENGTH, "a datagram of ours");
                let number = u64::from_be_bytes(buffer[..8].try_into().unwrap());
                arrived.push((Instant::now(), number));
            }
            Err(_) if stop.load(Ordering::Relaxed) => return arrived,
            Err(_) => {}
        }
    }
}
