//! The clock of the system.

use std::mem::MaybeUninit;

/// Returns whether a time service keeps the clock right (adjtimex(2)), or `None` where the system
/// does not tell.
#[must_use]
pub fn is_synchronised() -> Option<bool> {
    let mut state = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: all bits zero are a `timex`, and a mode of zero only reads: the kernel fills in one `timex` at the pointer.
    let result = unsafe { libc::adjtimex(state.as_mut_ptr()) };
    (result >= 0).then_some(result != libc::TIME_ERROR)
}
