//! The UDP features of the kernel.

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

use super::socket::set_int;

/// Super-packets of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// Several datagrams in one to send (`UDP_SEGMENT`, Linux 4.18).
    pub segmentation: bool,
    /// Several received in one (`UDP_GRO`, Linux 5.0).
    pub coalescing: bool,
}

/// Asks the kernel.
///
/// # Errors
///
/// Fails when there is no socket to be had.
pub fn offloads() -> io::Result<Offloads> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    let can = |option, value| set_int(socket.as_raw_fd(), libc::SOL_UDP, option, value).is_ok();
    Ok(Offloads { segmentation: can(libc::UDP_SEGMENT, 0), coalescing: can(libc::UDP_GRO, 1) })
}
