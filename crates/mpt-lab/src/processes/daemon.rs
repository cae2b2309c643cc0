//! Real mptd processes: configuration, start, control socket, end.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mpt_api::{ConnectionState, DataState, Reply, Request, Response, ResponseBody, Snapshot};
use mpt_core::session::PrivateKey;

use crate::console::interrupt::Interrupt;
use crate::processes::Process;
use crate::processes::poll::POLL;
use crate::topology::{End, Host, Topology};

/// The longest time that a daemon may take until its paths are up.
const START: Duration = Duration::from_secs(10);
/// The longest time that it may take to remove what it made.
const STOP: Duration = Duration::from_secs(5);
/// The longest time that it may take to answer on its control socket while it is busy.
const ANSWER: Duration = Duration::from_secs(5);

/// The differences of a tunnel from the daemon's defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings {
    /// Size of the reorder window, in packets; `None` for the default.
    pub(crate) window: Option<u16>,
    /// The session of the two ends; `None` if they have none.
    pub(crate) session: Option<Session>,
}

/// The session of the two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    /// The protection of data.
    pub(crate) data: Data,
    /// The mapping of packets to paths.
    pub(crate) mapping: Mapping,
}

/// The mapping of packets to paths where there is a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mapping {
    /// The daemon's default.
    Usual,
    /// Each packet by itself, in proportion to the weights.
    Packet,
}

/// The protection of a session's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// The data are not protected.
    Plain,
    /// Sealed with AES-256-GCM.
    Aes256Gcm,
    /// Sealed with ChaCha20-Poly1305.
    Chacha20Poly1305,
}

impl Data {
    /// Returns the state that the daemons report.
    fn state(self) -> DataState {
        match self {
            Self::Plain => DataState::Plain,
            Self::Aes256Gcm => DataState::Aes256Gcm,
            Self::Chacha20Poly1305 => DataState::Chacha20Poly1305,
        }
    }
}

/// One tunnel over all paths of a topology.
#[derive(Debug)]
pub(crate) struct Tunnel {
    a: Daemon,
    b: Daemon,
}

impl Tunnel {
    /// Name of the TUN device and of the connection at both ends.
    pub(crate) const NAME: &str = "mpt0";

    /// Starts a daemon at either end and waits until both say that every path is up and that data
    /// is protected as the settings say. `directory` holds configurations, sockets and logs.
    pub(crate) fn start(
        program: &Path,
        topology: &Topology,
        settings: Settings,
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let start = |end: End| {
            let key = settings.session.map(|_| private_key(directory, end)).transpose()?;
            let text =
                |socket: &Path| configuration(topology, end, settings, key.as_deref(), socket);
            Daemon::start(program, topology.host(end), &end.to_string(), directory, text)
        };
        let mut tunnel = Self { a: start(End::A)?, b: start(End::B)? };
        for daemon in [&mut tunnel.a, &mut tunnel.b] {
            daemon.wait_until_up(interrupt)?;
            if let Some(Session { data, .. }) = settings.session {
                let not = format!("data is not {data:?}");
                daemon.wait_until(&not, interrupt, |snapshot| {
                    let state = Some(data.state());
                    let mut sessions = snapshot.connections.iter().map(|it| it.session.as_ref());
                    sessions.all(|it| it.and_then(|it| it.data) == state)
                })?;
            }
        }
        Ok(tunnel)
    }

