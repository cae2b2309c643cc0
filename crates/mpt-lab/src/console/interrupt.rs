//! Ctrl-C and SIGTERM as a flag, so that what was created is removed on every way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::processes::poll::POLL;

/// A flag that is set once the user, or whoever supervises the program, wants it to end.
///
/// Waiting code checks it again and again ([`Interrupt::check`]) and returns its error; the owners
/// of processes and namespaces then clean up as they are dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Replaces the default action of SIGINT, SIGTERM and SIGHUP for this process.
    pub(crate) fn install() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, flag.clone()).context("cannot handle signals")?;
        }
        Ok(Self(flag))
    }

    /// Waits. Returns an error as soon as a signal arrives.
    pub(crate) fn sleep(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            self.check()?;
            match end.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(POLL)),
                _ => return Ok(()),
            }
        }
    }

    /// Returns an error once a signal has arrived.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }
}
