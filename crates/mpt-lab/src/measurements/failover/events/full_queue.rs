//! The event of a queue of two seconds that fills in front of a path: packets are late, and the path is not dead.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::measurements::failover::event::Event;
use crate::measurements::failover::figure::{Figure, Limit, Unit};
use crate::measurements::failover::network::{LineSpec, Middle};
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::observation::watch::Watch;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;

/// Rate in Mbit/s; it is low, so that a full queue costs the machine little.
const RATE: u32 = 20;
const QUEUE: Duration = Duration::from_secs(2);
/// Time in which the queue fills: it gets one and a half times the rate, which takes twice its length.
const FILLING: Duration = Duration::from_secs(4);
/// Time for which the queue is kept full.
const FULL: Duration = Duration::from_secs(4);
/// Time until the queue is empty again.
const EMPTYING: Duration = Duration::from_secs(3);

/// The event of a full queue: a late path is not dead.
pub(super) static EVENT: Event = Event {
    name: "full-queue",
    what: "2 s of queue in front of a path",
    session: true,
    figures: &[
        Figure::none("times that a path went down"),
        Figure::told("longest delay of a packet inside the tunnel"),
        Figure {
            name: "longest delay on the path beside the tunnel",
            unit: Unit::Milliseconds,
            // Otherwise the queue was not full, and nothing was tried.
            limit: Limit::AtLeast(1500.0),
            session: false,
        },
    ],
    run,
    takes: Duration::from_secs(13),
};

fn run(lab: &Lab<'_>, _repetition: u32) -> Result<Vec<f64>> {
    let line = LineSpec { rate: RATE, queue: QUEUE };
    let spec = RigSpec { lines: 2, line, middle: Middle::Bridges, roaming: false };
    let rig = Rig::up(lab, spec)?;
    let watches = [Watch::start(rig.daemon(End::A)?)?, Watch::start(rig.daemon(End::B)?)?];
    let recording = rig.record(false, Beat::LIGHT)?;
    lab.interrupt.sleep(Duration::from_millis(500))?;
    let filler = Filler::start(&rig)?;
    lab.interrupt.sleep(FILLING + FULL)?;
    let queued = filler.stop();
    lab.interrupt.sleep(EMPTYING)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    let mut fallen = 0;
    for watch in watches {
        fallen += watch.stop()?;
    }
    rig.stop()?;
    let delays = record.beats[0].arrivals.iter().map(|beat| beat.at.millis_since(beat.sent));
    Ok(vec![fallen as f64, delays.fold(0.0, f64::max), queued.as_secs_f64() * 1000.0])
}

/// A filler of the queue: packets on the path itself, beside the tunnel. Each carries the time at which it was sent, since the start of the filler.
struct Filler {
    stop: Arc<AtomicBool>,
    sender: Option<JoinHandle<()>>,
    receiver: Option<JoinHandle<Duration>>,
}

/// Interval at which the receiver checks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

impl Filler {
    fn start(rig: &Rig<'_>) -> Result<Self> {
        const PAYLOAD: usize = 1400;
        let network = &rig.network;
        let (from, to) = (network.address(0, End::A), network.address(0, End::B));
        let sink = network.host(End::B).run(|| UdpSocket::bind((to, 0)))??;
        let socket = network.host(End::A).run(|| UdpSocket::bind((from, 0)))??;
        socket.connect(sink.local_addr()?)?;
        sink.set_read_timeout(Some(LOOK))?;
        let stop = Arc::<AtomicBool>::default();
        let (seen, start) = (Arc::clone(&stop), Instant::now());
        let measure = move || {
            let (mut longest, mut sent) = (Duration::ZERO, [0; 8]);
            while !seen.load(Ordering::Relaxed) {
                if sink.recv(&mut sent).is_ok() {
                    let sent = Duration::from_nanos(u64::from_be_bytes(sent));
                    longest = longest.max(start.elapsed().saturating_sub(sent));
                }
            }
            longest
        };
        let receiver = thread::Builder::new().name("filled".into()).spawn(measure)?;
        let seen = Arc::clone(&stop);
        let work = move || {
            let full_rate = f64::from(RATE) * 1e6 / (8.0 * (PAYLOAD + 42) as f64);
            let (mut datagram, mut sent) = ([0; PAYLOAD], 0.0);
            while !seen.load(Ordering::Relaxed) {
                let elapsed = start.elapsed().as_secs_f64();
                let excess = 0.5 * elapsed.min(FILLING.as_secs_f64());
                let due = full_rate * (elapsed + excess);
                while sent < due {
                    let now = start.elapsed().as_nanos() as u64;
                    datagram[..8].copy_from_slice(&now.to_be_bytes());
                    let _ = socket.send(&datagram);
                    sent += 1.0;
                }
                thread::sleep(Duration::from_millis(2));
            }
        };
        let sender = thread::Builder::new().name("filler".into()).spawn(work)?;
        Ok(Self { stop, sender: Some(sender), receiver: Some(receiver) })
    }

    /// Returns the longest delay of a packet on the path.
    fn stop(mut self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        // It returns nothing, and a panic of it has been shown.
        let _ = self.sender.take().map(JoinHandle::join);
        self.receiver.take().and_then(|it| it.join().ok()).unwrap_or_default()
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
