//! Two daemons over a network whose lines can break, and the traffic through their tunnel.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use mpt_api::{ConnectionState, PathChange, Snapshot};
use tempfile::TempDir;

use super::configuration::{self, Identity, Role};
use super::network::{LineSpec, Middle, Network};
use super::observation::capture::Capture;
use super::observation::metronome::{self, Beat};
use super::observation::record::{Record, index};
use crate::console::interrupt::Interrupt;
use crate::processes::daemon::{self, Daemon, Tunnel};
use crate::topology::End;
use crate::traffic::bulk::{Flow, Listener, Plan};
use crate::traffic::datagrams::Stream;

/// TCP port of the flow at host b.
const STREAM: u16 = 4710;

/// The settings of all events.
#[derive(Debug)]
pub(super) struct Lab<'a> {
    /// The daemon's executable.
    pub(super) program: PathBuf,
    /// True if the ends have a control session; otherwise only carrier and administrator decide.
    pub(super) session: bool,
    pub(super) interrupt: &'a Interrupt,
}

/// The network that an event needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RigSpec {
    /// Lines, each of them a path.
    pub(super) lines: u8,
    /// The properties of the lines.
    pub(super) line: LineSpec,
    /// The middle between the hosts.
    pub(super) middle: Middle,
    /// True if host a is a client whose addresses change: host b learns them.
    pub(super) roaming: bool,
}

impl RigSpec {
    /// Two lines as in the demonstration.
    pub(super) const USUAL: Self =
        Self { lines: 2, line: LineSpec::USUAL, middle: Middle::Bridges, roaming: false };
}

/// Hosts, lines and daemons; gone when this is dropped, daemons first.
#[derive(Debug)]
pub(super) struct Rig<'a> {
    daemons: [Option<Daemon>; 2],
    pub(super) network: Network,
    spec: RigSpec,
    scratch: TempDir,
    lab: &'a Lab<'a>,
}

/// Traffic and captures that run.
#[derive(Debug)]
pub(super) struct Recording {
    captures: [Capture; 2],
    stream: Option<Flow>,
    metronomes: [Stream; 2],
}

impl<'a> Rig<'a> {
    /// Makes hosts and lines; no daemon runs yet.
    pub(super) fn new(lab: &'a Lab<'a>, spec: RigSpec) -> Result<Self> {
        let network = Network::new(spec.lines, spec.line, spec.middle)?;
        // A short name: the path of a UNIX socket has at most 107 bytes.
        let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
        Ok(Self { daemons: [None, None], network, spec, scratch, lab })
    }

    /// Returns hosts, lines and daemons, with every path up.
    pub(super) fn up(lab: &'a Lab<'a>, spec: RigSpec) -> Result<Self> {
        let mut rig = Self::new(lab, spec)?;
        rig.start_both()?;
        Ok(rig)
    }

    /// Starts the daemons and waits until every path is up.
    pub(super) fn start_both(&mut self) -> Result<()> {
        self.start(End::A)?;
        self.start(End::B)?;
        self.wait_until_up()
    }

    /// Starts the daemon at one end and does not wait for it.
    pub(super) fn start(&mut self, end: End) -> Result<()> {
        let directory = self.scratch.path();
        let identity = if self.lab.session { Some(identity(directory, end)?) } else { None };
        let role = match (self.spec.roaming, end) {
            (false, _) => Role::Peer,
            (true, End::A) => Role::Client,
            (true, End::B) => Role::Server,
        };
        let text = |socket: &Path| {
            configuration::text(&self.network, end, role, identity.as_ref(), socket)
        };
        let (program, name) = (&self.lab.program, end.to_string());
        let daemon = Daemon::start(program, self.network.host(end), &name, directory, text)?;
        self.daemons[index(end)] = Some(daemon);
        Ok(())
    }

    /// Ends the daemon at one end in order (SIGTERM), or kills it.
    pub(super) fn end(&mut self, end: End, kill: bool) -> Result<()> {
        let daemon = self.daemons[index(end)].take().context("the daemon does not run")?;
        if kill {
            daemon.kill();
            return Ok(());
        }
        daemon.stop()
    }

