//! The rights of the daemon: those of the user that the configuration names, one capability, and the files, ports and system calls that it needs.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use mpt_config::{Config, DEFAULT_STATE_DIRECTORY, USUAL_USER};
use mpt_linux::confine::{self, Enforced, Sandbox, User, Work};
use mpt_linux::tun::{self, Driver};

use crate::service;

/// The directories in which the resolver of names (glibc's or musl's) finds what it needs. A file there is exchanged for another by DHCP clients, which a rule for
/// the file alone would not survive; `/etc/resolv.conf` is often a link into one of the others. Libraries are those of its modules (nsswitch.conf(5)).
const RESOLVER: [&str; 7] = [
    "/etc",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/lib",
    "/lib64",
    "/usr/lib",
];

/// Port of name servers.
const DNS: u16 = 53;

/// The part of the file that decides about the user. It is read before everything else, which is read as that user.
struct Choice {
    user: Option<String>,
    control_socket: PathBuf,
    /// The directory of what outlasts the daemon, if there is a path with a cap.
    state_directory: Option<PathBuf>,
}

/// The user that the daemon has become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The daemon is this user, instead of root.
    Switched(String),
    /// The daemon is root, because the configuration says so.
    Root,
    /// Root, because there is no user `mpt`, or the directory of the configuration does not belong to it.
    StillRoot,
    /// The daemon is another user than root, as which it was started.
    Other,
}

impl Identity {
    /// Logs the user, and what it means.
    pub fn log(&self) {
        match self {
            Identity::Switched(user) => tracing::info!(user, "runs as this user"),
            Identity::StillRoot => tracing::info!(
                "runs as root with CAP_NET_ADMIN alone: there is no user {USUAL_USER} to whom the directory of the configuration belongs"
            ),
            Identity::Root | Identity::Other => {}
        }
    }
}

/// The purpose of a start, which decides whether directories may be made and changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The daemon is about to run: the directory of its control socket is made.
    Run,
    /// The configuration is to be checked as the daemon would see it: nothing is changed.
    Check,
}

/// Becomes the user of the daemon, if this is root, and gives up all capabilities but the one that is needed. There must be no other thread yet.
/// Gives the identity, and the way to open the TUN driver from now on, by a helper where the user must not.
///
/// A file that cannot be read, or has errors, names no user: whoever reads it next tells what is wrong.
///
/// # Errors
///
/// Fails when there is no such user, or the system refuses.
pub fn drop(file: &Path, purpose: Purpose) -> Result<(Identity, Driver), confine::Error> {
    let choice = choice(&std::fs::read_to_string(file).unwrap_or_default());
    let mut driver = Driver::direct();
    let identity = match user(&choice, file)? {
        Ok(user) => {
            if purpose == Purpose::Run
                && let Some(directory) = parent(&choice.control_socket)
            {
                // The usual one is ours, whoever ran before.
                let usual = choice.control_socket == Path::new(mpt_api::DEFAULT_SOCKET);
                user.make_directory(directory, usual)?;
            }
            if purpose == Purpose::Run
                && let Some(directory) = &choice.state_directory
            {
                let usual = directory == Path::new(DEFAULT_STATE_DIRECTORY);
                // A daemon that cannot keep its counts says so, and runs.
                let _ = user.make_directory(directory, usual);
            }
            let helper = (purpose == Purpose::Run).then(Driver::with_helper);
            user.become_it()?;
            // If the user may open the driver itself, as on most machines, the helper is not kept.
            if let (Some(helper), Err(_)) = (helper, driver.open()) {
                driver = helper.map_err(confine::Error::Helper)?;
            }
            Identity::Switched(user.name().to_owned())
        }
        Err(identity) => identity,
    };
    confine::keep_network_only()?;
    confine::hide_memory()?;
    Ok((identity, driver))
}

/// The part of [`confine()`] that the kernel enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confined {
    /// Landlock's rules for files, TCP and signals.
    pub reach: Enforced,
    /// True if seccomp restricts the system calls.
    pub system_calls: bool,
}

impl Confined {
    /// Logs which restrictions are not enforced.
    pub fn log(self) {
        match self.reach {
            Enforced::Fully => {}
            Enforced::Partly => tracing::info!(
                "landlock of this kernel is older than Linux 6.12: some rights to files, TCP or signals remain"
            ),
            Enforced::Not => {
                tracing::info!("no landlock in this kernel: files and TCP are not confined");
            }
        }
        if !self.system_calls {
            tracing::info!(
                "no seccomp for this kernel and architecture ({}): system calls are not confined",
                std::env::consts::ARCH
            );
        }
    }
}

