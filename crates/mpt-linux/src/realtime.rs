//! Precedence over ordinary processes, for a process that stands for hardware.

use std::io;

/// The lowest priority that comes before all ordinary processes (`sched(7)`).
const LOWEST: libc::c_int = 1;

/// The nicest value to the thread itself (`setpriority(2)`).
const HIGHEST: libc::c_int = -20;

/// Lets the calling thread run whenever it wants to (`SCHED_FIFO`). It must sleep most of the time; the kernel leaves the
/// others a twentieth of the processor otherwise.
///
/// # Errors
///
/// Without `CAP_SYS_NICE`, or where `RLIMIT_RTPRIO` or a control group forbids it.
pub fn take_precedence() -> io::Result<()> {
    // SAFETY: all-zero is a valid `sched_param`, also where it has more fields.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = LOWEST;
    // SAFETY: the call reads `parameters`, which lives through it; 0 is the calling thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the calling thread run rather than ordinary ones (`nice -20`), without keeping the processor from them for good: for
/// one that never sleeps.
///
/// # Errors
///
/// Without `CAP_SYS_NICE`, or where `RLIMIT_NICE` or a control group forbids it.
pub fn prefer() -> io::Result<()> {
    // SAFETY: the call takes numbers only; 0 is the calling thread (`setpriority(2)`, on Linux).
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, HIGHEST) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_or_refused_with_a_reason() {
        for take in [take_precedence, prefer] {
            let of_a_thread_of_its_own = std::thread::spawn(take).join().unwrap();
            if let Err(error) = of_a_thread_of_its_own {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            }
        }
    }
}
