//! A slow cable between two hosts: a TAP device at either end, and a thread for each direction that carries frames as a link of `mpt-link` does.
//! The kernel of the test may have no qdisc that delays.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mpt_link::{ByteCount, Link, Params};
use mpt_linux::tap::{READ_LEN, Tap};
use mpt_linux::tun::VNET_HEADER_LEN;

use crate::hosts::Host;

/// The time between two looks at a device.
const PAUSE: Duration = Duration::from_millis(1);

/// The cable. It is gone with both devices when this is dropped.
pub(crate) struct SlowCable {
    stop: Arc<AtomicBool>,
    carriers: Vec<JoinHandle<()>>,
}

impl SlowCable {
    /// Lays it between devices of this name, each with its address ("192.0.2.1/24"). Either direction is a link with these parameters.
    pub(crate) fn lay(name: &str, ends: [(&Host, &str); 2], params: Params) -> Self {
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
            thread::spawn(move || carry(&from, &to, params, &stop))
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

fn carry(from: &Tap, to: &Tap, params: Params, stop: &AtomicBool) {
    let mut buffer = vec![0; READ_LEN];
    let mut link = Link::new(Instant::now(), params, [], 0);
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        // An error says that there is no frame.
        while let Ok(length) = from.read(&mut buffer) {
            let size = ByteCount((length - VNET_HEADER_LEN) as u64);
            // A frame for which there is no room is dropped.
            let _ = link.enqueue(now, size, buffer[..length].to_vec());
        }
        while let Some(frame) = link.poll(now) {
            // The other device may be down by now.
            let _ = to.write(&[IoSlice::new(&frame)]);
        }
        thread::sleep(PAUSE);
    }
}
