//! Root of a user namespace only, with a tun node that everybody may open: the daemon starts, makes its device, and ends in order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::hosts::wait_for;

/// The test as a script of an ordinary user with a loopback interface. It prints its own process id first, then what `ip` shows when mptd has ended.
const SCRIPT: &str = r#"
    set -e
    mount -t tmpfs tmpfs "$1"
    cp "$2" "$1/mptd" && cp "$3" "$1/mpt.toml"
    mknod -m 0666 "$1/tun" c 10 200
    mount --bind "$1/tun" /dev/net/tun
    chown -R 65534:65534 "$1"
    cd "$1"
    exec setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net sh -c '
        ip link set lo up && ip addr add 10.71.1.1/32 dev lo && ip addr add 10.71.1.2/32 dev lo
        ./mptd --config mpt.toml & mptd=$!
        trap "kill -TERM $mptd" TERM
        while ! ip -o addr show dev mpt0 2>/dev/null | grep 10.72.0.1; do kill -0 $mptd || exit 1; sleep 0.02; done
        echo running
        wait $mptd || wait $mptd
        echo "ended with $?"
        ip -o link'
"#;

#[test]
fn of_an_ordinary_user() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let config = tempfile::NamedTempFile::new().unwrap();
    let text = r#"
        daemon.control_socket = "DIRECTORY/mptd.sock"
        [[device]]
        name = "mpt0"
        addresses = ["10.72.0.1/24"]
        [[connection]]
        name = "tunnel"
        networks = ["10.72.0.2"]
        [[connection.path]]
        name = "loopback"
        local = "10.71.1.1"
        remote = "10.71.1.2"
    "#;
    let text = text.replace("DIRECTORY", directory.path().to_str().unwrap());
    fs::write(config.path(), text).unwrap();
    let log = directory.path().with_extension("log");
    let output = fs::File::create(&log).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", SCRIPT, "sh"]).arg(directory.path());
    command.arg(env!("CARGO_BIN_EXE_mptd")).arg(config.path());
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    let mut process = command.spawn().unwrap();
    let read = || fs::read_to_string(&log).unwrap();
    wait_for("mptd runs", || {
        assert!(process.try_wait().unwrap().is_none(), "it ended: {}", read());
        read().lines().any(|line| line == "running").then_some(())
    });
    kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
    let status = wait_for("mptd ends", || process.try_wait().unwrap());
    let said = read();
    fs::remove_file(&log).unwrap();
    assert!(status.success(), "{said}");
    assert!(said.contains("ended with 0"), "{said}");
    let after = said.split("ended with 0").nth(1).unwrap();
    assert!(after.contains("lo:") && !after.contains("mpt0"), "{said}");
    assert!(!said.contains("ERROR"), "{said}");
}
