//! `Type=notify` and `WatchdogSec=` of systemd: what the daemon says on the socket of the service manager (sd_notify(3)).

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::hosts::{PATIENCE, Pair, wait_for};

/// Interval of the watchdog, as the manager would set it.
const WATCHDOG: Duration = Duration::from_millis(400);

#[test]
fn and_that_it_is_alive_and_that_it_ends() {
    let pair = Pair::with_lines(1);
    let directory = tempfile::tempdir().unwrap();
    let manager = UnixDatagram::bind(directory.path().join("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let config = directory.path().join("mpt.toml");
    let socket = directory.path().join("mptd.sock");
    fs::write(&config, pair.configs()[0].text(&socket)).unwrap();

    let mut command = pair.a.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    command.arg("--config").arg(&config).stderr(Stdio::null());
    command.env("NOTIFY_SOCKET", directory.path().join("notify"));
    command.env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string());
    let mut process = command.spawn().unwrap();
    let next = || {
        let mut message = [0; 256];
        let length = manager.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };

    assert_eq!(next(), "READY=1\n");
    assert!(pair.a.ip("-o addr show dev mpt0").contains("10.72.0.1"), "packets flow by then");
    let began = Instant::now();
    let mut last = began;
    for _ in 0..10 {
        assert_eq!(next(), "WATCHDOG=1\n");
        last = Instant::now();
    }
    // Ten of them half the limit apart, the first at once.
    assert!(last - began > WATCHDOG * 4, "{:?}", last - began);

    kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
    let said = std::iter::from_fn(|| Some(next())).find(|said| said != "WATCHDOG=1\n");
    assert_eq!(said.as_deref(), Some("STOPPING=1\n"));
    assert!(wait_for("mptd ends", || process.try_wait().unwrap()).success());
}
