//! How late this machine wakes up who sleeps, with no emulator in between: what of an error of a delay is not its own.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mpt_linux::realtime;

/// What is slept: as long as from one probe to the next.
const SLEEP: Duration = super::probe::SPACING;

/// A thread that sleeps, with the precedence of the emulator, until it is asked how late it woke up, or dropped.
pub(super) struct Sleeper {
    wanted: Sender<()>,
    thread: JoinHandle<Vec<f64>>,
}

impl Sleeper {
    pub(super) fn start() -> Result<Self> {
        let (wanted, end) = channel();
        let thread = thread::Builder::new().name("sleeper".into()).spawn(move || sleep(&end))?;
        Ok(Self { wanted, thread })
    }

    /// Ends it. How late it woke up each time, in microseconds, ascending.
    pub(super) fn lateness(self) -> Result<Vec<f64>> {
        drop(self.wanted);
        let mut lateness = self.thread.join().ok().context("the sleeper failed")?;
        lateness.sort_by(f64::total_cmp);
        Ok(lateness)
    }
}

fn sleep(end: &Receiver<()>) -> Vec<f64> {
    // Who may not have it is as late as the emulator, which may not have it either.
    let _ = realtime::take_precedence();
    let mut lateness = Vec::new();
    while end.try_recv() == Err(TryRecvError::Empty) {
        let began = Instant::now();
        thread::sleep(SLEEP);
        lateness.push((began.elapsed() - SLEEP).as_secs_f64() * 1e6);
    }
    lateness
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_up_early() {
        let sleeper = Sleeper::start().unwrap();
        thread::sleep(SLEEP * 10);
        let lateness = sleeper.lateness().unwrap();
        assert!(!lateness.is_empty() && lateness[0] >= 0.0 && lateness.is_sorted(), "{lateness:?}");
    }
}
