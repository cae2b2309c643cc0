//! System calls that a process may make, by seccomp (seccomp(2)).
//!
//! Two filters, of whose answers the kernel takes the stricter one:
//!
//! 1. Calls that no library has a reason to try end the process: they start programs, enter or change namespaces and mounts, look into other
//!    processes, change the kernel. A process that makes them runs code of an attacker.
//! 2. Whatever is not listed as needed is answered with `ENOSYS`, as by a kernel that lacks it. A C library that tries a newer call first then
//!    takes the older one, so a list made today does not break tomorrow's library.
//!
//! The lists hold what the daemon, glibc, musl and the modules of the resolver use; they are compiled for the architectures that
//! [`seccompiler`] knows.

#[cfg_attr(
    not(all(
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
        target_endian = "little",
        target_pointer_width = "64"
    )),
    path = "unsupported.rs"
)]
mod filter;
mod work;

use super::Error;
pub use work::Work;

/// From now on, no thread of the process can make another system call than `work` needs. Gives `false` where the kernel or this program has no
/// seccomp (for this architecture), or a filter of somebody else does not let it be used: nothing is restricted then.
///
/// # Errors
///
/// Fails when the kernel refuses the filter for another reason.
pub fn restrict(work: Work) -> Result<bool, Error> {
    filter::restrict(work)
}
