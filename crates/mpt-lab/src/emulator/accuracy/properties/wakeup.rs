//! The delay with which this machine wakes up a sleeping thread, with no emulator in between: the part of a delay's error that is not the emulator's.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mpt_linux::realtime;

use crate::emulator::lateness::Record;
use crate::emulator::protocol::Lateness;

/// Duration of a sleep: the time from one probe to the next.
const SLEEP: Duration = crate::emulator::accuracy::probe::SPACING;

/// A thread that sleeps, with the precedence of an emulator that does not spin, until its lateness is asked for, or it is dropped.
pub(crate) struct Sleeper {
    wanted: Sender<()>,
    thread: JoinHandle<Record>,
}

impl Sleeper {
    pub(crate) fn start() -> Result<Self> {
        let (wanted, end) = channel();
        let record = Record::new()?;
        let sleeper = thread::Builder::new().name("sleeper".into());
        let thread = sleeper.spawn(move || sleep(record, &end))?;
        Ok(Self { wanted, thread })
    }

    /// Ends it. How late it woke up.
    pub(super) fn lateness(self) -> Result<Lateness> {
        drop(self.wanted);
        Ok(self.thread.join().ok().context("the sleeper failed")?.summary())
    }
}

fn sleep(mut record: Record, end: &Receiver<()>) -> Record {
    // Without this right the sleeper is as late as the emulator, which lacks the right as well.
    let _ = realtime::take_precedence();
    // At least one sleep, also if the machine is so busy that the end comes before the beginning.
    loop {
        let began = Instant::now();
        thread::sleep(SLEEP);
        record.add(began.elapsed() - SLEEP);
        if end.try_recv() != Err(TryRecvError::Empty) {
            return record;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_up_early() {
        let sleeper = Sleeper::start().unwrap();
        thread::sleep(SLEEP * 10);
        let Lateness { frames, p50, p99, p999, max } = sleeper.lateness().unwrap();
        // Too early would be a negative duration, which fails the sleeper.
        assert!(frames > 0 && [p50, p99, p999, max].is_sorted());
    }
}
