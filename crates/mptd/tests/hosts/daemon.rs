//! Real mptd processes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{
    Connection, EventKind, Failure, PathChange, PathState, Reply, Request, Response, ResponseBody,
    Snapshot,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, chown};
use tempfile::TempDir;

use super::{Config, Host, PATIENCE, wait_for};

/// The counters that have counted something.
pub(crate) fn counted(counters: &mpt_api::Counters) -> mpt_api::Counters {
    let counted = counters.iter().filter(|&(_, &count)| count > 0);
    counted.map(|(name, &count)| (name.clone(), count)).collect()
}

/// One mptd process, killed when this is dropped.
pub(crate) struct Daemon {
    process: Child,
    /// Configuration, control socket and log.
    directory: TempDir,
    label: String,
}

impl Daemon {
    /// Starts it and does not wait for anything.
    pub(crate) fn start(host: &Host, config: &Config) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(file(&directory), config.text(&socket(&directory))).unwrap();
        let process = spawn(host, &directory);
        Self { process, directory, label: host.namespace.name().to_owned() }
    }

    /// Starts it with a file of its own in the place of the host's `/etc/hosts`. What is written into the file is seen at once.
    pub(crate) fn start_with_names(host: &Host, config: &Config, names: &Path) -> Self {
        let account = User::from_name("root").unwrap().unwrap();
        let script = r#"mount --bind "$1" /etc/hosts && shift && exec "$@""#;
        Self::start_in_script(host, config, &account, script, &[names.as_os_str()])
    }

    /// Starts it like [`Self::start_with_names`], with everything that belongs to it given to a user of the system, and with a node of the TUN driver
    /// that is root's and has this mode.
    pub(crate) fn start_with_names_as(
        host: &Host,
        config: &Config,
        names: &Path,
        user: &User,
        node: u32,
    ) -> Self {
        // The file system of temporary files may have no devices; one that is mounted here is gone with the daemon.
        let script = r#"
            mount --bind "$1" /etc/hosts
            mount -t tmpfs tmpfs /mnt
            mknod /mnt/tun c 10 200
            chmod "$2" /mnt/tun
            mount --bind /mnt/tun /dev/net/tun
            shift 2
            exec "$@""#;
        let node = OsString::from(format!("{node:o}"));
        Self::start_in_script(host, config, user, script, &[names.as_os_str(), &node])
    }

    /// Starts it as a service manager does: as this user from the beginning, with `CAP_NET_ADMIN` alone, and with a node of the TUN driver that
    /// everybody may open.
    pub(crate) fn start_as(host: &Host, config: &Config, user: &User) -> Self {
        // Nobody else may look into root's directories.
        let script = r#"
            mount -t tmpfs tmpfs /mnt
            mknod /mnt/tun c 10 200
            chmod 0666 /mnt/tun
            mount --bind /mnt/tun /dev/net/tun
            cp "$2" /mnt/mptd
            user=$1
            shift 2
            exec setpriv --reuid="$user" --regid="$user" --clear-groups --inh-caps=-all,+net_admin \
                --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin /mnt/mptd "$@""#;
        let number = OsString::from(user.uid.to_string());
        Self::start_in_script(host, config, user, script, &[&number])
    }

    /// Starts it with files of its own in the place of some of the host's: `(ours, "/etc/resolv.conf")`. Where one of them is below /run, nothing
    /// else is there.
    pub(crate) fn start_with_files(host: &Host, config: &Config, files: &[(&Path, &str)]) -> Self {
        let account = User::from_name("root").unwrap().unwrap();
        let script = r#"
            case "$*" in *" /run/"*) mount -t tmpfs tmpfs /run ;; esac
            while [ "$1" != -- ]; do
                mkdir -p "$(dirname "$2")"
                [ -e "$2" ] || : >"$2"
                mount --bind "$1" "$2"
                shift 2
            done
            shift
            exec "$@""#;
        let mut arguments: Vec<&OsStr> = Vec::new();
        for (ours, theirs) in files {
            arguments.extend([ours.as_os_str(), OsStr::new(theirs)]);
        }
        arguments.push(OsStr::new("--"));
        Self::start_in_script(host, config, &account, script, &arguments)
    }

    /// Starts it by a script in a mount namespace of its own, whose first arguments are these; the others are the command to run.
    fn start_in_script(
        host: &Host,
        config: &Config,
        user: &User,
        script: &str,
        arguments: &[&OsStr],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(file(&directory), config.text(&socket(&directory))).unwrap();
        for path in [directory.path(), &file(&directory)] {
            chown(path, Some(user.uid), Some(user.gid)).unwrap();
        }
        let mut command = host.namespace.command("unshare").unwrap();
        command.args(["--mount", "sh", "-e", "-c", script, "sh"]).args(arguments);
        command.arg(env!("CARGO_BIN_EXE_mptd"));
        let process = run(command, &directory);
        Self { process, directory, label: host.namespace.name().to_owned() }
    }

    /// Starts it as systemd does: its standard error is said to be the journal, whose socket is the one called `socket` in this
    /// directory.
    pub(crate) fn start_with_journal(host: &Host, config: &Config, journal: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(file(&directory), config.text(&socket(&directory))).unwrap();
        let mut command = host.namespace.command("unshare").unwrap();
        let script = r#"mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal &&
            mount --bind "$1" /run/systemd/journal && shift &&
            JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$@""#;
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(journal);
        command.arg(env!("CARGO_BIN_EXE_mptd"));
        let process = run(command, &directory);
        Self { process, directory, label: host.namespace.name().to_owned() }
    }

    /// Starts it once more after it has ended, with its configuration file as it stands.
    pub(crate) fn start_again(&mut self, host: &Host) {
        assert!(self.process.try_wait().unwrap().is_some(), "mptd runs still");
        self.process = spawn(host, &self.directory);
    }

    /// Runs one that has to end by itself, and gives back its exit status and output.
    pub(crate) fn run_to_end(host: &Host, config: &Config) -> Output {
        let mut daemon = Self::start(host, config);
        let status = daemon.wait_until_ended();
        Output { status, stdout: Vec::new(), stderr: daemon.log().into_bytes() }
    }

    /// Waits until it answers.
    pub(crate) fn wait_until_answering(&self) {
        let socket = socket(&self.directory);
        wait_for("mptd answers", || UnixStream::connect(&socket).ok());
    }

    /// Waits until it answers, every path that is not down by the administrator's wish is up, and packets to its inner
    /// addresses are taken by the kernel.
    pub(crate) fn wait_until_up(&mut self) {
        let socket = socket(&self.directory);
        wait_for("mptd's paths are up", || {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("mptd ended at once: {status}");
            }
            // It listens before it answers: only a connection that is refused means "not yet".
            UnixStream::connect(&socket).ok()?;
            let connections = self.show().connections;
            let up = connections.iter().flat_map(|it| &it.paths).all(|path| {
                path.state == PathState::Up
                    || path.down == Some(mpt_api::DownReason::Administrative)
            });
            (!connections.is_empty() && up).then_some(())
        });
        wait_for("the kernel knows its IPv6 addresses as local", || {
            // It makes their routes in a work queue of its own, some milliseconds after the addresses.
            let routes = Command::new("ip")
                .args(["-n", &self.label, "-6", "route", "show", "table", "local"])
                .output()
                .unwrap();
            let routes = String::from_utf8(routes.stdout).unwrap();
            let devices = self.show().devices;
            let mut addresses = devices.iter().flat_map(|device| &device.addresses);
            addresses
                .all(|net| {
                    net.addr().is_ipv4() || routes.contains(&format!("local {} ", net.addr()))
                })
                .then_some(())
        });
    }

    /// Everything as it stands now.
    pub(crate) fn show(&self) -> Snapshot {
        match self.request(mpt_api::Command::Show) {
            Ok(Reply::Snapshot(snapshot)) => *snapshot,
            other => panic!("{other:?}"),
        }
    }

    /// One connection as it stands now.
    pub(crate) fn connection(&self, name: &str) -> Connection {
        let connections = self.show().connections;
        let connection = connections.into_iter().find(|it| it.name == name);
        connection.unwrap_or_else(|| panic!("there is no connection {name}"))
    }

    /// One path as it stands now.
    pub(crate) fn path(&self, connection: &str, name: &str) -> mpt_api::Path {
        let paths = self.connection(connection).paths;
        let path = paths.into_iter().find(|it| it.name == name);
        path.unwrap_or_else(|| panic!("there is no path {name} in {connection}"))
    }

    /// Packets sent on each path of a connection, in the order of the file.
    pub(crate) fn packets_sent(&self, connection: &str) -> Vec<u64> {
        self.connection(connection).paths.iter().map(|path| path.sent.packets).collect()
    }

    /// A counter of a connection. It has to be there, also while it is 0.
    pub(crate) fn drops(&self, connection: &str, counter: &str) -> u64 {
        self.connection(connection).drops[counter]
    }

    /// A counter of remarkable packets that a connection carried.
    pub(crate) fn remarks(&self, connection: &str, counter: &str) -> u64 {
        self.connection(connection).remarks[counter]
    }

    /// A counter of packets dropped before they were assigned to a connection.
    pub(crate) fn daemon_drops(&self, counter: &str) -> u64 {
        self.show().daemon.drops[counter]
    }

    /// Changes a path at run time.
    pub(crate) fn set_path(&self, connection: &str, path: &str, change: PathChange) {
        let (connection, path) = (connection.to_owned(), path.to_owned());
        let answer = self.request(mpt_api::Command::SetPath { connection, path, change });
        assert_eq!(answer, Ok(Reply::Done));
    }

    /// Asks on the control socket.
    pub(crate) fn request(&self, command: mpt_api::Command) -> Result<Reply, Failure> {
        let line = self.ask(command, PATIENCE).expect("mptd answers");
        let response: Response = serde_json::from_slice(&line).unwrap();
        match response.body {
            ResponseBody::Result(reply) => Ok(reply),
            ResponseBody::Error(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    /// Events from now on, each waited for.
    pub(crate) fn monitor(&self) -> impl Iterator<Item = EventKind> + use<> {
        self.monitor_with_times().map(|(_, event)| event)
    }

    /// Returns the events of [`Self::monitor`] with their times in milliseconds.
    pub(crate) fn monitor_with_times(&self) -> impl Iterator<Item = (u64, EventKind)> + use<> {
        let mut stream = UnixStream::connect(socket(&self.directory)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = Request::new(mpt_api::Command::Monitor);
        stream.write_all(mpt_api::to_line(&request).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut next = move || {
            let line = mpt_api::read_line(&mut reader, mpt_api::MAX_RESPONSE);
            let line = line.expect("an event in time").expect("mptd goes on");
            serde_json::from_slice::<Response>(&line).unwrap().body
        };
        assert_eq!(next(), ResponseBody::Result(Reply::Monitoring));
        std::iter::from_fn(move || match next() {
            ResponseBody::Event(event) => Some((event.time_ms, event.kind)),
            other => panic!("{other:?}"),
        })
    }

    /// The line it answers.
    fn ask(&self, command: mpt_api::Command, patience: Duration) -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(socket(&self.directory))?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(mpt_api::to_line(&Request::new(command)).as_bytes())?;
        let line = mpt_api::read_line(&mut BufReader::new(stream), mpt_api::MAX_RESPONSE)?;
        line.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Puts another configuration in the place of its file. It takes effect with [`mpt_api::Command::Reload`] or SIGHUP.
    pub(crate) fn write_config(&self, config: &Config) {
        self.write_file(&config.text(&socket(&self.directory)));
    }

    /// Writes a configuration like [`Self::write_config`], and has it read. Returns the changes that the reload reports.
    pub(crate) fn reload(&self, config: &Config) -> mpt_api::Reloaded {
        self.write_config(config);
        match self.request(mpt_api::Command::Reload) {
            Ok(Reply::Reloaded(reloaded)) => reloaded,
            other => panic!("{other:?}"),
        }
    }

    /// Puts any text in the place of its file.
    pub(crate) fn write_file(&self, text: &str) {
        fs::write(file(&self.directory), text).unwrap();
    }

    /// Its configuration file.
    pub(crate) fn config_file(&self) -> PathBuf {
        file(&self.directory)
    }

    /// Puts a file where the daemon may read it, beside its configuration. Returns its name for the configuration.
    pub(crate) fn adopt_file(&self, file: &str) -> String {
        let to = self.directory.path().join("adopted");
        fs::copy(file, &to).unwrap();
        to.to_str().unwrap().to_owned()
    }

    /// Returns the path of its control socket.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(&self.directory)
    }

    /// Returns its log so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Returns the lines of its log that have all of these words.
    pub(crate) fn lines(&self, words: &[&str]) -> Vec<String> {
        let log = self.log();
        let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
        log.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Ends it, and returns how many lines about `subject` its last summary says were left out of the log.
    pub(crate) fn left_out(&mut self, subject: &str) -> usize {
        self.signal(Signal::SIGTERM);
        self.wait_until_ended();
        let [summary] = &self.lines(&[subject, "left out"])[..] else {
            panic!("how many lines about {subject} were left out is said: {}", self.log());
        };
        let (before, _) = summary.split_once(" lines left out").expect("lines are left out");
        before.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    /// Ends it by SIGKILL: it has no time to do anything.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.wait_until_ended();
    }

    /// Ends it by SIGTERM; it has to end in order.
    pub(crate) fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        let status = self.wait_until_ended();
        assert!(status.success(), "mptd ended with {status}");
    }

    /// Waits until it has ended by itself or by a signal.
    pub(crate) fn wait_until_ended(&mut self) -> ExitStatus {
        wait_for("mptd ends", || self.process.try_wait().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Nothing here may panic once more.
        let last =
            thread::panicking().then(|| self.ask(mpt_api::Command::Show, Duration::from_secs(1)));
        if matches!(self.process.try_wait(), Ok(None)) {
            // In order, so that nothing of it is left behind in a namespace that lives on.
            let _ = kill(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGTERM);
            let start = Instant::now();
            while matches!(self.process.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            let last = last.and_then(Result::ok).unwrap_or_default();
            let last = String::from_utf8_lossy(&last);
            eprintln!("--- mptd on {}:\n{}{last}\n---", self.label, self.log());
        }
    }
}

fn spawn(host: &Host, directory: &TempDir) -> Child {
    run(host.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap(), directory)
}

/// Runs `command`, which is mptd but for its arguments.
fn run(mut command: Command, directory: &TempDir) -> Child {
    let mut log = File::options();
    let log = log.create(true).append(true).open(directory.path().join("log")).unwrap();
    command.arg("--config").arg(file(directory));
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap()
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("mpt.toml")
}

fn socket(directory: &TempDir) -> PathBuf {
    let path: &Path = directory.path();
    path.join("mptd.sock")
}
