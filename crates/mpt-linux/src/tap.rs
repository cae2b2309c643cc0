//! TAP devices with the virtio-net header: the ends of emulated cables. The packets that a host sends into one are read from it with their Ethernet
//! headers, super-packets (TSO, USO) in one piece.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::tun::{self, Driver, Offloads, TunError, VNET_HEADER_LEN};

/// Bytes of an Ethernet header with one VLAN tag.
pub const ETHERNET_HEADER_MAX: usize = 18;

/// Largest thing one read can give: virtio-net header, Ethernet header, and an IP packet of 65,535 bytes behind a fixed
/// IPv6 header (whose length field does not count that).
pub const READ_LEN: usize = VNET_HEADER_LEN + ETHERNET_HEADER_MAX + 40 + 65_535;

/// `linux/if_tun.h`.
const TUNSETCARRIER: libc::Ioctl = tun::iow(226, 4);

/// A TAP device of our own, non-blocking, gone from the system when dropped.
#[derive(Debug)]
pub struct Tap {
    file: File,
    offloads: Offloads,
}

impl Tap {
    /// Creates the device `name` in the network namespace of the calling thread, down and without addresses. With `plain`,
    /// or where the kernel has no offloads, every frame is an ordinary one with complete checksums; the virtio-net header
    /// is there all the same.
    ///
    /// # Errors
    ///
    /// Fails when the name is none or taken, or the kernel refuses.
    pub fn create(name: &str, plain: bool) -> Result<Self, TunError> {
        let file = tun::create(&Driver::direct(), name, libc::IFF_TAP)?;
        let none = Offloads { tso: false, uso: false };
        let offloads = if plain { none } else { tun::enable_offloads(&file, name) };
        Ok(Self { file, offloads })
    }

    /// Returns the kinds of super-packets that the kernel hands over and takes.
    #[must_use]
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Plugs the cable in or pulls it out: the host sees its carrier come or go.
    ///
    /// # Errors
    ///
    /// On kernels before 5.0.
    pub fn set_carrier(&self, carrier: bool) -> io::Result<()> {
        let carrier = libc::c_int::from(carrier);
        // SAFETY: TUNSETCARRIER reads one int from the pointer.
        let done = unsafe { libc::ioctl(self.file.as_raw_fd(), TUNSETCARRIER, &raw const carrier) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reads one frame: its virtio-net header, then the Ethernet header. `WouldBlock` when there is none.
    ///
    /// # Errors
    ///
    /// See above, and when the device is gone.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Writes one frame given in pieces, the first of which begins with the virtio-net header. The host takes it in before
    /// this returns.
    ///
    /// # Errors
    ///
    /// Fails when the device is down, or the header contradicts the frame.
    #[inline]
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.file).write_vectored(pieces)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
