//! Where `/proc/sys` is read-only, as in most containers, `mpt setup server` says which setting it cannot make, why, and what to do, and changes
//! nothing. Once the setting is made from outside, the same command succeeds there.

use std::process::{Command, Output, Stdio};

use crate::command_line::program;
use crate::machines::{Machine, Scene, line_of};

/// Runs its arguments where `/proc/sys` is read-only.
const READ_ONLY: &str =
    "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec \"$@\"";

/// Runs `mpt` on this machine, in a mount namespace of its own where `/proc/sys` is read-only.
fn in_a_container(machine: &Machine, arguments: &[&str]) -> Output {
    let mut command: Command = machine.host.namespace.command("unshare").unwrap();
    command.args(["--mount", "sh", "-c", READ_ONLY, "sh"]).arg(program()).args(arguments);
    command.envs(machine.environment()).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn forwarding_that_cannot_be_switched_on_is_explained_and_nothing_changes() {
    let scene = Scene::new(0);
    let server = &scene.server;
    server.host.sysctl("net/ipv4/ip_forward", "0");
    let before = server.traces();

    for arguments in [
        &["setup", "server"][..],
        &["setup", "site", "--here", "192.168.1.0/24", "--there", "192.168.2.0/24"],
    ] {
        let output = in_a_container(server, arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for expected in [
            "net.ipv4.ip_forward cannot be set to 1: Read-only file system",
            "/proc/sys is read-only here",
            "start the container with --sysctl net.ipv4.ip_forward=1",
            "sysctl -w net.ipv4.ip_forward=1 on the host",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
        assert_eq!(server.traces(), before);
    }
}

#[test]
fn forwarding_that_is_on_already_needs_no_writing() {
    let scene = Scene::new(0);
    let server = &scene.server;
    server.host.sysctl("net/ipv4/ip_forward", "1");
    let before = server.traces();

    let output = in_a_container(server, &["setup", "server"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    line_of(&printed);
    // It was on before, and stays on, also where it could be written.
    server.succeeds(&["setup", "undo"]);
    assert_eq!(server.traces(), before);
}