    /// Waits until both ends say that every path is up.
    pub(super) fn wait_until_up(&mut self) -> Result<()> {
        self.wait_until("not every path is up", |snapshot| {
            snapshot.connections.iter().all(|it| it.state == ConnectionState::Up)
        })
    }

    /// Waits until both ends have at least one path that is up.
    pub(super) fn wait_until_usable(&mut self) -> Result<()> {
        self.wait_until("no path is up", |snapshot| {
            snapshot.connections.iter().all(|it| it.state != ConnectionState::Down)
        })
    }

    fn wait_until(&mut self, not: &str, is: impl Fn(&Snapshot) -> bool) -> Result<()> {
        for daemon in self.daemons.iter_mut().flatten() {
            daemon.wait_until(not, self.lab.interrupt, &is)?;
        }
        Ok(())
    }

    /// Returns the daemon at one end.
    pub(super) fn daemon(&self, end: End) -> Result<&Daemon> {
        self.daemons[index(end)].as_ref().context("the daemon does not run")
    }

    /// Takes a path down, or up, as an administrator at one end does.
    pub(super) fn set_path(&self, line: usize, end: End, up: bool) -> Result<()> {
        let change = PathChange { up: Some(up), ..PathChange::default() };
        let command = mpt_api::Command::SetPath {
            connection: Tunnel::NAME.into(),
            path: Network::interface(line),
            change,
        };
        self.daemon(end)?.request(command).map(drop)
    }

    /// Starts captures, a metronome each way and, if wanted, the TCP flow.
    pub(super) fn record(&self, tcp: bool, beat: Beat) -> Result<Recording> {
        let (a, b) = (self.network.host(End::A), self.network.host(End::B));
        let captures = [Capture::start(a)?, Capture::start(b)?];
        let metronomes =
            [metronome::start(a, b, End::A, beat)?, metronome::start(b, a, End::B, beat)?];
        let to = SocketAddr::new(Tunnel::address(End::B), STREAM);
        let flow = || Listener::open(b, to, Plan::cubic())?.start(a, None);
        let stream = tcp.then(flow).transpose()?;
        Ok(Recording { captures, stream, metronomes })
    }

    /// Ends the daemons in order; an error when one does not.
    pub(super) fn stop(mut self) -> Result<()> {
        for daemon in self.daemons.iter_mut().filter_map(Option::take) {
            daemon.stop()?;
        }
        Ok(())
    }

    /// Returns the last lines of both logs, for errors.
    pub(super) fn logs(&self) -> String {
        let tail = |(daemon, end): (&Option<Daemon>, &str)| {
            let log = daemon.as_ref().map(Daemon::log_tail).unwrap_or_default();
            format!("mptd {end}:\n{log}\n")
        };
        self.daemons.iter().zip(["a", "b"]).map(tail).collect()
    }
}

impl Recording {
    /// Returns the bytes that the TCP flow has carried so far.
    pub(super) fn received(&self) -> u64 {
        self.stream.as_ref().map_or(0, Flow::received)
    }

    /// Ends the traffic, gives packets on their way `time` to arrive, and returns the record. Returns an error when TCP did not survive.
    pub(super) fn stop(self, time: Duration) -> Result<Record> {
        let goodput = self.stream.map(Flow::finish).transpose()?;
        let [a, b] = self.metronomes;
        let beats = [a.finish(time)?, b.finish(time)?];
        let [a, b] = self.captures;
        Ok(Record { packets: [a.stop()?, b.stop()?], goodput, beats })
    }
}

/// Returns the key file of one end, and the public key of the other. The keys are always the same: they protect nothing, and the same keys make runs
/// comparable.
fn identity(directory: &Path, end: End) -> Result<Identity> {
    let peer = daemon::key(end.other()).public().to_string();
    Ok(Identity { file: daemon::private_key(directory, end)?, peer })
}
