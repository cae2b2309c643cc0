//! Errors that the network reported about datagrams sent earlier: ICMP errors, read from the socket's error queue.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use super::cmsg::{self, ControlBuffer};
use super::receive::socket_addr;
use super::socket::UdpSocket;

/// The kind of an error that befell a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathErrorKind {
    /// It was larger than a link on the way: "fragmentation needed" (RFC 1191) or "packet too big" (RFC 8201).
    TooBig {
        /// The largest packet that the link takes, in bytes of the outer IP packet; 0 if the router did not say.
        mtu: u32,
    },
    /// A router or the peer says that it cannot be reached.
    Unreachable,
    /// Anything else.
    Other,
}

/// One entry of the error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The kind of the error.
    pub kind: PathErrorKind,
    /// The destination of the datagram.
    pub remote: SocketAddr,
    /// Told by our own kernel, not by the network.
    pub local: bool,
    /// Bytes of the datagram's UDP payload that the message quoted, now in the buffer: proof that the sender of the message saw it.
    pub quoted: usize,
}

impl UdpSocket {
    /// Takes one error from the queue, the quoted payload into `buffer`; `None` when the queue is empty.
    pub fn take_error(&self, buffer: &mut [u8]) -> io::Result<Option<PathError>> {
        // SAFETY: all-zero is a valid `sockaddr_storage` and `msghdr`.
        let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        let mut control = ControlBuffer::<256>::new();
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        header.msg_name = (&raw mut name).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr();
        header.msg_controllen = 256 as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: `header` points to name, piece and control, which live through the call, with their true lengths.
        let len = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags) };
        if len < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        }
        let Some(remote) = socket_addr(&name) else { return Ok(None) };
        let mut found = None;
        cmsg::for_each(&header, |level, kind, data| {
            if matches!(
                (level, kind),
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
            ) {
                found = extended_error(data);
            }
        });
        let (kind, local) = found.unwrap_or((PathErrorKind::Other, false));
        Ok(Some(PathError { kind, remote, local, quoted: len as usize }))
    }
}

/// Reads `struct sock_extended_err`: errno (4), origin (1), type (1), code (1), pad (1), info (4), data (4).
fn extended_error(data: &[u8]) -> Option<(PathErrorKind, bool)> {
    let errno = libc::c_int::from_ne_bytes(*data.first_chunk()?);
    let origin = *data.get(4)?;
    let info = u32::from_ne_bytes(data.get(8..12)?.try_into().ok()?);
    let kind = match errno {
        libc::EMSGSIZE => PathErrorKind::TooBig { mtu: info },
        libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EACCES => {
            PathErrorKind::Unreachable
        }
        _ => PathErrorKind::Other,
    };
    Some((kind, origin == libc::SO_EE_ORIGIN_LOCAL))
}
