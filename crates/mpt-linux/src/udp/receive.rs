//! Receiving what the kernel gathered: up to 64 datagrams of one peer in one read.

use std::io;
use std::mem;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::time::SystemTime;

use super::arrival;
use super::cmsg::{self, ControlBuffer};
use super::socket::UdpSocket;

/// Bytes one read can give.
pub const RECEIVE_LEN: usize = 65_535;

/// One read: one datagram or, by `UDP_GRO`, several of equal length from one peer in one buffer, the last of which may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes in the buffer.
    pub len: usize,
    /// Length of each datagram but the last; `len` when there is only one.
    pub datagram_len: usize,
    /// The sender of the datagrams.
    pub source: SocketAddr,
    /// Outer traffic class (DSCP and ECN); the kernel gathers only datagrams in which it is equal.
    pub tos: u8,
    /// The arrival of the first datagram by the system's clock, as the kernel has stamped it; see
    /// [`ArrivalClock`](super::ArrivalClock). `None` where the kernel stamps none.
    pub stamp: Option<SystemTime>,
    /// The datagram was longer than the buffer and has been cut.
    pub truncated: bool,
}

impl UdpSocket {
    /// Reads into `buffer`, of [`RECEIVE_LEN`] bytes. `WouldBlock` when there is nothing.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        // SAFETY: all-zero is a valid `sockaddr_storage` and `msghdr`.
        let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        let mut control = ControlBuffer::<128>::new();
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        loop {
            header.msg_name = (&raw mut name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_control = control.as_mut_ptr();
            header.msg_controllen = 128 as _;
            // SAFETY: `header` points to name, piece and control, which live through the call, with their true lengths.
            let len = unsafe {
                libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT)
            };
            if len >= 0 {
                return received(len as usize, &name, &header);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // A pending ICMP error of a datagram sent earlier, reported once; the error queue has the details.
                Some(
                    libc::ECONNREFUSED
                    | libc::EHOSTUNREACH
                    | libc::ENETUNREACH
                    | libc::EMSGSIZE
                    | libc::EPROTO
                    | libc::ENOPROTOOPT
                    | libc::EACCES,
                ) => {}
                _ => return Err(error),
            }
        }
    }

    /// Returns the share of the receive buffer that is taken, as the kernel counts it: 1 or more where it drops what comes.
    pub fn receive_fill(&self) -> io::Result<f64> {
        /// The fields of `SO_MEMINFO`, whose numbers are those of `linux/sock_diag.h`.
        const FIELDS: usize = 9;
        const RECEIVE_TAKEN: usize = 0;
        const RECEIVE_BUFFER: usize = 1;
        let mut fields = [0_u32; FIELDS];
        let mut len = size_of_val(&fields) as libc::socklen_t;
        // SAFETY: `fields` has `len` bytes, and both live through the call.
        let done = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                fields.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(f64::from(fields[RECEIVE_TAKEN]) / f64::from(fields[RECEIVE_BUFFER].max(1)))
    }
}

fn received(
    len: usize,
    name: &libc::sockaddr_storage,
    header: &libc::msghdr,
) -> io::Result<Received> {
    let source = socket_addr(name).ok_or_else(|| io::Error::other("peer without IP address"))?;
    let mut datagram_len = len;
    let (mut tos, mut stamp) = (0, None);
    cmsg::for_each(header, |level, kind, data| match (level, kind) {
        (libc::SOL_UDP, libc::UDP_GRO) => {
            if let Some(size) = cmsg::int(data).and_then(|size| usize::try_from(size).ok()) {
                datagram_len = size.clamp(1, len.max(1));
            }
        }
        (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            tos = cmsg::int(data).unwrap_or(0) as u8;
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => stamp = arrival::stamp(data),
        _ => {}
    });
    let truncated = header.msg_flags & libc::MSG_TRUNC != 0;
    Ok(Received { len, datagram_len, source, tos, stamp, truncated })
}

/// The address the kernel wrote, `None` when it is of another family.
pub(super) fn socket_addr(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that a `sockaddr_in` was written, which is smaller than the storage and needs no more alignment.
            let v4 = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in>() };
            let address = u32::from_be(v4.sin_addr.s_addr).into();
            Some(SocketAddrV4::new(address, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above, for `sockaddr_in6`.
            let v6 = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in6>() };
            let address = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(address, port, 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}
