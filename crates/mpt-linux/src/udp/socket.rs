//! One bound, non-blocking UDP socket with everything the tunnel needs switched on.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

/// The address and options of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketConfig {
    /// Local address and port; port 0 lets the kernel choose.
    pub local: SocketAddr,
    /// Bind to this interface as well (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
    /// Mark of everything it sends (`SO_MARK`), for policy rules to see. Takes CAP_NET_ADMIN.
    pub mark: Option<u32>,
    /// Outer UDP checksum. Only IPv4 may go without (RFC 8086 section 6.2 asks far more of IPv6).
    pub checksum: bool,
    /// Bytes of the kernel's receive buffer.
    pub receive_buffer: usize,
    /// Bytes of the kernel's send buffer: what may wait in the kernel before the path counts as full.
    pub send_buffer: usize,
}

/// A bound socket. Methods take `&self`: it is a file descriptor and one remembered fact about the device below it.
#[derive(Debug)]
pub struct UdpSocket {
    pub(super) socket: Socket,
    local: SocketAddr,
    /// Off once the device below proved unable to take `UDP_SEGMENT` batches.
    pub(super) segmentation: Cell<bool>,
}

impl UdpSocket {
    /// Opens and binds. `AddrInUse` when another socket has the tuple.
    pub fn bind(config: &SocketConfig) -> io::Result<Self> {
        Self::bind_beside(config, &[])
    }

    /// Opens and binds although `others`, of the same program, have overlapping tuples: the kernel keeps a socket bound to all addresses of one
    /// interface and one bound to one address of all interfaces apart when it receives, but not when it binds. `AddrInUse`
    /// when any other socket is in the way.
    pub fn bind_beside(config: &SocketConfig, others: &[&Self]) -> io::Result<Self> {
        // For this moment only: whoever binds with the same option later would share the tuple.
        let share = |on| others.iter().try_for_each(|other| other.socket.set_reuse_address(on));
        let bound = share(true).and_then(|()| Self::bind_shared(config, !others.is_empty()));
        let unshared = share(false);
        let socket = bound?;
        unshared?;
        socket.socket.set_reuse_address(false)?;
        Ok(socket)
    }

    fn bind_shared(config: &SocketConfig, shared: bool) -> io::Result<Self> {
        let v6 = config.local.is_ipv6();
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM.nonblocking().cloexec(), Some(Protocol::UDP))?;
        if v6 {
            socket.set_only_v6(true)?;
        }
        if let Some(interface) = &config.interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        if let Some(mark) = config.mark {
            socket.set_mark(mark)?;
        }
        let fd = socket.as_raw_fd();
        let (level, discover, probe, errors, class) = if v6 {
            (
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
                libc::IPV6_RECVERR,
                libc::IPV6_RECVTCLASS,
            )
        } else {
            (
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_PROBE,
                libc::IP_RECVERR,
                libc::IP_RECVTOS,
            )
        };
        // A path may start before its address is there, and outlive it.
        let freebind = if v6 { libc::IPV6_FREEBIND } else { libc::IP_FREEBIND };
        set_int(fd, level, freebind, 1)?;
        // Don't-fragment on every packet, and the kernel's own path MTU cache left out of it: what does not fit is ours to know.
        set_int(fd, level, discover, probe)?;
        set_int(fd, level, errors, 1)?;
        set_int(fd, level, class, 1)?;
        if v6 {
            // Flow label from the flow hash (RFC 6438): each source port of an entropy pool gets a label of its own.
            let _ = set_int(fd, level, libc::IPV6_AUTOFLOWLABEL, 1);
        } else if !config.checksum {
            set_int(fd, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1)?;
        }
        if set_int(fd, libc::IPPROTO_UDP, libc::UDP_GRO, 1).is_err() {
            tracing::info!(local = %config.local, "kernel has no UDP_GRO: one datagram per read");
        }
        // The kernel begins a moment later, and stamps what is read until then as it is read.
        if set_int(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).is_err() {
            tracing::info!(local = %config.local, "kernel has no SO_TIMESTAMPNS: a datagram counts as arrived when it is read");
        }
        set_buffer(&socket, libc::SO_RCVBUFFORCE, config.receive_buffer);
        set_buffer(&socket, libc::SO_SNDBUFFORCE, config.send_buffer);
        socket.set_reuse_address(shared)?;
        socket.bind(&config.local.into())?;
        let local =
            socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("not an IP socket"))?;
        Ok(Self { socket, local, segmentation: Cell::new(true) })
    }

    /// Gives everything it sends from now on another mark; `None` is as good as none.
    pub fn set_mark(&self, mark: Option<u32>) -> io::Result<()> {
        self.socket.set_mark(mark.unwrap_or(0))
    }

    /// Never uses `UDP_SEGMENT` on this socket, as if the device below could not.
    pub fn without_segmentation(&self) {
        self.segmentation.set(false);
    }

    /// The bound address and port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

pub(super) fn set_int(
    fd: libc::c_int,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the option value is one int that lives through the call.
    let done = unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the size of a buffer: beyond the system's limit with CAP_NET_ADMIN, and up to it otherwise.
fn set_buffer(socket: &Socket, force: libc::c_int, bytes: usize) {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set_int(socket.as_raw_fd(), libc::SOL_SOCKET, force, value).is_ok() {
        return;
    }
    let plain = if force == libc::SO_RCVBUFFORCE { libc::SO_RCVBUF } else { libc::SO_SNDBUF };
    if let Err(error) = set_int(socket.as_raw_fd(), libc::SOL_SOCKET, plain, value) {
        tracing::warn!(%error, bytes, "socket buffer left at the system's default");
    }
}
