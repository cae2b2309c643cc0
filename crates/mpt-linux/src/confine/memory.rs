//! The memory of a process, kept from files and from other processes of its user.

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};

use super::Error;

/// Lets no core dump be written, and no process of the same user without privileges read or change the memory of this one (ptrace(2),
/// `/proc/PID/mem`). A change of the user or of the capabilities would undo it.
///
/// # Errors
///
/// Fails when the kernel refuses.
pub fn hide_memory() -> Result<(), Error> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(Error::Memory)?;
    prctl::set_dumpable(false).map_err(Error::Memory)
}
