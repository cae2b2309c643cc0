//! TUN devices with the virtio-net header, which lets one read or write move a whole TSO or USO super-packet.
//!
//! Opened by our own few ioctls and not by a crate: an existing device of the same name must be an error
//! (`IFF_TUN_EXCL`, which the crates do not offer), or two daemons would silently share one device.

mod driver;

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use thiserror::Error;

pub use driver::{Driver, NODE};

/// Bytes of the virtio-net header in front of every packet read or written (`struct virtio_net_hdr`).
pub const VNET_HEADER_LEN: usize = 10;

/// Largest thing one read can give: header and an IP packet of 65,535 bytes.
pub const READ_LEN: usize = VNET_HEADER_LEN + 65_535;

const IFNAMSIZ: usize = 16;
const TUNSETIFF: libc::Ioctl = iow(202, 4);
const TUNSETOFFLOAD: libc::Ioctl = iow(208, 4);
const TUNSETVNETHDRSZ: libc::Ioctl = iow(216, 4);
const TUN_F_CSUM: libc::c_uint = 0x01;
const TUN_F_TSO4: libc::c_uint = 0x02;
const TUN_F_TSO6: libc::c_uint = 0x04;
const TUN_F_TSO_ECN: libc::c_uint = 0x08;
const TUN_F_USO4: libc::c_uint = 0x20;
const TUN_F_USO6: libc::c_uint = 0x40;

/// Request number of a TUN ioctl that writes `size` bytes: `_IOW('T', number, size)`. The direction bits differ on MIPS, PowerPC and SPARC.
pub(crate) const fn iow(number: u32, size: u32) -> libc::Ioctl {
    let write: u32 = if cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "sparc64"
    )) {
        4 << 29
    } else {
        1 << 30
    };
    (write | (size << 16) | ((b'T' as u32) << 8) | number) as libc::Ioctl
}

/// Why a device could not be opened.
#[derive(Debug, Error)]
pub enum TunError {
    /// The name is empty, too long for the kernel (15 bytes) or holds a character it refuses.
    #[error("\"{0}\" is no device name: 1 to 15 bytes, no '/', no space")]
    Name(String),
    /// `/dev/net/tun` is missing or may not be opened.
    #[error("open {NODE}: {0}; {remedy}", remedy = remedy(.0))]
    Open(#[source] io::Error),
    /// Somebody else's device has this name; it is never joined.
    #[error("device {0} exists already; remove it or choose another name")]
    Exists(String),
    /// The kernel refused the device.
    #[error("create device {name}: {source}")]
    Create {
        /// The name asked for.
        name: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

/// Returns what to do when the TUN driver's node cannot be opened because of `error`.
#[must_use]
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "load the driver (modprobe tun); a container has to be given the device /dev/net/tun"
        }
        io::ErrorKind::PermissionDenied => {
            "let the user open it, as udev does (chmod 0666 /dev/net/tun), or start the program as root; \
             a container has to be given the device /dev/net/tun"
        }
        _ => "see the log of the kernel",
    }
}

/// Which super-packets the kernel hands over and takes back on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// TCP segmentation offload, both IP versions.
    pub tso: bool,
    /// UDP segmentation offload, both IP versions (Linux 6.2 and later).
    pub uso: bool,
}

/// A TUN device of our own, non-blocking, gone from the system when dropped.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offloads: Offloads,
}

impl Tun {
    /// Creates the device `name` with the best offloads the kernel has, falling back one by one (and saying so in the log).
    pub fn create(name: &str) -> Result<Self, TunError> {
        Self::create_by(&Driver::direct(), name)
    }

    /// Creates the device `name` as [`Tun::create`] does; `driver` opens its node.
    pub fn create_by(driver: &Driver, name: &str) -> Result<Self, TunError> {
        let file = create(driver, name, libc::IFF_TUN)?;
        let offloads = enable_offloads(&file, name);
        Ok(Self { file, name: name.into(), offloads })
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the kernel agreed to.
    #[must_use]
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Reads one packet: its virtio-net header, then the IP packet. `WouldBlock` when there is none.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Writes one packet given in pieces, the first of which begins with the virtio-net header.
    #[inline]
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.file).write_vectored(pieces)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A new device of one kind (`IFF_TUN` or `IFF_TAP`) with the virtio-net header and without offloads, non-blocking.
pub(crate) fn create(driver: &Driver, name: &str, kind: libc::c_int) -> Result<File, TunError> {
    let valid = !name.is_empty()
        && name.len() < IFNAMSIZ
        && name != "."
        && name != ".."
        && !name.bytes().any(|b| b == b'/' || b == b':' || b == 0 || b.is_ascii_whitespace());
    if !valid {
        return Err(TunError::Name(name.into()));
    }
    let file = driver.open().map_err(TunError::Open)?;
    let mut request = libc::ifreq {
        ifr_name: [0; IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: 0 },
    };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let flags = kind | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL;
    // IFF_TUN_EXCL is bit 15: the cast keeps the bits, the sign means nothing.
    request.ifr_ifru.ifru_flags = flags as u32 as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is, for the duration of the call.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) };
    if done < 0 {
        let source = io::Error::last_os_error();
        return Err(match source.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => TunError::Exists(name.into()),
            _ => TunError::Create { name: name.into(), source },
        });
    }
    let create = |source| TunError::Create { name: name.into(), source };
    let header_len: libc::c_int = VNET_HEADER_LEN as libc::c_int;
    // SAFETY: TUNSETVNETHDRSZ reads one int from the pointer.
    if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETVNETHDRSZ, &raw const header_len) } < 0 {
        return Err(create(io::Error::last_os_error()));
    }
    Ok(file)
}

/// Tries the richest set of offloads first. Without any, the kernel hands over ordinary packets with complete checksums.
pub(crate) fn enable_offloads(file: &File, name: &str) -> Offloads {
    let tso = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    let set = |flags: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, libc::c_ulong::from(flags)) == 0 }
    };
    if set(tso | TUN_F_USO4 | TUN_F_USO6) {
        return Offloads { tso: true, uso: true };
    }
    if set(tso) {
        tracing::info!(
            device = name,
            "kernel has no UDP segmentation offload on TUN: UDP goes packet by packet"
        );
        return Offloads { tso: true, uso: false };
    }
    tracing::warn!(
        device = name,
        "kernel has no segmentation offload on TUN: slower, everything goes packet by packet"
    );
    Offloads { tso: false, uso: false }
}
