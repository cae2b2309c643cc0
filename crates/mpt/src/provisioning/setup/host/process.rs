//! Processes of this host, by their number.

use std::fs;

/// Returns the time at which a process was started, in ticks since the boot: tells it from a later one of the same number.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    status(pid)?.split_whitespace().nth(19)?.parse().ok()
}

/// Returns true if a process has ended and its parent has not asked about it yet.
pub(crate) fn is_zombie(pid: u32) -> bool {
    status(pid).is_some_and(|status| status.starts_with('Z'))
}

/// Returns what `/proc/PID/stat` has behind the name, from the state on. The name may hold anything, but ends with the last parenthesis.
fn status(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_has_a_time_of_its_own_and_is_a_zombie_from_its_end_until_its_parent_asks() {
        let own = std::process::id();
        assert!(start_time(own).is_some_and(|started| started > 0) && !is_zombie(own));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        assert!(start_time(pid) >= start_time(own) && !is_zombie(pid));
        // It ends with its input.
        drop(child.stdin.take());
        while !is_zombie(pid) {
            thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert_eq!((start_time(pid), is_zombie(pid)), (None, false));
    }
}
