//! Network namespaces: hosts of the laboratory, and what tests run in.
//!
//! A [`Namespace`] is a file descriptor that keeps the namespace alive. If `/run/netns` may be
//! written, it is also bind mounted there under its name, so that `ip netns exec NAME` and other
//! tools see it. Everything here is synchronous, and nothing changes the namespace of the calling
//! thread: `setns(2)` affects one thread only, so work is done on a thread (or in a child process)
//! of its own.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{panic, thread};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use thiserror::Error;

/// The directory in which named namespaces are bind mounted, as `ip-netns(8)` expects.
const DIRECTORY: &str = "/run/netns";

/// The network namespace of the thread that opens it.
const OWN: &str = "/proc/thread-self/ns/net";

/// Why a namespace could not be made, entered or used.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// The name cannot be a file name.
    #[error("\"{0}\" is no namespace name: not empty, no '/', not '.' or '..'")]
    Name(String),
    /// A namespace of this name exists already; it is never joined.
    #[error("namespace {0} exists already; remove it (ip netns del {0}) or choose another name")]
    Exists(String),
    /// The system refused.
    #[error("{attempt}: {source}")]
    Refused {
        /// The operation that failed.
        attempt: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The system does not let this user have a user namespace.
    #[error("{attempt}: {source}; {hint}")]
    NoUserNamespace {
        /// The operation that failed.
        attempt: &'static str,
        /// The system's answer.
        #[source]
        source: io::Error,
        /// The reason why it is forbidden, with the remedy.
        hint: &'static str,
    },
    /// `unshare(CLONE_NEWUSER)` needs a process of one thread.
    #[error(
        "enter a user namespace: this process has {0} threads; it has to be done before any is started"
    )]
    Threads(usize),
    /// A program failed.
    #[error("{program} {arguments}: {output}")]
    Program {
        /// Its name.
        program: &'static str,
        /// Its arguments.
        arguments: String,
        /// Exit status and what it said.
        output: String,
    },
}

/// A network namespace, removed when dropped (the kernel keeps it until the last process in it has
/// ended).
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: File,
    mount: Option<PathBuf>,
}

impl Namespace {
    /// Makes a network namespace. It is bind mounted at `/run/netns/NAME`, except where that
    /// directory may not be written (a user without privileges in a user namespace): then it lives
    /// by its file descriptor alone, and only [`Self::path`] leads to it. The loopback interface is
    /// down, as always in a new one.
    pub fn create(name: &str) -> Result<Self, NamespaceError> {
        if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
            return Err(NamespaceError::Name(name.to_owned()));
        }
        let mut namespace =
            Self { name: name.to_owned(), file: unshare_network(name)?, mount: None };
        namespace.bind_mount()?;
        Ok(namespace)
    }

    /// A namespace that exists, by its path ([`Self::path`]). Dropping what this gives removes nothing.
    pub fn open(path: &Path) -> Result<Self, NamespaceError> {
        let attempt = || format!("open network namespace {}", path.display());
        let file = File::open(path).map_err(|error| refused(attempt())(error))?;
        Ok(Self { name: path.display().to_string(), file, mount: None })
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Self, NamespaceError> {
        let file = File::open(OWN).map_err(refused("open the current network namespace"))?;
        Ok(Self { name: "current".to_owned(), file, mount: None })
    }

    /// True if the calling thread is in it; `false` where the system does not tell.
    pub fn is_current(&self) -> bool {
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (self.file.metadata(), fs::metadata(OWN)) {
            (Ok(this), Ok(own)) => identity(this) == identity(own),
            _ => false,
        }
    }

    /// Name given at creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if `ip netns exec NAME` finds it.
    pub fn is_mounted(&self) -> bool {
        self.mount.is_some()
    }

    /// A path any program may open while this value lives, e.g. `nsenter --net=PATH`.
    pub fn path(&self) -> PathBuf {
        match &self.mount {
            Some(path) => path.clone(),
            None => format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into(),
        }
    }

    /// Lets `command` run in this namespace: it is entered between fork and exec. (Tokio's
    /// `Command` gives access by `as_std_mut`.)
    pub fn enter<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command, NamespaceError> {
        let file =
            self.file.try_clone().map_err(refused(format!("use namespace {}", self.name)))?;
        let hook = move || setns(&file, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        // SAFETY: between fork and exec the hook makes one system call and allocates nothing, which
        // async-signal-safety allows.
        Ok(unsafe { command.pre_exec(hook) })
    }

    /// A command that will run `program` in this namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, NamespaceError> {
        let mut command = Command::new(program);
        self.enter(&mut command)?;
        Ok(command)
    }

    /// Gives the namespace its name in the file system, where that is allowed.
    fn bind_mount(&mut self) -> Result<(), NamespaceError> {
        let path = Path::new(DIRECTORY).join(&self.name);
        match self.try_bind_mount(&path) {
            Ok(()) => self.mount = Some(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(NamespaceError::Exists(self.name.clone()));
            }
            Err(error) if forbidden(&error) && !is_root_of_the_host() => {}
            Err(error) => {
                return Err(refused(format!("mount the namespace at {}", path.display()))(error));
            }
        }
        Ok(())
    }

    fn try_bind_mount(&self, path: &Path) -> io::Result<()> {
        // iproute2 takes the same lock: two processes preparing the directory at once would mount
        // it on itself twice.
        let _lock = prepare_directory()?;
        OpenOptions::new().write(true).create_new(true).mode(0o400).open(path)?;
        let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let mounted =
            mount(Some(source.as_str()), path, None::<&str>, MsFlags::MS_BIND, None::<&str>);
        if mounted.is_err() {
            let _ = fs::remove_file(path);
        }
        Ok(mounted?)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let Some(path) = &self.mount else { return };
        // Detached, because somebody may be looking; the namespace itself ends with its last user.
        let unmounted = umount2(path, MntFlags::MNT_DETACH).map_err(io::Error::from);
        if let Err(error) = unmounted.and_then(|()| fs::remove_file(path)) {
            tracing::warn!(namespace = self.name, %error, "namespace not removed");
        }
    }
}