/// Gives up everything but what this configuration needs: its directory and those of the key files `keys`, the control socket, the
/// TUN driver, settings of the network, what the resolver reads, name servers. Only system calls that a daemon needs can be made. There must be no
/// other thread yet.
///
/// # Errors
///
/// Fails when the kernel refuses.
pub fn confine(file: &Path, config: &Config, keys: &[PathBuf]) -> Result<Confined, confine::Error> {
    let mut sandbox = Sandbox::default().device(tun::NODE).read("/proc/sys/net");
    for directory in RESOLVER {
        sandbox = sandbox.read(directory);
    }
    // `connection save` writes where a link leads.
    for file in [file.to_owned()].into_iter().chain(std::fs::canonicalize(file)) {
        // A name without a directory is in the present one.
        sandbox = sandbox.write(parent(&file).unwrap_or(Path::new(".")));
    }
    // A key is best exchanged by renaming a new file. The key of this end may be needed after a reload only.
    for key in keys.iter().chain([&config.daemon.private_key_file]) {
        sandbox = sandbox.read(parent(key).unwrap_or(Path::new("/")));
    }
    let state = &config.daemon.state_directory;
    let has_cap = |it: &mpt_config::Connection| it.paths.iter().any(|path| path.cap.is_some());
    if config.connections.iter().any(has_cap) {
        let _ = std::fs::DirBuilder::new().mode(0o700).create(state);
    }
    // Caps may come with a reload.
    sandbox = sandbox.write(state);
    let directory = parent(&config.daemon.control_socket).unwrap_or(Path::new("/"));
    // A directory that does not exist cannot be allowed. If it cannot be made, the control server reports the error when it listens there.
    let _ = std::fs::DirBuilder::new().mode(0o755).create(directory);
    // An answer too long for a datagram is asked for again by TCP.
    sandbox = sandbox.sockets(directory).connect_tcp(DNS);
    if service::is_abstract() {
        sandbox = sandbox.reach_abstract_sockets();
    }
    let reach = sandbox.confine()?;
    // Last: it takes away the system calls that confine.
    Ok(Confined { reach, system_calls: confine::restrict(Work::Daemon)? })
}

/// The user to become, or why none.
fn user(choice: &Choice, file: &Path) -> Result<Result<User, Identity>, confine::Error> {
    if !confine::is_root() {
        return Ok(Err(Identity::Other));
    }
    match choice.user.as_deref() {
        Some("root") => Ok(Err(Identity::Root)),
        Some(name) => match User::find(name)? {
            Some(user) => Ok(Ok(user)),
            None => Err(confine::Error::NoUser(name.to_owned())),
        },
        None => {
            let directory = std::fs::canonicalize(file).ok();
            let directory = directory.as_deref().and_then(parent);
            // A list of users that cannot be read names none.
            let user = User::find(USUAL_USER).ok().flatten();
            let user = user.filter(|user| directory.is_some_and(|directory| user.owns(directory)));
            Ok(user.ok_or(Identity::StillRoot))
        }
    }
}

fn choice(text: &str) -> Choice {
    let table: toml::Table = text.parse().unwrap_or_default();
    let string = |key: &str| table.get("daemon")?.get(key)?.as_str().map(str::to_owned);
    let control_socket = string("control_socket").unwrap_or(mpt_api::DEFAULT_SOCKET.to_owned());
    let state_directory = string("state_directory").unwrap_or(DEFAULT_STATE_DIRECTORY.to_owned());
    let state_directory = has_cap(&table).then(|| state_directory.into());
    Choice { user: string("user"), control_socket: control_socket.into(), state_directory }
}

/// True if a path has a cap.
fn has_cap(file: &toml::Table) -> bool {
    let tables = |table: &toml::Table, name: &str| {
        table.get(name).and_then(toml::Value::as_array).cloned().unwrap_or_default()
    };
    let connections = tables(file, "connection").into_iter();
    let mut paths =
        connections.flat_map(|it| it.as_table().map(|it| tables(it, "path")).unwrap_or_default());
    paths.any(|path| path.get("cap").is_some())
}

fn parent(path: &Path) -> Option<&Path> {
    path.parent().filter(|parent| !parent.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_about_the_user_is_read_from_any_text() {
        for (text, user, socket) in [
            ("", None, mpt_api::DEFAULT_SOCKET),
            ("daemon.user = \"x\"", Some("x"), mpt_api::DEFAULT_SOCKET),
            ("[daemon]\nuser = 3\ncontrol_socket = \"/a/b\"", None, "/a/b"),
            ("[daemon]\nuser = \"x\"\n[", None, mpt_api::DEFAULT_SOCKET),
            ("daemon = 3", None, mpt_api::DEFAULT_SOCKET),
        ] {
            let choice = choice(text);
            assert_eq!(
                (choice.user.as_deref(), choice.control_socket.as_path()),
                (user, Path::new(socket)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_name_without_a_directory_has_no_parent() {
        assert_eq!(parent(Path::new("mpt.toml")), None);
        assert_eq!(parent(Path::new("/mpt.toml")), Some(Path::new("/")));
    }
}
