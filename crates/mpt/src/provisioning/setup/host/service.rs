//! The daemon as a service: started by systemd where that runs, else in the background.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::process::start_time;
use super::unit;
use crate::client::Failed;
use crate::provisioning::setup::args::{Place, Start};
use crate::provisioning::setup::step::record::{Made, Record};
use crate::provisioning::setup::step::{self, Step};
use mpt_client::{Client, Local};

/// The longest time that the daemon may take to answer on its socket.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);
/// The time between two looks at it.
const LOOK: Duration = Duration::from_millis(50);
/// Lines of its log that are shown when it does not start.
const LOG_LINES: usize = 8;
/// A directory that exists only while systemd runs as the service manager.
const SYSTEMD: &str = "/run/systemd/system";

/// The way of starting the daemon, as decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The unit `mptd.service`, which systemd knows already.
    Unit,
    /// The unit, made to start this program.
    OwnUnit { program: PathBuf },
    /// A process, with its log in this file.
    Background { program: PathBuf, log: PathBuf },
}

impl Service {
    /// Decides.
    pub(crate) fn choose(start: Start, place: &Place) -> Result<Self, Failed> {
        let runs = Path::new(SYSTEMD).is_dir();
        // The unit knows no other place.
        let usual = place.directory.join("mpt.toml") == Path::new(mpt_config::DEFAULT_FILE);
        match (start, runs && usual) {
            (Start::Systemd, false) if runs => Err(Failed::Usage(format!(
                "the service reads {}; leave --directory out, or choose --start background",
                mpt_config::DEFAULT_FILE
            ))),
            (Start::Systemd, false) => {
                Err(Failed::Usage("systemd does not run on this host; leave --start out".into()))
            }
            (Start::Systemd | Start::Auto, true) if unit::is_there() => Ok(Service::Unit),
            (Start::Systemd | Start::Auto, true) => {
                let program = program()?;
                unit::check(&program)?;
                Ok(Service::OwnUnit { program })
            }
            (Start::Background, _) | (Start::Auto, false) => {
                let log = place.state.join("mptd.log");
                Ok(Service::Background { program: program()?, log })
            }
        }
    }

    /// Returns true if systemd starts the daemon.
    pub(super) fn is_of_systemd(&self) -> bool {
        matches!(self, Service::Unit | Service::OwnUnit { .. })
    }

    /// Returns what has to be made before it can be started.
    pub(crate) fn steps(&self) -> Vec<Step> {
        match self {
            Service::OwnUnit { program } => vec![unit::step(program)],
            Service::Unit | Service::Background { .. } => Vec::new(),
        }
    }

    /// One line that says what it does.
    pub(crate) fn describe(&self, config: &Path) -> String {
        match self {
            Service::Unit | Service::OwnUnit { .. } => {
                "enable and start the service (systemctl enable, restart mptd)".into()
            }
            Service::Background { program, log } => format!(
                "start {} --config {} in the background, with its log in {}",
                program.display(),
                config.display(),
                log.display()
            ),
        }
    }

    /// Starts the daemon with this configuration, and waits until it answers on `socket`.
    pub(crate) fn start(
        &self,
        config: &Path,
        socket: &Path,
        record: &mut Record,
    ) -> Result<Client, Failed> {
        let until = Instant::now() + ANSWERS_WITHIN;
        match self {
            Service::Unit | Service::OwnUnit { .. } => {
                let is = |word| step::run("systemctl", &[word, "--quiet", "mptd"]).is_ok();
                let (enabled, active) = (is("is-enabled"), is("is-active"));
                record.note(Made::Service { enabled, active })?;
                step::run("systemctl", &["daemon-reload"])?;
                step::run("systemctl", &["enable", "--quiet", "mptd"])?;
                step::run("systemctl", &["restart", "mptd"])?;
                wait(socket, until, || None).map_err(|why| {
                    Failed::File(format!("mptd does not run: {why}; see journalctl -u mptd"))
                })
            }
            Service::Background { program, log } => {
                let mut child = spawn(program, config, log)
                    .map_err(|error| Failed::File(format!("{}: {error}", program.display())))?;
                let pid = child.id();
                let started = start_time(pid).unwrap_or_default();
                record.note(Made::Process { pid, started })?;
                record.note(Made::File { path: log.clone(), begins: String::new() })?;
                wait(socket, until, || {
                    child.try_wait().ok().flatten().map(|status| status.to_string())
                })
                .map_err(|why| {
                    let said = fs::read_to_string(log).unwrap_or_default();
                    let lines: Vec<&str> = said.lines().collect();
                    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
                    Failed::File(format!("mptd does not run: {why}\n{}", last.join("\n")))
                })
            }
        }
    }
}

fn spawn(program: &Path, config: &Path, log: &Path) -> std::io::Result<Child> {
    let log = File::options().create(true).append(true).open(log)?;
    let errors = log.try_clone()?;
    Command::new(program)
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        // Its own group: what interrupts this command does not interrupt the daemon.
        .process_group(0)
        .spawn()
}

/// Waits until the daemon answers; `ended` says why it never will.
fn wait(
    socket: &Path,
    until: Instant,
    mut ended: impl FnMut() -> Option<String>,
) -> Result<Client, String> {
    loop {
        if let Some(why) = ended() {
            return Err(why);
        }
        match Local::connect(socket) {
            Ok(local) => return Ok(local.into()),
            Err(error) if Instant::now() >= until => return Err(error.to_string()),
            Err(_) => thread::sleep(LOOK),
        }
    }
}

/// The daemon beside this program, else that of the package.
fn program() -> Result<PathBuf, Failed> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("mptd"));
    let usual = ["/usr/local/sbin/mptd", "/usr/sbin/mptd"].map(PathBuf::from);
    let found = beside.into_iter().chain(usual).find(|file| file.is_file());
    found.ok_or_else(|| {
        Failed::File("mptd is not installed beside mpt nor in /usr/sbin; install it".into())
    })
}