    /// Returns the daemon at one end.
    pub(crate) fn daemon(&self, end: End) -> &Daemon {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// Returns the inner address of one end.
    pub(crate) fn address(end: End) -> IpAddr {
        IpAddr::from([10, 72, 0, end.number()])
    }

    /// Ends both daemons; an error when one did not leave on its own accord and in order.
    pub(crate) fn stop(self) -> Result<()> {
        self.a.stop()?;
        self.b.stop()
    }
}

/// One mptd process; it ends, and removes what it made, when this is dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    process: Process,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts one on `host` and does not wait for anything. `name` is that of its files in `directory`; `configuration`
    /// makes the text of its file from the path of its control socket.
    pub(crate) fn start(
        program: &Path,
        host: &Host,
        name: &str,
        directory: &Path,
        configuration: impl FnOnce(&Path) -> String,
    ) -> Result<Self> {
        let file = |kind: &str| directory.join(format!("{name}.{kind}"));
        let (config, socket, log) = (file("toml"), file("sock"), file("log"));
        fs::write(&config, configuration(&socket))
            .with_context(|| format!("cannot write {}", config.display()))?;
        // Appended to, when it is started again.
        let output = File::options().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&config);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let process = host.spawn(command)?;
        Ok(Self { process, socket, log })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its control socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the snapshot of its control socket.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        match self.request(mpt_api::Command::Show)? {
            Reply::Snapshot(snapshot) => Ok(*snapshot),
            other => bail!("mptd gives an answer to another question: {}", other.word()),
        }
    }

    /// Returns a stream of its events from now on, one line each, after the line that it begins with. Reads time out soon.
    pub(crate) fn monitor(&self) -> Result<UnixStream> {
        let stream = self.ask(mpt_api::Command::Monitor)?;
        stream.set_read_timeout(Some(POLL))?;
        Ok(stream)
    }

    /// Sends a request to its control socket.
    pub(crate) fn request(&self, command: mpt_api::Command) -> Result<Reply> {
        let stream = self.ask(command)?;
        let line = mpt_api::read_line(&mut BufReader::new(stream), mpt_api::MAX_RESPONSE)?
            .context("mptd hung up without an answer")?;
        let response: Response = serde_json::from_slice(&line)?;
        match response.body {
            ResponseBody::Result(reply) => Ok(reply),
            ResponseBody::Error(failure) => bail!("mptd answers: {failure}"),
            ResponseBody::Event(_) => bail!("mptd answers with an event"),
        }
    }

    fn ask(&self, command: mpt_api::Command) -> Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)
            .with_context(|| format!("cannot connect to {}", self.socket.display()))?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let request = mpt_api::to_line(&Request::new(command));
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }

    /// Returns the packets sent so far on each path, in the order of the paths.
    pub(crate) fn packets_sent(&self) -> Result<Vec<u64>> {
        let snapshot = self.snapshot()?;
        let connection = snapshot.connections.first().context("mptd has no connection")?;
        Ok(connection.paths.iter().map(|path| path.sent.packets).collect())
    }

    /// Waits until every path of every connection is up.
    fn wait_until_up(&mut self, interrupt: &Interrupt) -> Result<()> {
        self.wait_until("not every path is up", interrupt, |snapshot| {
            snapshot.connections.iter().all(|it| it.state == ConnectionState::Up)
        })
    }

    /// Waits until `is` holds; `not` says, for the error, what does not hold yet.
    pub(crate) fn wait_until(
        &mut self,
        not: &str,
        interrupt: &Interrupt,
        is: impl Fn(&Snapshot) -> bool,
    ) -> Result<()> {
        let start = Instant::now();
        loop {
            interrupt.check()?;
            if let Some(status) = self.process.ended()? {
                bail!("mptd ended at once ({status}); its log:\n{}", self.log_tail());
            }
            match self.snapshot().map(|snapshot| is(&snapshot)) {
                Ok(true) => return Ok(()),
                Ok(false) if start.elapsed() > START => {
                    bail!("{not} after {} s; mptd's log:\n{}", START.as_secs(), self.log_tail())
                }
                Err(error) if start.elapsed() > START => {
                    let log = self.log_tail();
                    return Err(error.context(format!("mptd does not answer; its log:\n{log}")));
                }
                _ => thread::sleep(POLL),
            }
        }
    }

    /// Kills it, as a crash would: nothing that it made is removed.
    pub(crate) fn kill(self) {
        let mut this = self;
        this.process.kill();
    }

    /// Ends it in order; an error when it does not.
    pub(crate) fn stop(mut self) -> Result<()> {
        match self.process.terminate(STOP) {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("mptd ended with {status}; its log:\n{}", self.log_tail()),
            None => {
                bail!(
                    "mptd did not end within {} s after SIGTERM; log:\n{}",
                    STOP.as_secs(),
                    self.log_tail()
                )
            }
        }
    }

    /// Returns the last lines of its log.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It is killed right after if it has not left.
        self.process.terminate(STOP);
    }
}

/// Returns the key of an end. The keys are always the same: they protect nothing, and the same keys make the same measurement.
pub(crate) fn key(end: End) -> PrivateKey {
    PrivateKey::from_seed([end.number(); 32])
}

/// Writes the private key of an end into a file of the directory, and returns its path.
pub(crate) fn private_key(directory: &Path, end: End) -> Result<PathBuf> {
    let file = directory.join(format!("{end}.key"));
    fs::write(&file, key(end).to_base64().as_bytes()).context("cannot write a key file")?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Returns the configuration of one end: one connection over all paths, every key that is not named here at its default. `key` is the file of its
/// private key, if there is a session.
fn configuration(
    topology: &Topology,
    end: End,
    settings: Settings,
    key: Option<&Path>,
    socket: &Path,
) -> String {
    let (here, there) = (Tunnel::address(end), Tunnel::address(end.other()));
    let name = Tunnel::NAME;
    let mut text = format!("[daemon]\ncontrol_socket = {socket:?}\n");
    // Writing to a String cannot fail.
    if let Some(key) = key {
        let aes = settings.session.is_some_and(|it| it.data == Data::Aes256Gcm);
        let _ = writeln!(text, "private_key_file = {key:?}\naes = {aes}");
    }
    let _ = write!(
        text,
        "\n[[device]]\nname = \"{name}\"\naddresses = [\"{here}/24\"]\n\n\
         [[connection]]\nname = \"{name}\"\ndevice = \"{name}\"\nnetworks = [\"{there}/32\"]\n"
    );
    if let Some(window) = settings.window {
        let _ = writeln!(text, "window = {window}");
    }
    if let Some(Session { data, mapping }) = settings.session {
        if let Mapping::Packet = mapping {
            text += "mapping = \"packet\"\n";
        }
        let seal = if data == Data::Plain { "off" } else { "require" };
        let peer = self::key(end.other()).public();
        let _ = write!(text, "seal = \"{seal}\"\n\n[connection.peer]\npublic_key = \"{peer}\"\n");
    }
    for path in topology.paths() {
        let _ = write!(
            text,
            "\n[[connection.path]]\nname = \"{}\"\nlocal = \"{}\"\nremote = \"{}\"\n",
            path.name,
            path.address(end),
            path.address(end.other())
        );
    }
    text
}

/// Returns the mptd to run: `given`, or the one beside the `laboratory`'s own executable.
pub(crate) fn program(given: Option<PathBuf>, laboratory: &Path) -> Result<PathBuf> {
    let program = match given {
        Some(program) => program,
        None => laboratory.with_file_name("mptd"),
    };
    if !program.is_file() {
        bail!("there is no {}; build it (cargo build --release -p mptd)", program.display());
    }
    Ok(program)
}
