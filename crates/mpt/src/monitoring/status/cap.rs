//! The cap of a path in words.

use std::time::Duration;

use mpt_api::snapshot::Path;
use mpt_api::{AtCap, Cap, CapCounts};
use mpt_text::quantity;

/// The percentage of a cap from which on it is a problem.
const NEAR: u64 = 80;

/// Returns how much of a cap is used, in percent.
pub(crate) fn percent(cap: &Cap) -> u64 {
    let percent = u128::from(cap.used) * 100 / u128::from(cap.limit.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// Returns the seconds until a cap starts anew, by the clock of the daemon.
pub(crate) fn resets_s(cap: &Cap, now_ms: u64) -> u64 {
    cap.resets_ms.saturating_sub(now_ms) / 1000
}

/// Says how much of a cap is used: "41.2 GB of 50.0 GB in this month (82 %), anew in 6days 3h".
pub(crate) fn used(cap: &Cap, resets_s: u64) -> String {
    let counts = match cap.counts {
        CapCounts::Both | CapCounts::Unknown => "",
        CapCounts::Sent => " sent",
        CapCounts::Received => " received",
    };
    let (used, limit) = (quantity::bytes(cap.used), quantity::bytes(cap.limit));
    let left = humantime::format_duration(Duration::from_secs(resets_s)).to_string();
    // Two units are as exact as anybody reads them.
    let left = left.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let (percent, period) = (percent(cap), cap.period);
    format!("{used} of {limit}{counts} in this {period} ({percent} %), anew in {left}")
}

/// Returns what is wrong with a path because of its cap, except that it is down.
pub(crate) fn problems(path: &Path) -> Vec<String> {
    let Some(cap) = &path.cap else { return Vec::new() };
    let name = &path.name;
    let limit = quantity::bytes(cap.limit);
    let mut problems = Vec::new();
    match percent(cap) {
        ..NEAR => {}
        percent @ NEAR..100 => {
            let then = match cap.at_cap {
                AtCap::Backup => "then it is used only while no other path works",
                AtCap::Stop => "then it carries nothing",
                AtCap::Warn | AtCap::Unknown => "it will be used beyond it",
            };
            problems.push(format!("path {name} has carried {percent} % of its cap of {limit}; {then}"));
        }
        _ => match cap.at_cap {
            AtCap::Backup => problems.push(format!(
                "path {name} has reached its cap of {limit} and is used only while no other path works: raise cap in the configuration, \
                 then mpt reload"
            )),
            AtCap::Warn => {
                problems.push(format!("path {name} is used beyond its cap of {limit}"));
            }
            // It is down, and that is said.
            AtCap::Stop | AtCap::Unknown => {}
        },
    }
    if cap.uncertain {
        problems.push(format!(
            "path {name} may have carried more than is counted, because the file of the counts was damaged: mptd's log says which"
        ));
    }
    if !cap.saved {
        problems.push(format!(
            "path {name}: the count for its cap cannot be written to the disk, and would be lost with mptd: its log says why"
        ));
    }
    problems
}

/// Says why a path that has reached its cap is down.
pub(crate) fn reached(path: &Path) -> String {
    let cap =
        path.cap.map_or_else(String::new, |cap| format!(" of {}", quantity::bytes(cap.limit)));
    format!(
        "path {} has reached its cap{cap} and carries nothing until the next period: raise cap in the configuration, then mpt reload",
        path.name
    )
}

#[cfg(test)]
mod tests {
    use mpt_api::CapPeriod;

    use super::*;
    use crate::example;

    fn cap(used: u64, at_cap: AtCap) -> Cap {
        Cap {
            limit: 50_000_000_000,
            used,
            sent: used / 5,
            received: used - used / 5,
            period: CapPeriod::Month,
            counts: CapCounts::Both,
            at_cap,
            resets_ms: 600_000_000,
            uncertain: false,
            saved: true,
        }
    }

    fn told(cap: Cap) -> Vec<String> {
        let mut path = example::path("lte", "192.0.2.1:4754", "198.51.100.1:4754");
        path.cap = Some(cap);
        problems(&path)
    }

    #[test]
    fn what_is_used_is_said_with_the_time_that_is_left() {
        let cap = cap(41_200_000_000, AtCap::Backup);
        let resets = resets_s(&cap, 70_800_000);
        let expected = "41.2 GB of 50.0 GB in this month (82 %), anew in 6days 3h";
        assert_eq!(used(&cap, resets), expected);
        let received = Cap { counts: CapCounts::Received, ..cap };
        assert!(used(&received, 0).contains(" received in this month (82 %), anew in 0s"));
        assert_eq!(percent(&Cap { limit: 0, ..cap }), 4_120_000_000_000);
    }

    #[test]
    fn a_problem_says_what_is_next() {
        assert_eq!(told(cap(39_000_000_000, AtCap::Backup)), [""; 0]);
        assert_eq!(
            told(cap(40_000_000_000, AtCap::Stop)),
            ["path lte has carried 80 % of its cap of 50.0 GB; then it carries nothing"]
        );
        assert_eq!(
            told(cap(50_000_000_000, AtCap::Backup)),
            [
                "path lte has reached its cap of 50.0 GB and is used only while no other path works: raise cap in the configuration, \
              then mpt reload"
            ]
        );
        assert_eq!(
            told(cap(60_000_000_000, AtCap::Warn)),
            ["path lte is used beyond its cap of 50.0 GB"]
        );
        let unsaved = Cap { saved: false, uncertain: true, ..cap(0, AtCap::Stop) };
        assert_eq!(told(unsaved).len(), 2);
    }
}
