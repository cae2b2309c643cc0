//! The leftovers of a laboratory that is interrupted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Sends `signal` once the laboratory says that it has begun the step of that name and has that many child processes: afterwards no
/// namespace, no process and no file is left.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn leaves_nothing(mut command: Command, signal: Signal, step: &str, processes: usize) {
    let scratch = tempfile::tempdir().unwrap();
    command.env("TMPDIR", scratch.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    for line in lines.by_ref() {
        said += &(line.clone() + "\n");
        if line.contains(step) {
            break;
        }
    }
    let start = Instant::now();
    let mut running = children(pid);
    while running.len() < processes && start.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(50));
        running = children(pid);
    }
    assert!(running.len() >= processes, "not {processes}: {running:?}\n{said}");

    kill(Pid::from_raw(pid as i32), signal).unwrap();
    said.extend(lines.map(|line| line + "\n"));
    let status = child.wait().unwrap();

    assert!(!status.success(), "{status}");
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(super::namespaces(pid), [""; 0]);
    for child in running {
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "process {child} is left");
    }
    assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "files are left");
}

/// Processes whose parent is `pid`: field 4 of proc_pid_stat(5), after a name in parentheses.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number: u32 = entry.unwrap().file_name().to_str()?.parse().ok()?;
        // A process may end while we look.
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
        (parent == pid.to_string()).then_some(number)
    });
    processes.collect()
}
