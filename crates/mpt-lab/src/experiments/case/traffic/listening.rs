//! The wait for a server of TCP.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::console::interrupt::Interrupt;
use crate::processes::Talking;
use crate::processes::poll::POLL;

/// The longest time that a server may take until it listens.
pub(super) const START: Duration = Duration::from_secs(10);

/// Waits until a server listens for TCP.
pub(super) fn wait_until_it_listens(
    server: &mut Talking,
    port: u16,
    interrupt: &Interrupt,
) -> Result<()> {
    let start = Instant::now();
    while !crate::traffic::iperf::listens(server.id(), port) {
        interrupt.check()?;
        if let Some(status) = server.ended()? {
            bail!("the server ended at once: {status}");
        }
        if start.elapsed() > START {
            bail!("the server does not listen after {} s", START.as_secs());
        }
        thread::sleep(POLL);
    }
    Ok(())
}
