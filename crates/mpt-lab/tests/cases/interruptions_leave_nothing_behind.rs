//! A measurement that is interrupted removes what it has made; one that is killed cannot, and the next one does it.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Case, Link, ping, plain, spec, tcp, tunnel};

#[test]
fn by_a_signal() {
    let (mut child, pid) = start();
    kill(Pid::from_raw(pid as i32), Signal::SIGINT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(namespaces(pid), [""; 0]);
    assert_eq!(directories(pid), 0);
}

#[test]
fn by_being_killed_when_the_next_one_begins() {
    let (mut child, pid) = start();
    let daemons = daemons(pid);
    assert_eq!(daemons.len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    crate::support::measure(&spec(&[Link::new(20)], plain(), ping(2, 10)));
    assert_eq!(namespaces(pid), [""; 0]);
    assert_eq!(directories(pid), 0);
    for daemon in daemons {
        // The kernel may take a moment until a killed process is gone.
        let start = Instant::now();
        while Path::new(&format!("/proc/{daemon}/exe")).exists() {
            assert!(start.elapsed() < Duration::from_secs(5), "daemon {daemon} still runs");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A measurement of a tunnel in the middle of its traffic, and its process id.
fn start() -> (Child, u32) {
    let links = [Link::new(20), Link::new(20)];
    let case = Case::new(&spec(&links, tunnel(4, 4, true), tcp(60)));
    let child = case.command().stderr(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let start = Instant::now();
    // Two daemons and iperf3 at either end.
    while processes(pid, "mptd").len() < 2 || processes(pid, "iperf3").len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(30), "it does not begin");
        thread::sleep(Duration::from_millis(50));
    }
    (child, pid)
}

fn daemons(pid: u32) -> Vec<u32> {
    processes(pid, "mptd")
}

/// Children of a process with a name: fields 2 and 4 of proc_pid_stat(5).
fn processes(parent: u32, name: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number: u32 = entry.unwrap().file_name().to_str()?.parse().ok()?;
        // A process may end while we look.
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        let is_child = after.split_ascii_whitespace().nth(1)? == parent.to_string();
        (is_child && before.ends_with(&format!("({name}"))).then_some(number)
    });
    processes.collect()
}

fn namespaces(pid: u32) -> Vec<String> {
    named(Path::new("/run/netns"), pid)
}

fn directories(pid: u32) -> usize {
    named(&std::env::temp_dir(), pid).len()
}

fn named(directory: &Path, pid: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|it| Some(it.ok()?.file_name().to_string_lossy().into_owned()));
    names.filter(|name| name.starts_with(&format!("mpt-lab-{pid}-"))).collect()
}
