//! The TUN driver's node, `/dev/net/tun`, opened by this process or by a helper that has kept the right to do so.
//!
//! udev lets everybody open the node (mode 0666), since a device takes `CAP_NET_ADMIN` as well. Many containers and virtual machines have no
//! udev, and there the node belongs to root alone (mode 0600). A process that was started by root and becomes another user would lose the right.
//! So it forks a helper first, which stays root and gives up everything else:
//!
//! 1. The helper has no capabilities, opens no other file (landlock), and makes few system calls (seccomp).
//! 2. It blocks all signals, so that a signal to the whole process group does not end it.
//! 3. Each request is one byte without a meaning. The answer is an error number and, where that is 0, a descriptor (`SCM_RIGHTS`).
//! 4. It ends when the socket closes, which is when the process ends, however that happens.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recv,
    recvmsg, send, sendmsg, setsockopt, socketpair,
};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

use crate::confine::{self, Sandbox, Work};

/// The node of the TUN driver.
pub const NODE: &str = "/dev/net/tun";

/// Seconds after which a helper that does not answer is an error.
const PATIENCE: i64 = 5;

/// A way to open [`NODE`].
#[derive(Debug, Default)]
pub struct Driver {
    helper: Option<Helper>,
}

/// The end of the socket that this process has. The other end is the helper's.
#[derive(Debug)]
struct Helper {
    socket: Option<OwnedFd>,
    process: Pid,
}

impl Driver {
    /// The node is opened by this process, with the rights that it has then.
    #[must_use]
    pub fn direct() -> Self {
        Self::default()
    }

    /// Starts a helper, which opens the node with the user that this process has now. The process must have no other thread.
    ///
    /// # Errors
    ///
    /// Fails when the process has more than one thread or no `/proc`, and when the system refuses the helper or its confinement.
    pub fn with_helper() -> io::Result<Self> {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads != 1 {
            return Err(io::Error::other(format!("the process has {threads} threads already")));
        }
        let kind = SockType::SeqPacket;
        let (ours, theirs) = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)?;
        // SAFETY: there is one thread, so the child finds no lock taken and no data half changed, and may do what any process may.
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop(ours);
                std::process::exit(i32::from(serve(&theirs).is_err()));
            }
            ForkResult::Parent { child } => {
                drop(theirs);
                setsockopt(&ours, ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
                let helper = Helper { socket: Some(ours), process: child };
                helper.answer()?;
                Ok(Self { helper: Some(helper) })
            }
        }
    }

    /// True if a helper opens the node.
    #[must_use]
    pub fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// Opens the node for reading and writing, non-blocking.
    ///
    /// # Errors
    ///
    /// Those of the opening; also when the helper has been ended by somebody.
    pub fn open(&self) -> io::Result<File> {
        match &self.helper {
            None => open(),
            Some(helper) => helper.open(),
        }
    }
}

impl Helper {
    fn fd(&self) -> RawFd {
        self.socket.as_ref().expect("it is taken on drop only").as_raw_fd()
    }

    fn open(&self) -> io::Result<File> {
        send(self.fd(), &[0], MsgFlags::MSG_NOSIGNAL).map_err(|_| gone())?;
        self.answer()?.ok_or_else(gone)
    }

    /// One answer, and the descriptor that came with it.
    fn answer(&self) -> io::Result<Option<File>> {
        let mut number = [0; 4];
        let mut pieces = [IoSliceMut::new(&mut number)];
        let mut space = nix::cmsg_space!(RawFd);
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let received = recvmsg::<()>(self.fd(), &mut pieces, Some(&mut space), flags)?;
        let length = received.bytes;
        let mut file = None;
        for message in received.cmsgs()? {
            if let ControlMessageOwned::ScmRights(descriptors) = message {
                for descriptor in descriptors {
                    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
                    file = Some(unsafe { File::from_raw_fd(descriptor) });
                }
            }
        }
        if length != number.len() {
            return Err(gone());
        }
        match i32::from_ne_bytes(number) {
            0 => Ok(file),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // The helper ends with the socket. Waiting for it leaves no zombie.
        self.socket = None;
        let _ = waitpid(self.process, None);
    }
}

fn gone() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the helper process that opens it has ended; restart the daemon",
    )
}

fn open() -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    File::options().read(true).write(true).custom_flags(flags).open(NODE)
}

/// Serves as the helper until the socket closes. The first answer says that it is confined, or why it is not.
fn serve(socket: &OwnedFd) -> Result<(), Errno> {
    answer(socket, confine_helper())?;
    let mut request = [0];
    while recv(socket.as_raw_fd(), &mut request, MsgFlags::empty())? > 0 {
        answer(socket, open().map(Some))?;
    }
    Ok(())
}

fn confine_helper() -> io::Result<Option<File>> {
    SigSet::all().thread_block()?;
    prctl::set_name(c"mptd-tun")?;
    std::env::set_current_dir("/")?;
    confine::keep_nothing().map_err(io::Error::other)?;
    // After the capabilities, whose change would undo it.
    confine::hide_memory().map_err(io::Error::other)?;
    Sandbox::default().device(NODE).confine().map_err(io::Error::other)?;
    // Without seccomp this restricts nothing, and the other restrictions have to suffice.
    confine::restrict(Work::Opening).map_err(io::Error::other)?;
    Ok(None)
}

fn answer(socket: &OwnedFd, result: io::Result<Option<File>>) -> Result<(), Errno> {
    let (number, file) = match result {
        Ok(file) => (0, file),
        Err(error) => (error.raw_os_error().unwrap_or(libc::EPERM), None),
    };
    let descriptors: Vec<RawFd> = file.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let messages = if descriptors.is_empty() { &[] } else { &rights[..] };
    let number = number.to_ne_bytes();
    let pieces = [IoSlice::new(&number)];
    sendmsg::<()>(socket.as_raw_fd(), &pieces, messages, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}
