//! Everything that a confined process must not do is tried twice, by a process of its own each time: without the confinement it is possible, so
//! that it is the confinement that forbids it.
//!
//! Without the test harness, whose threads would stand in the way.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, exit};
use std::{env, fs, thread};

use mpt_linux::confine::{self, Enforced, Sandbox, Work};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::kill;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::unistd::{ForkResult, execv, fork, getppid};

/// Name of the attempt, in the processes that make one; absent in the first process.
const ATTEMPT: &str = "MPT_ATTEMPT";
/// Whether the process is confined.
const CONFINED: &str = "MPT_CONFINED";
/// A directory that the confined process may use.
const DIRECTORY: &str = "MPT_DIRECTORY";
/// A directory that it may not.
const ELSEWHERE: &str = "MPT_ELSEWHERE";
/// Address of a TCP listener.
const LISTENER: &str = "MPT_LISTENER";
/// Name of an abstract UNIX socket that listens.
const ABSTRACT: &str = "MPT_ABSTRACT";

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Refused(Errno),
    /// The kernel has ended the process (SIGSYS).
    Killed,
}
use Outcome::{Done, Killed, Refused};

/// Name, outcome without and with the confinement, and what is tried.
type Attempt = (&'static str, Outcome, Outcome, fn() -> io::Result<()>);

const ATTEMPTS: &[Attempt] = &[
    // A daemon does these.
    ("files of its own", Done, Done, || {
        let file = Path::new(&variable(DIRECTORY)).join("file");
        fs::write(&file, "text")?;
        fs::rename(&file, file.with_extension("new"))?;
        fs::read(file.with_extension("new"))?;
        fs::remove_file(file.with_extension("new"))
    }),
    ("threads", Done, Done, || {
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        Ok(())
    }),
    ("names", Done, Done, || ("localhost", 53).to_socket_addrs().map(|it| assert!(it.count() > 0))),
    ("datagrams", Done, Done, || {
        let sockets = [bound()?, bound()?];
        sockets[0].send_to(b"x", sockets[1].local_addr()?)?;
        sockets[1].recv(&mut [0; 9]).map(drop)
    }),
    ("a control socket", Done, Done, || {
        let file = Path::new(&variable(DIRECTORY)).join("socket");
        let _listener = UnixListener::bind(&file)?;
        UnixStream::connect(&file)?;
        fs::remove_file(file)
    }),
    // Nobody listens there: what counts is that the kernel tries.
    ("a name server by TCP", Refused(Errno::ECONNREFUSED), Refused(Errno::ECONNREFUSED), || {
        TcpStream::connect((Ipv4Addr::new(127, 99, 99, 99), 53)).map(drop)
    }),
    // A daemon does none of these.
    ("files of others", Done, Refused(Errno::EACCES), || {
        fs::read_dir(variable(ELSEWHERE)).map(drop)
    }),
    ("another server by TCP", Done, Refused(Errno::EACCES), || {
        TcpStream::connect(variable(LISTENER).parse::<SocketAddr>().unwrap()).map(drop)
    }),
    ("listening by TCP", Done, Refused(Errno::EACCES), || {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
    }),
    ("abstract sockets of others", Done, Refused(Errno::EPERM), || {
        UnixStream::connect_addr(&UnixAddr::from_abstract_name(variable(ABSTRACT))?).map(drop)
    }),
    ("a signal to another process", Done, Refused(Errno::ENOSYS), || Ok(kill(getppid(), None)?)),
    ("packets of the link layer", Done, Refused(Errno::ENOSYS), || {
        opened(AddressFamily::Packet, SockType::Raw, None)
    }),
    ("packets of the network layer", Done, Refused(Errno::ENOSYS), || {
        opened(AddressFamily::Inet, SockType::Raw, Some(SockProtocol::Icmp))
    }),
    ("another process", Done, Refused(Errno::ENOSYS), || {
        // SAFETY: this process has one thread.
        match unsafe { fork() }? {
            ForkResult::Child => exit(0),
            ForkResult::Parent { .. } => Ok(()),
        }
    }),
    ("another program as a child", Done, Refused(Errno::ENOSYS), || {
        Command::new("/bin/true").status().map(drop)
    }),
    ("another program", Done, Killed, || Ok(execv(c"/bin/true", &[c"true"]).map(|_| ())?)),
    ("another namespace", Done, Killed, || Ok(unshare(CloneFlags::CLONE_NEWUTS)?)),
    ("a mount", Refused(Errno::ENOENT), Killed, || Ok(nix::mount::umount("/none/of/it")?)),
    ("a root", Done, Killed, || Ok(nix::unistd::chroot("/")?)),
    ("to be traced", Done, Killed, || {
        // SAFETY: the request PTRACE_TRACEME (0) has no further argument.
        let done = unsafe { libc::syscall(libc::SYS_ptrace, 0, 0, 0, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }),
    ("to be dumped again", Done, Refused(Errno::ENOSYS), || {
        Ok(nix::sys::prctl::set_dumpable(true)?)
    }),
];

fn variable(name: &str) -> String {
    env::var(name).unwrap()
}

fn bound() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
}

fn opened(family: AddressFamily, kind: SockType, protocol: Option<SockProtocol>) -> io::Result<()> {
    Ok(socket(family, kind, SockFlag::empty(), protocol).map(drop)?)
}

/// As the daemon does it.
fn confine_me() {
    confine::keep_network_only().unwrap();
    confine::hide_memory().unwrap();
    let resolver = ["/etc", "/lib", "/lib64", "/usr/lib"];
    let mut sandbox = Sandbox::default().connect_tcp(53);
    for directory in resolver {
        sandbox = sandbox.read(directory);
    }
    let directory = variable(DIRECTORY);
    let enforced = sandbox.write(&directory).sockets(&directory).confine().unwrap();
    assert_eq!(enforced, Enforced::Fully, "this test needs Linux 6.12 with landlock");
    assert!(confine::restrict(Work::Daemon).unwrap(), "this test needs a kernel with seccomp");
    assert_eq!(getrlimit(Resource::RLIMIT_CORE).unwrap(), (0, 0));
    assert!(!nix::sys::prctl::get_dumpable().unwrap());
}

/// Makes the attempt of this name. The exit status is the number of the error, 0 without.
fn attempt(name: &str) -> ! {
    let (.., attempt) = ATTEMPTS.iter().find(|it| it.0 == name).unwrap();
    if env::var_os(CONFINED).is_some() {
        confine_me();
    }
    let error = attempt().err();
    exit(error.map_or(0, |error| error.raw_os_error().unwrap()))
}

fn main() {
    if let Ok(name) = env::var(ATTEMPT) {
        attempt(&name);
    }
    assert!(
        nix::unistd::geteuid().is_root(),
        "this test gives up the rights of root: run it as root"
    );
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let name = format!("mpt-confined-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&UnixAddr::from_abstract_name(&name).unwrap()).unwrap();
    for (attempt, without, with, _) in ATTEMPTS {
        for (expected, confined) in [(without, false), (with, true)] {
            let mut command = Command::new(env::current_exe().unwrap());
            command.env(ATTEMPT, attempt).env(DIRECTORY, directory.path());
            command.env(ELSEWHERE, elsewhere.path()).env(ABSTRACT, &name);
            command.env(LISTENER, listener.local_addr().unwrap().to_string());
            if confined {
                command.env(CONFINED, "1");
            }
            let output = command.output().unwrap();
            let status = output.status;
            let outcome = match (status.code(), status.signal()) {
                (Some(0), _) => Done,
                (Some(error), _) => Refused(Errno::from_raw(error)),
                (_, Some(libc::SIGSYS)) => Killed,
                _ => panic!("{attempt}: {status}"),
            };
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(outcome, *expected, "{attempt}, confined: {confined}; {said}");
        }
    }
}
