//! A file fetched by a real client (curl) from a real server, at host a, by host b.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::{Ends, GRACE, Outcome, Running};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::experiments::case::{Protocol, metric};
use crate::processes::Talking;

/// Port of the server: none that needs privileges.
const PORT: u16 = 8021;
/// Name of the file.
const FILE: &str = "file";
/// The distribution's Python, which is the one that its `python3-pyftpdlib` belongs to.
pub(in crate::experiments::case) const PYTHON: &str = "/usr/bin/python3";
/// curl's exit code when the time is over.
const TIME_OVER: i32 = 28;

/// A server that listens.
#[derive(Debug)]
pub(super) struct Ready {
    server: Talking,
    protocol: Protocol,
    bytes: u64,
    limit: Duration,
}

#[derive(Debug)]
struct Fetching {
    client: Talking,
    server: Talking,
    reader: JoinHandle<Received>,
    bytes: u64,
}

/// The data that the client has handed out.
#[derive(Debug, Clone, PartialEq)]
struct Received {
    /// Bytes in each interval of [`analysis::STEP`] since the start.
    bins: Vec<u64>,
    /// The time at which the last of them came, since the start.
    end: Duration,
}

/// Returns client and server, each with the arguments that print its version.
pub(super) fn programs(protocol: Protocol) -> Vec<(&'static str, &'static [&'static str])> {
    match protocol {
        Protocol::Ftp => {
            let version = &["-c", "import pyftpdlib; print('pyftpdlib', pyftpdlib.__ver__)"];
            vec![("curl", &["--version"]), (PYTHON, version)]
        }
        Protocol::Http => vec![("curl", &["--version"]), ("busybox", &[])],
    }
}

impl Ready {
    pub(super) fn new(
        protocol: Protocol,
        bytes: u64,
        limit: Duration,
        ends: Ends<'_>,
    ) -> Result<Self> {
        let directory = ends.directory.join("files");
        std::fs::create_dir(&directory).context("cannot make a directory")?;
        make_file(&directory.join(FILE), bytes).context("cannot make the file")?;
        let mut command = match protocol {
            Protocol::Ftp => {
                let mut command = Command::new(PYTHON);
                command.args(["-m", "pyftpdlib", "-i", &ends.from.to_string()]);
                command.args(["-p", &PORT.to_string(), "-d"]).arg(&directory);
                command
            }
            Protocol::Http => {
                let mut command = Command::new("busybox");
                command.args(["httpd", "-f", "-p", &host_and_port(ends), "-h"]).arg(&directory);
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut server = Talking::new(ends.a.spawn_child(command)?);
        super::wait_until_it_listens(&mut server, PORT, ends.interrupt)?;
        Ok(Self { server, protocol, bytes, limit })
    }
}

/// Makes a file and has it in the kernel's memory, as a server has what it hands out often. Otherwise the kernel finds and
/// zeroes memory when it reads ahead, up to 30 ms in one go, in which nobody else gets the processor: neither the emulator nor
/// the probes by which the daemons know their paths. So nothing is read ahead here.
fn make_file(path: &Path, bytes: u64) -> io::Result<()> {
    // A hole: it takes no space, and the kernel reads zeros.
    File::create(path)?.set_len(bytes)?;
    let mut file = File::open(path)?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM)?;
    io::copy(&mut file, &mut io::sink())?;
    Ok(())
}

fn host_and_port(ends: Ends<'_>) -> String {
    std::net::SocketAddr::new(ends.from, PORT).to_string()
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { server, protocol, bytes, limit } = *self;
        let scheme = match protocol {
            Protocol::Ftp => "ftp",
            Protocol::Http => "http",
        };
        let mut command = Command::new("curl");
        command.args(["-sS", "-g", "-o", "-", "--max-time", &limit.as_secs_f64().to_string()]);
        command.arg(format!("{scheme}://{}/{FILE}", host_and_port(ends)));
        // Proxies of the machine do not concern the laboratory.
        command.args(["--noproxy", "*"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut client: Child = ends.b.spawn_child(command)?;
        let output = client.stdout.take().context("curl has no output")?;
        let work = move || read(output, began);
        let reader = thread::Builder::new().name("download".into()).spawn(work)?;
        Ok(Box::new(Fetching { client: Talking::new(client), server, reader, bytes }))
    }
}

impl Running for Fetching {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.client.ended()?.is_some())
    }

    fn processes(&self) -> Vec<Watched> {
        vec![
            Watched::traffic("server a", self.server.id()),
            Watched::traffic("curl b", self.client.id()),
        ]
    }

    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        let Self { client, server, reader, bytes } = *self;
        let finished = client.finish(GRACE, interrupt).context("curl")?;
        drop(server);
        let Ok(received) = reader.join() else { bail!("reading from curl failed") };
        let arrived: u64 = received.bins.iter().sum();
        let time_over = finished.status.code() == Some(TIME_OVER);
        if arrived == 0 || (!finished.status.success() && !time_over) {
            bail!("curl: {}: {}", finished.status, finished.stderr.trim());
        }
        let mut outcome = Outcome::default();
        let seconds = received.end.as_secs_f64().max(f64::MIN_POSITIVE);
        outcome.metric(metric::GOODPUT, Some(arrived as f64 * 8.0 / 1e6 / seconds));
        // The last interval is not whole.
        let steps = (seconds / analysis::STEP.as_secs_f64() + 0.5) as usize;
        let mut bins: Vec<f64> = received.bins.iter().map(|&bytes| bytes as f64).collect();
        bins.resize(steps, 0.0);
        outcome.goodput(&bins);
        finish(&mut outcome, arrived, bytes, received.end);
        Ok(outcome)
    }

    fn is_silent_about_tcp(&self) -> bool {
        true
    }
}

/// Records how long a download took if it is complete, and a deviation otherwise.
pub(super) fn finish(outcome: &mut Outcome, arrived: u64, whole: u64, time: Duration) {
    if arrived >= whole {
        outcome.metric(metric::DOWNLOAD_TIME, Some(time.as_secs_f64()));
    } else {
        outcome.deviations.push(format!(
            "given up after {:.0} s: {arrived} of {whole} bytes had arrived",
            time.as_secs_f64()
        ));
    }
}

fn read(mut output: ChildStdout, began: Instant) -> Received {
    let mut received = Received { bins: Vec::new(), end: Duration::ZERO };
    let mut buffer = vec![0; 256 * 1024];
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        received.end = began.elapsed();
        let bin = (received.end.as_nanos() / analysis::STEP.as_nanos()) as usize;
        if received.bins.len() <= bin {
            received.bins.resize(bin + 1, 0);
        }
        received.bins[bin] += length as u64;
    }
    received
}