/// Runs `work` in `namespace` on a thread of its own, and gives back what it returned. Sockets and
/// TUN devices that `work` opens there stay in that namespace wherever they are used later. A panic
/// of `work` goes on in the caller.
pub fn run_in<R: Send>(
    namespace: &Namespace,
    work: impl FnOnce() -> R + Send,
) -> Result<R, NamespaceError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name(format!("netns {}", namespace.name))
            .spawn_scoped(scope, || {
                setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|error| {
                    refused(format!("enter namespace {}", namespace.name))(error.into())
                })?;
                Ok(work())
            })
            .map_err(refused("start a thread"))?;
        thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
    })
}

/// The result of [`become_root`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Root already; nothing was changed.
    Root,
    /// Root of a user namespace of our own: everything may be done to network namespaces made from
    /// now on, nothing to the host.
    UserNamespace,
}

/// Makes an ordinary user root of a new user, mount and network namespace that the *whole process*
/// moves to; root stays as it is. Afterwards namespaces, veth pairs and (where `/dev/net/tun` may
/// be opened) TUN devices can be made. User and group keep their identity outside; nobody else is
/// mapped.
///
/// Must be called before any thread exists. Fails with [`NamespaceError::NoUserNamespace`], which
/// says what to do, where the system forbids it.
pub fn become_root() -> Result<Privilege, NamespaceError> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(Privilege::Root);
    }
    let threads = fs::read_dir("/proc/self/task").map_err(refused("read /proc/self/task"))?.count();
    if threads != 1 {
        return Err(NamespaceError::Threads(threads));
    }
    unshare(CloneFlags::CLONE_NEWUSER).map_err(no_user_namespace("enter a user namespace"))?;
    // user_namespaces(7): without privileges outside, the group may be mapped only once
    // setgroups(2) is given up.
    for (file, map) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, map).map_err(|error| {
            no_user_namespace("map this user to root in a user namespace")(errno(&error))
        })?;
    }
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
        .map_err(no_user_namespace("enter a mount and network namespace"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)
        .map_err(no_user_namespace("keep our mounts to ourselves"))?;
    // Gives named namespaces back inside this process and its children, where the directory exists.
    // Without it they live by descriptor.
    if Path::new(DIRECTORY).is_dir() {
        let mounted =
            mount(Some("mpt"), DIRECTORY, Some("tmpfs"), MsFlags::empty(), Some("mode=0755"));
        if let Err(error) = mounted {
            tracing::debug!(%error, "no tmpfs on {DIRECTORY}: namespaces have no names");
        }
    }
    Ok(Privilege::UserNamespace)
}

