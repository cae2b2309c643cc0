//! Precedence over ordinary processes, and processors that do not sleep, for a process that stands for hardware.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The lowest priority that comes before all ordinary processes (`sched(7)`).
const LOWEST: libc::c_int = 1;

/// The nicest value to the thread itself (`setpriority(2)`).
const HIGHEST: libc::c_int = -20;

/// The file by which the kernel is told how long a processor may take to wake up (its
/// `power/pm_qos_interface`).
const WAKE_UP: &str = "/dev/cpu_dma_latency";

/// All processors of the machine stay awake as long as this lives: who has nothing to do polls, and is counted as idle all the
/// same. The kernel ends it when the process ends, however that happens.
#[derive(Debug)]
pub struct Awake(#[expect(dead_code, reason = "it is to stay open")] File);

impl Awake {
    /// Keeps them awake.
    ///
    /// # Errors
    ///
    /// Without the right to write to `/dev/cpu_dma_latency`, which root alone has, and where there is no such device.
    pub fn keep() -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(WAKE_UP)?;
        // Microseconds, as a native integer of 32 bits.
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self(file))
    }
}

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
    use std::io::Read;

    use super::*;

    #[test]
    fn processors_are_kept_awake_or_there_is_a_reason_why_not() {
        match Awake::keep() {
            Ok(_awake) => {
                let mut asked = [1; 4];
                File::open(WAKE_UP).unwrap().read_exact(&mut asked).unwrap();
                assert_eq!(i32::from_ne_bytes(asked), 0);
            }
            Err(error) => {
                let kinds = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
        }
    }

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
