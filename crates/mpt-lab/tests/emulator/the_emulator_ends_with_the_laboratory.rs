use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The emulator among the children of `pid`.
fn emulator(pid: u32) -> Option<u32> {
    fs::read_dir("/proc").unwrap().find_map(|entry| {
        let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
        let arguments = fs::read(format!("/proc/{number}/cmdline")).ok()?;
        let ours = parent == pid.to_string() && arguments.ends_with(b"\0emulate\0");
        ours.then_some(number)
    })
}

#[test]
fn however_that_ends() {
    let results = tempfile::tempdir().unwrap();
    let mut laboratory = Command::new(env!("CARGO_BIN_EXE_mpt-lab"))
        .args(["run", "emulator-accuracy", "--quick", "--out"])
        .arg(results.path())
        // It is not run.
        .args(["--mptd", "/bin/true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let emulator = loop {
        if let Some(emulator) = emulator(laboratory.id()) {
            break emulator;
        }
        assert!(start.elapsed() < PATIENCE, "the laboratory starts no emulator");
        std::thread::sleep(Duration::from_millis(20));
    };
    laboratory.kill().unwrap();
    laboratory.wait().unwrap();
    let start = Instant::now();
    while Path::new(&format!("/proc/{emulator}")).exists() {
        assert!(start.elapsed() < PATIENCE, "the emulator goes on without its laboratory");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its namespaces have names, which the next laboratory removes: here, or another one that has begun meanwhile.
    for host in ["a", "b"] {
        let name = format!("mpt-lab-{}-accuracy-{host}", laboratory.id());
        Command::new("ip").args(["netns", "delete", &name]).status().unwrap();
        assert!(!Path::new("/run/netns").join(&name).exists(), "{name}");
    }
}
