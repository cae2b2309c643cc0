//! An ordinary user, on a machine whose `/dev/net/tun` has mode 0666, gets the same demonstration.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Root of the whole machine, not only of a user namespace.
fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    nix::unistd::geteuid().is_root() && map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Gives a mount namespace a tun node that everybody may open, then runs "$@" as user and group
/// 65534. The programs are copied because nobody else may look into root's directories.
const SCRIPT: &str = r#"
    set -e
    directory=$1 laboratory=$2
    shift 2
    mount -t tmpfs tmpfs "$directory"
    cp "$laboratory" "$(dirname "$laboratory")/mptd" "$directory"
    mknod -m 0666 "$directory/tun" c 10 200
    mount --bind "$directory/tun" /dev/net/tun
    exec setpriv --reuid=65534 --regid=65534 --clear-groups "$directory/mpt-lab" "$@"
"#;

#[test]
fn demo_runs_without_privileges() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let demo = common::demo();
    let mut command = if is_root() {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", SCRIPT, "sh"]);
        command.arg(directory.path()).arg(demo.get_program()).args(demo.get_args());
        command
    } else {
        // The user who runs this test has no privileges to give up.
        demo
    };
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("efficiency"));
}
