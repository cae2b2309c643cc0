//! The events of the paths as a daemon reports them.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Result, bail};
use mpt_api::{EventKind, PathState, Response, ResponseBody};

use crate::processes::daemon::Daemon;

/// Counts how often a path of one daemon stops being up.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<u64>>>,
}

impl Watch {
    /// Starts to watch.
    pub(crate) fn start(daemon: &Daemon) -> Result<Self> {
        let events = daemon.monitor()?;
        let stop = Arc::<AtomicBool>::default();
        let seen = Arc::clone(&stop);
        let reader = thread::Builder::new().name("watch".into());
        let reader = reader.spawn(move || count(events, &seen))?;
        Ok(Self { stop, reader: Some(reader) })
    }

    /// Returns how often it happened.
    pub(crate) fn stop(mut self) -> Result<u64> {
        self.stop.store(true, Ordering::Relaxed);
        match self.reader.take().map(JoinHandle::join) {
            Some(Ok(count)) => count,
            _ => bail!("watching the daemon failed"),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Reads events until nobody wants them. The stream's reads time out.
fn count(stream: UnixStream, stop: &AtomicBool) -> Result<u64> {
    let mut lines = BufReader::new(stream);
    let (mut line, mut count) = (Vec::new(), 0);
    loop {
        // The part of a line that was read before the time was out stays in `line`.
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => bail!("mptd hung up"),
            Ok(_) => {
                count += u64::from(falls(&line));
                line.clear();
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                if stop.load(Ordering::Relaxed) {
                    return Ok(count);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// True if this line says that a path is not up.
fn falls(line: &[u8]) -> bool {
    let Ok(Response { body: ResponseBody::Event(event), .. }) = serde_json::from_slice(line) else {
        return false;
    };
    matches!(event.kind, EventKind::PathChanged { state, .. } if state != PathState::Up)
}
