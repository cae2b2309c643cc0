//! The signal that ends threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal that makes threads end, at the latest when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Stop(Flag);

/// The flag that such a thread checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Stop {
    /// Ends them.
    pub(crate) fn now(&self) {
        self.0.0.store(true, Ordering::Relaxed);
    }

    /// Returns the flag for a thread.
    pub(crate) fn flag(&self) -> Flag {
        self.0.clone()
    }
}

impl Flag {
    /// True if the thread has to end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}
