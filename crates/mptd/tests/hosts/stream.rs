//! TCP that goes on while something happens.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::traffic::Noise;
use super::{Host, PATIENCE, wait_within};

/// Longer than TCP's longest retransmission timer, 120 s: it doubles with each retransmission, so that after an outage
/// the stream may rest for as long again.
const STALL: Duration = Duration::from_secs(130);

/// A TCP connection that carries some 50 Mbit/s of noise until it is told to end, whatever happens meanwhile.
pub(crate) struct Stream {
    /// Port of the sender.
    port: u16,
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    sender: JoinHandle<u64>,
    receiver: JoinHandle<()>,
}

impl Stream {
    const CHUNK: usize = 64 * 1024;
    const PAUSE: Duration = Duration::from_millis(10);

    /// `address`: one of `to` with a port.
    pub(crate) fn start(from: &Host, to: &Host, address: &str) -> Self {
        let address: SocketAddr = address.parse().unwrap();
        let listener = to.run(|| TcpListener::bind(address)).unwrap();
        let client = from.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let sender = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || send(&client, &stop))
        };
        let receiver = {
            let received = Arc::clone(&received);
            thread::spawn(move || receive(&server, &received))
        };
        Self { port: peer.port(), stop, received, sender, receiver }
    }

    /// Bytes that have arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Waits until more arrives; panics if nothing does within `limit` after TCP has sent again what it has to. A packet that is sent again may be lost with what was on
    /// its way, so that TCP waits twice.
    pub(crate) fn wait_for_more(&self, sender: &Host, limit: Duration) {
        let (before, start) = (self.received(), Instant::now());
        while self.received() == before {
            let patience = 2 * self.retransmission_timeout(sender) + limit;
            assert!(start.elapsed() < patience, "the stream goes on: not within {patience:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns how long TCP waits now until it sends again what was not acknowledged. It grows with the round-trip time: to seconds on a busy machine, and
    /// by the time for which packets waited in an outage.
    fn retransmission_timeout(&self, sender: &Host) -> Duration {
        let shown = sender.program("ss", &format!("-tinH sport = :{}", self.port));
        let timeout = shown.split_whitespace().find_map(|word| word.strip_prefix("rto:"));
        let timeout = timeout.unwrap_or_else(|| panic!("no timeout: {shown}"));
        Duration::from_secs_f64(timeout.parse::<f64>().unwrap() / 1000.0)
    }

    /// Waits until as much as was under way, and more, has arrived.
    pub(crate) fn wait_for_progress(&self) {
        let goal = self.received.load(Ordering::Relaxed) + 1_000_000;
        wait_within(STALL, "the stream goes on", || {
            (self.received.load(Ordering::Relaxed) >= goal).then_some(())
        });
    }

    /// Ends it; everything that was sent has to arrive.
    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.join().unwrap();
        self.receiver.join().unwrap();
        assert_eq!(self.received.load(Ordering::Relaxed), sent, "bytes");
    }
}

fn send(mut stream: &TcpStream, stop: &AtomicBool) -> u64 {
    stream.set_write_timeout(Some(STALL)).unwrap();
    let mut noise = Noise::new(7);
    let mut chunk = vec![0; Stream::CHUNK];
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        noise.fill(&mut chunk);
        stream.write_all(&chunk).expect("the stream takes everything");
        sent += chunk.len() as u64;
        thread::sleep(Stream::PAUSE);
    }
    stream.shutdown(Shutdown::Write).unwrap();
    sent
}

fn receive(mut stream: &TcpStream, received: &AtomicU64) {
    stream.set_read_timeout(Some(STALL)).unwrap();
    let mut noise = Noise::new(7);
    let (mut got, mut want) = (vec![0; Stream::CHUNK], vec![0; Stream::CHUNK]);
    let mut filled = 0;
    loop {
        match stream.read(&mut got[filled..]).expect("the stream is not reset") {
            0 => break,
            length => {
                filled += length;
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
        }
        if filled == got.len() {
            noise.fill(&mut want);
            assert!(got == want, "corrupted");
            filled = 0;
        }
    }
    assert_eq!(filled, 0, "cut off");
}
