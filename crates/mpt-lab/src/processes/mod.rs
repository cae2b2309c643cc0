//! Child processes that never outlive the laboratory, the daemons among them.

pub(super) mod daemon;
pub(super) mod poll;

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::console::interrupt::Interrupt;
use crate::processes::poll::POLL;

/// The output of a process, and its exit status.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Exit status.
    pub(crate) status: ExitStatus,
    /// Standard output, if it was piped.
    pub(crate) stdout: String,
    /// Standard error, if it was piped.
    pub(crate) stderr: String,
}

/// Waits until the process ends, at most for `limit`. When that has passed, and when a signal asks
/// us to stop, the process is killed and an error returned.
pub(crate) fn finish(child: Child, limit: Duration, interrupt: &Interrupt) -> Result<Finished> {
    Talking::new(child).finish(limit, interrupt)
}

/// A running process whose piped output is collected; killed, if it still runs, when this is dropped.
#[derive(Debug)]
pub(crate) struct Talking {
    process: Process,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Talking {
    /// Takes what is piped.
    pub(crate) fn new(mut child: Child) -> Self {
        let stdout = child.stdout.take().map(drain);
        let stderr = child.stderr.take().map(drain);
        Self { process: Process(child), stdout, stderr }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns its exit status; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process.ended()
    }

    /// Ends it as [`Process::terminate`] does.
    pub(crate) fn terminate(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.process.terminate(patience)
    }

    /// Waits for its end as [`finish`] does.
    pub(crate) fn finish(mut self, limit: Duration, interrupt: &Interrupt) -> Result<Finished> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.process.ended()? {
                break status;
            }
            interrupt.check()?;
            if start.elapsed() > limit {
                bail!("it did not end within {} s", limit.as_secs_f64());
            }
            thread::sleep(POLL);
        };
        let (stdout, stderr) = (collect(self.stdout.take()), collect(self.stderr.take()));
        Ok(Finished { status, stdout, stderr })
    }
}

/// A running process: killed, if it still runs, when this is dropped.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns how it ended; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.0.try_wait().context("cannot wait for a process")
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Both fail only for a process that has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to end (SIGTERM) and waits for that. Returns `None` if it had to be killed, or is beyond reach.
    pub(crate) fn terminate(&mut self, patience: Duration) -> Option<ExitStatus> {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).ok()?);
        if let Ok(Some(status)) = self.0.try_wait() {
            return Some(status);
        }
        kill(pid, Signal::SIGTERM).ok()?;
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Some(status);
            }
            thread::sleep(POLL);
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads a pipe to its end in a thread of its own, so that the process never waits for us.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output before an error is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn collect(reader: Option<JoinHandle<String>>) -> String {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn spawn(program: &str, arguments: &[&str]) -> Child {
        Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn output_and_status_are_collected() {
        let child = spawn("sh", &["-c", "echo out; echo err >&2; exit 3"]);
        let finished = finish(child, Duration::from_secs(10), &Interrupt::default()).unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let child = spawn("sleep", &["1000"]);
        let pid = Pid::from_raw(child.id() as i32);
        finish(child, Duration::from_millis(50), &Interrupt::default()).unwrap_err();
        assert!(kill(pid, None).is_err(), "it still runs");
    }

    #[test]
    fn terminate_says_how_it_ended() {
        let mut process = Process(spawn("sleep", &["1000"]));
        let status = process.terminate(Duration::from_secs(10)).unwrap();
        assert!(!status.success());
        assert_eq!(process.ended().unwrap(), Some(status));
    }
}
