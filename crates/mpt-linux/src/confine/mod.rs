//! Cuts down the rights of a process to those that it needs: another user, one capability, files and TCP by landlock, system calls by seccomp. Each
//! restriction lasts until the process ends and is inherited by every thread started afterwards, so they have to be made before there is a second
//! thread.

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
