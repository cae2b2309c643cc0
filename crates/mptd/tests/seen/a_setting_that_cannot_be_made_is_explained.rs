//! A host whose `/proc/sys` is read-only, like most containers: `mpt setup` says which setting it cannot make, why, and what to do, and changes
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

/// Asserts that a command has failed because of a setting, and says the reason and the remedies.
fn assert_explained(output: &Output, setting: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for expected in [
        format!("{setting} cannot be set to 1: Read-only file system"),
        "/proc/sys is read-only here".into(),
        format!("start the container with --sysctl {setting}=1"),
        format!("sysctl -w {setting}=1 on the host"),
    ] {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
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
        assert_explained(&in_a_container(server, arguments), "net.ipv4.ip_forward");
        assert_eq!(server.traces(), before);
    }
}

/// The first router of a site, set up for these networks, and the line for the second one.
fn line_of_site(first: &Machine, here: &str, there: &str) -> String {
    line_of(&first.succeeds(&["setup", "site", "--here", here, "--there", there]))
}

#[test]
fn the_second_router_of_a_site_is_told_before_its_line_is_used() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    let line = line_of_site(first, "192.168.1.0/24", "192.168.2.0/24");
    second.host.sysctl("net/ipv4/ip_forward", "0");
    let before = second.traces();

    let command = ["setup", "site", &line];
    assert_explained(&in_a_container(second, &command), "net.ipv4.ip_forward");
    assert_eq!(second.traces(), before);
    let clients = first.succeeds(&["client", "list"]);
    assert!(clients.contains("has no [[client]]"), "nobody has registered: {clients}");

    second.host.sysctl("net/ipv4/ip_forward", "1");
    let output = in_a_container(second, &command);
    assert!(output.status.success(), "{output:?}");
}

/// A host is not refused before the server has said which versions of IP the networks have.
#[test]
fn what_only_the_server_can_tell_costs_no_line() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    let line = line_of_site(first, "2001:db8:1::/64", "2001:db8:2::/64");
    second.host.sysctl("net/ipv4/ip_forward", "1");
    second.host.sysctl("net/ipv6/conf/all/forwarding", "0");

    let command = ["setup", "site", &line];
    let output = in_a_container(second, &command);
    // IPv4 could be forwarded, so the server is asked.
    assert_explained(&output, "net.ipv6.conf.all.forwarding");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the line stays good for it: run the same command again"), "{said}");

    second.host.sysctl("net/ipv6/conf/all/forwarding", "1");
    let output = in_a_container(second, &command);
    assert!(output.status.success(), "{output:?}");
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
