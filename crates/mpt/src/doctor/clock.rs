//! Clocks. Keys need none; what is measured and captured at both peers is compared by them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::daemon::Answer;
use super::{Findings, Level};
use crate::client::Failed;

/// The difference between the clocks of two ends above which their logs are hard to compare.
const APART: Duration = Duration::from_secs(1);

pub(super) fn check(is_remote: bool, answer: &Result<Answer, Failed>, found: &mut Findings) {
    match mpt_linux::clock::is_synchronised() {
        Some(true) => found.ok("clock", "this host: synchronised"),
        Some(false) => found.add(
            Level::Note,
            "clock",
            "this host: not synchronised; the tunnel needs no clock, comparing logs and captures does",
            "run an NTP client, such as systemd-timesyncd or chrony",
        ),
        None => {}
    }
    let Ok(answer) = answer else { return };
    if !is_remote {
        return;
    }
    let there = UNIX_EPOCH + Duration::from_millis(answer.snapshot.daemon.time_ms);
    let (apart, ahead) = difference(answer.asked, answer.took, there);
    let direction = if ahead { "ahead of" } else { "behind" };
    let message = format!(
        "the clock of the peer is {:.3} s {direction} this one, give or take {:.3} s",
        apart.as_secs_f64(),
        (answer.took / 2).as_secs_f64(),
    );
    if apart > APART + answer.took / 2 {
        let advice = "run an NTP client on both hosts, such as systemd-timesyncd or chrony";
        found.add(Level::Warning, "clock", message, advice);
    } else {
        found.ok("clock", message);
    }
}

/// Returns the difference of the peer's clock from ours, and true if it is ahead: its answer is of the middle of the time that it took (RFC 5905
/// section 8).
fn difference(asked: SystemTime, took: Duration, there: SystemTime) -> (Duration, bool) {
    match there.duration_since(asked + took / 2) {
        Ok(ahead) => (ahead, true),
        Err(behind) => (behind.duration(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_middle_of_its_time() {
        let asked = UNIX_EPOCH + Duration::from_secs(100);
        let took = Duration::from_secs(2);
        let second = Duration::from_secs(1);
        assert_eq!(difference(asked, took, asked + second), (Duration::ZERO, true));
        assert_eq!(difference(asked, took, asked + 3 * second), (2 * second, true));
        assert_eq!(difference(asked, took, asked - second), (2 * second, false));
    }
}
