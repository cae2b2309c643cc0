//! What a process may do is cut down to what it needs: another user, one capability, files and TCP by landlock, system calls by seccomp. Each of it
//! lasts until the process ends and is inherited by every thread started afterwards, so it has to happen before there is a second one.

mod capabilities;
mod error;
mod memory;
mod sandbox;
mod syscalls;
mod user;

pub use capabilities::{keep_network_only, keep_nothing};
pub use error::Error;
pub use memory::hide_memory;
pub use sandbox::{Enforced, Sandbox};
pub use syscalls::{Work, restrict};
pub use user::{User, is_root};
