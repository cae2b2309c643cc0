//! Repetition of measurements that fail now and then for a reason that is not the tunnel's.

use anyhow::{Error, Result};

use crate::console::interrupt::Interrupt;

/// Number of repetitions after a failure.
const REPETITIONS: u32 = 2;

/// Calls `attempt` until it succeeds, at most once and [`REPETITIONS`] times more, and returns the result of the last call. Its argument is the
/// number of failures before. `repeated` gets the reason of every failure that a repetition follows. After an interruption nothing is repeated.
pub(super) fn until_success<T>(
    interrupt: &Interrupt,
    mut attempt: impl FnMut(u32) -> Result<T>,
    mut repeated: impl FnMut(&Error),
) -> Result<T> {
    for failures in 0..REPETITIONS {
        match attempt(failures) {
            Ok(result) => return Ok(result),
            Err(error) => {
                interrupt.check()?;
                repeated(&error);
            }
        }
    }
    attempt(REPETITIONS)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use anyhow::bail;

    use super::*;
    use crate::processes;

    /// Makes attempts of which the first `failures` fail. Returns the result, the attempts made and the reasons reported.
    fn attempts(failures: u32) -> (Result<u32>, u32, Vec<String>) {
        let (mut made, mut reasons) = (0, Vec::new());
        let attempt = |number| {
            assert_eq!(number, made);
            made += 1;
            if number < failures {
                bail!("failure {number}");
            }
            Ok(number)
        };
        let result = until_success(&Interrupt::default(), attempt, |error| {
            reasons.push(error.to_string());
        });
        (result, made, reasons)
    }

    #[test]
    fn a_success_is_not_repeated() {
        let (result, made, reasons) = attempts(0);
        assert_eq!((result.unwrap(), made, reasons.len()), (0, 1, 0));
    }

    #[test]
    fn each_repetition_is_told_with_its_reason() {
        let (result, made, reasons) = attempts(2);
        assert_eq!((result.unwrap(), made), (2, 3));
        assert_eq!(reasons, ["failure 0", "failure 1"]);
    }

    #[test]
    fn the_last_failure_is_the_result() {
        let (result, made, reasons) = attempts(9);
        assert_eq!((result.unwrap_err().to_string().as_str(), made), ("failure 2", 3));
        assert_eq!(reasons, ["failure 0", "failure 1"]);
    }

    #[test]
    fn a_process_that_hangs_once_is_killed_and_started_again() {
        let (interrupt, mut told) = (Interrupt::default(), Vec::new());
        let attempt = |number| {
            let script = if number == 0 { "exec sleep 1000" } else { "echo done" };
            let mut command = Command::new("sh");
            let child = command.args(["-c", script]).stdout(Stdio::piped()).spawn()?;
            let limit = Duration::from_secs(if number == 0 { 1 } else { 60 });
            processes::finish(child, limit, &interrupt)
        };
        let finished = until_success(&interrupt, attempt, |error| told.push(error.to_string()));
        assert_eq!(finished.unwrap().stdout, "done\n");
        assert_eq!(told, ["it did not end within 1 s"]);
    }
}
