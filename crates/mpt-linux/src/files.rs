//! Files that belong to one process at a time.

use std::fs::File;
use std::io;
use std::ops::Deref;

use nix::fcntl::{Flock, FlockArg};

/// A file that no other process can lock while this exists (flock(2)).
#[derive(Debug)]
pub struct Lock(Flock<File>);

impl Lock {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        self.0.deref()
    }
}

/// Locks a file; `None` when another process has locked it.
///
/// # Errors
///
/// Fails when the system refuses.
pub fn lock(file: File) -> io::Result<Option<Lock>> {
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => Ok(Some(Lock(locked))),
        Err((_, nix::Error::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}
