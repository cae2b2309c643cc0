//! A slow cable between two hosts: a TAP device at either end, and a thread for each direction that carries frames at a rate and after a delay. The
//! kernel of the test may have no qdisc that delays.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mpt_linux::tap::{READ_LEN, Tap};
use mpt_linux::tun::VNET_HEADER_LEN;

use crate::hosts::Host;

/// Frames on their way in one direction. Further ones are dropped.
const MOST: usize = 64;
/// The time between two looks at a device.
const PAUSE: Duration = Duration::from_millis(1);

/// The properties of either direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    pub(crate) bits_per_second: u32,
    pub(crate) delay: Duration,
}

/// The cable. It is gone with both devices when this is dropped.
pub(crate) struct SlowCable {
    stop: Arc<AtomicBool>,
    carriers: Vec<JoinHandle<()>>,
}

impl SlowCable {
    /// Lays it between devices of this name, each with its address ("192.0.2.1/24").
    pub(crate) fn lay(name: &str, ends: [(&Host, &str); 2], speed: Speed) -> Self {
        let taps = ends.map(|(host, address)| {
            let tap = host.run(|| Tap::create(name, true)).unwrap();
            host.add_address(name, address);
            host.set_link(name, true);
            Arc::new(tap)
        });
        let stop = Arc::new(AtomicBool::new(false));
        let carriers = [[0, 1], [1, 0]].map(|[from, to]| {
            let (from, to) = (Arc::clone(&taps[from]), Arc::clone(&taps[to]));
            let stop = Arc::clone(&stop);
            thread::spawn(move || carry(&from, &to, speed, &stop))
        });
        Self { stop, carriers: carriers.into() }
    }
}

impl Drop for SlowCable {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for carrier in self.carriers.drain(..) {
            let _ = carrier.join();
        }
    }
}

fn carry(from: &Tap, to: &Tap, speed: Speed, stop: &AtomicBool) {
    let mut buffer = vec![0; READ_LEN];
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut free = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        // An error says that there is no frame.
        while let Ok(length) = from.read(&mut buffer) {
            if waiting.len() == MOST {
                continue;
            }
            let bits = 8.0 * (length - VNET_HEADER_LEN) as f64;
            let takes = Duration::from_secs_f64(bits / f64::from(speed.bits_per_second));
            free = free.max(Instant::now()) + takes;
            waiting.push_back((free + speed.delay, buffer[..length].to_vec()));
        }
        let now = Instant::now();
        let due = waiting.iter().take_while(|(due, _)| *due <= now).count();
        for (_, frame) in waiting.drain(..due) {
            // The other device may be down by now.
            let _ = to.write(&[IoSlice::new(&frame)]);
        }
        thread::sleep(PAUSE);
    }
}