/// Runs `tc` (from iproute2) in `namespace`, e.g. `["qdisc", "add", "dev", "a0", "root", "tbf",
/// ...]`.
///
/// For the laboratory only: the daemon runs no programs, but the netlink crates do not know the
/// token bucket filter.
pub fn tc(namespace: &Namespace, arguments: &[&str]) -> Result<(), NamespaceError> {
    let failed = |output: String| NamespaceError::Program {
        program: "tc",
        arguments: arguments.join(" "),
        output,
    };
    let output = namespace
        .command("tc")?
        .args(arguments)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())))
}

/// A new network namespace, made on a thread that ends at once; the file keeps it.
fn unshare_network(name: &str) -> Result<File, NamespaceError> {
    let work = || {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open(OWN)
    };
    let thread = thread::Builder::new().name("unshare".to_owned()).spawn(work);
    let file =
        thread.and_then(|thread| thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)));
    file.map_err(refused(format!("create network namespace {name}")))
}

/// Makes `/run/netns` a shared mount, as `ip netns add` does: a namespace mounted or removed later
/// is then seen in every mount namespace that inherits it.
fn prepare_directory() -> io::Result<Flock<File>> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(DIRECTORY)?;
    let lock =
        Flock::lock(File::open(DIRECTORY)?, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
    let share = || {
        mount(
            None::<&str>,
            DIRECTORY,
            None::<&str>,
            MsFlags::MS_SHARED | MsFlags::MS_REC,
            None::<&str>,
        )
    };
    match share() {
        // Not a mount point yet.
        Err(Errno::EINVAL) => {
            mount(
                Some(DIRECTORY),
                DIRECTORY,
                None::<&str>,
                MsFlags::MS_BIND | MsFlags::MS_REC,
                None::<&str>,
            )?;
            share()?;
        }
        other => other?,
    }
    Ok(lock)
}

fn forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// True if user 0 here is user 0 of the host, which has no excuse for an unwritable `/run/netns`.
fn is_root_of_the_host() -> bool {
    geteuid().is_root()
        && fs::read_to_string("/proc/self/uid_map")
            .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

fn refused(attempt: impl Into<String>) -> impl FnOnce(io::Error) -> NamespaceError {
    let attempt = attempt.into();
    move |source| NamespaceError::Refused { attempt, source }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

fn no_user_namespace(attempt: &'static str) -> impl FnOnce(Errno) -> NamespaceError {
    let setting = |name: &str| fs::read_to_string(Path::new("/proc/sys").join(name)).ok();
    let is = |name: &str, value: &str| setting(name).is_some_and(|text| text.trim() == value);
    let hint = if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor forbids user namespaces to ordinary users: run as root, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "the kernel forbids user namespaces to ordinary users: run as root, or sysctl kernel.unprivileged_userns_clone=1"
    } else if is("user/max_user_namespaces", "0") {
        "user namespaces are switched off: run as root, or raise sysctl user.max_user_namespaces"
    } else {
        "user namespaces are not available here (a container's seccomp filter, or the kernel): run as root"
    };
    move |error| NamespaceError::NoUserNamespace { attempt, source: error.into(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_to_be_a_file_name() {
        for name in ["", ".", "..", "a/b", "a\0b"] {
            assert!(matches!(Namespace::create(name), Err(NamespaceError::Name(_))), "{name:?}");
        }
    }

    #[test]
    fn a_process_with_threads_is_told_so() {
        // The test harness runs this on a thread of its own, so only root (for whom nothing is to
        // be done) gets past the check.
        match become_root() {
            Ok(privilege) => assert_eq!(privilege, Privilege::Root),
            Err(error) => assert!(matches!(error, NamespaceError::Threads(2..)), "{error}"),
        }
    }
}
