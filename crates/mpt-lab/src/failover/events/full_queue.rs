//! A queue of two seconds fills in front of a path: what passes it is late, and the path is not dead.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Event;
use crate::failover::figure::{Figure, Limit, Unit};
use crate::failover::metronome::Beat;
use crate::failover::network::{LineSpec, Middle};
use crate::failover::rig::{Lab, Rig, RigSpec};
use crate::failover::watch::Watch;
use crate::topology::End;

/// Mbit/s; little, so that a full queue costs the machine little.
const RATE: u32 = 20;
const QUEUE: Duration = Duration::from_secs(2);
/// The queue fills with one and a half times what leaves it, which takes twice its length...
const FILLING: Duration = Duration::from_secs(4);
/// ...and then is kept full.
const FULL: Duration = Duration::from_secs(4);
/// Until it is empty again.
const EMPTYING: Duration = Duration::from_secs(3);

/// Late is not dead.
pub(super) static EVENT: Event = Event {
    name: "full-queue",
    what: "2 s of queue in front of a path",
    session: true,
    figures: &[
        Figure::none("times that a path went down"),
        Figure {
            name: "longest delay of a packet",
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
    filler.stop();
    lab.interrupt.sleep(EMPTYING)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    let mut fallen = 0;
    for watch in watches {
        fallen += watch.stop()?;
    }
    rig.stop()?;
    let delays = record.beats[0].arrivals.iter().map(|beat| beat.at.millis_since(beat.sent));
    Ok(vec![fallen as f64, delays.fold(0.0, f64::max)])
}

/// Packets on the path itself, beside the tunnel.
struct Filler {
    stop: Arc<AtomicBool>,
    sender: Option<JoinHandle<()>>,
    /// Without a socket there, every packet would be answered by an error.
    _sink: UdpSocket,
}

impl Filler {
    fn start(rig: &Rig<'_>) -> Result<Self> {
        const PAYLOAD: usize = 1400;
        let network = &rig.network;
        let (from, to) = (network.address(0, End::A), network.address(0, End::B));
        let sink = network.host(End::B).run(|| UdpSocket::bind((to, 0)))??;
        let socket = network.host(End::A).run(|| UdpSocket::bind((from, 0)))??;
        socket.connect(sink.local_addr()?)?;
        let stop = Arc::<AtomicBool>::default();
        let seen = Arc::clone(&stop);
        let work = move || {
            let full_rate = f64::from(RATE) * 1e6 / (8.0 * (PAYLOAD + 42) as f64);
            let (start, mut sent) = (Instant::now(), 0.0);
            while !seen.load(Ordering::Relaxed) {
                let elapsed = start.elapsed().as_secs_f64();
                let excess = 0.5 * elapsed.min(FILLING.as_secs_f64());
                let due = full_rate * (elapsed + excess);
                while sent < due {
                    let _ = socket.send(&[0; PAYLOAD]);
                    sent += 1.0;
                }
                thread::sleep(Duration::from_millis(2));
            }
        };
        let sender = thread::Builder::new().name("filler".into()).spawn(work)?;
        Ok(Self { stop, sender: Some(sender), _sink: sink })
    }

    fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It returns nothing, and a panic of it has been shown.
        let _ = self.sender.take().map(JoinHandle::join);
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
