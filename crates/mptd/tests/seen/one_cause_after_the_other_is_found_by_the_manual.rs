//! Section 12 of docs/operations.md: each of its commands runs, and shows the cause that it is said to show.

use serde_json::Value;

use crate::hosts::wait_for;
use crate::operations::{
    TwoSites, check_and_start, only, quoted, restart, section, wait_until_shown, without_session,
};
use crate::shell::Shell;

/// Programs with which a command of the section may begin.
const PROGRAMS: [&str; 8] = ["mpt ", "mptd ", "ip ", "ping ", "tc ", "chmod ", "chown ", "up"];
/// The commands of the section; a test below runs each.
const COMMANDS: [&str; 14] = [
    "chmod 600",
    "chown mpt",
    "ip link set mpt0 down",
    "ip link show mpt0",
    "ip route get REMOTE",
    "mpt doctor",
    "mpt measure",
    "mpt show",
    "mpt show --json",
    "mpt status",
    "mptd --check",
    "ping -M do -s 1436 10.9.0.2",
    "tc qdisc replace dev eth1 root cake bandwidth 9mbit",
    "up",
];

fn text() -> &'static str {
    section("## 12. Troubleshooting")
}

#[test]
fn whose_commands_are_those_that_are_tested() {
    let begins = |it: &&str| PROGRAMS.iter().any(|program| it.starts_with(program));
    let mut commands: Vec<_> = quoted(text()).into_iter().filter(begins).collect();
    commands.sort_unstable();
    commands.dedup();
    assert_eq!(commands, COMMANDS);
}

#[test]
fn when_mptd_does_not_start() {
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    let keys = sites.keys(&mut at_a, &mut at_b);
    let fails = |shell: &mut Shell, command: &str, code: i32, expected: &str| {
        let (ended, printed) = shell.run(command);
        assert!(ended == code && printed.contains(expected), "{command}: {ended}: {printed}");
    };
    at_a.write("/etc/mpt/mpt.toml", "nonsense = 1");
    fails(&mut at_a, "mptd", 78, "mpt.toml:1: nonsense: unknown key");
    fails(&mut at_a, "mptd --check", 78, "mpt.toml:1: nonsense: unknown key");

    at_a.write("/etc/mpt/mpt.toml", &TwoSites::config(0, &keys[1]));
    at_a.succeeds("chmod 644 /etc/mpt/private.key");
    fails(&mut at_a, "mptd --check", 78, "is open to others (mode 0644)");
    at_a.succeeds("chmod 600 /etc/mpt/private.key && mptd --check");
    at_a.succeeds("getent group mpt || echo mpt:x:990: >>/etc/group");
    at_a.succeeds("id mpt || echo mpt:x:990:990::/:/bin/false >>/etc/passwd");
    at_a.succeeds("chown mpt /etc/mpt /etc/mpt/mpt.toml");
    fails(&mut at_a, "mptd --check", 78, "cannot be read: Permission denied");
    at_a.succeeds("chown mpt /etc/mpt/private.key && mptd --check");

    at_a.succeeds("ip tuntap add mpt0 mode tun");
    fails(&mut at_a, "mptd", 1, "device mpt0 exists already");
    at_a.succeeds("ip link show mpt0");
}

#[test]
fn when_a_session_stays_connecting() {
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    let keys = sites.keys(&mut at_a, &mut at_b);
    let other = at_a.succeeds("mpt genkey | mpt pubkey");
    // Each end has a wrong key for the other one.
    check_and_start(&mut at_a, &TwoSites::config(0, other.trim()));
    check_and_start(&mut at_b, &TwoSites::config(1, other.trim()));
    wait_until_shown(&mut at_b, "mpt show", &["bad_mac", "connecting"]);
    for command in ["mpt status", "mpt doctor"] {
        wait_until_shown(&mut at_a, command, &["keys of both ends"]);
    }

    // A has the right one, and a pre-shared key of which B does not know.
    at_a.succeeds("(umask 077 && mpt genpsk >/etc/mpt/b.psk)");
    let right = TwoSites::config(0, &keys[1]);
    let with_psk = right.replace("public_key", "psk_file = \"/etc/mpt/b.psk\"\npublic_key");
    at_a.write("/etc/mpt/mpt.toml", &with_psk);
    at_a.succeeds("mpt reload");
    wait_until_shown(&mut at_b, "mpt show", &["unknown_peer"]);

    at_b.write("/etc/mpt/mpt.toml", &TwoSites::config(1, &keys[0]));
    at_b.succeeds("mpt reload");
    wait_for("handshake_failed at either end", || {
        let shown = [&mut at_a, &mut at_b].map(|shell| shell.succeeds("mpt show"));
        shown.iter().any(|it| it.contains("handshake_failed")).then_some(())
    });
    for command in ["mpt status", "mpt doctor"] {
        wait_until_shown(&mut at_a, command, &["psk_file"]);
    }

    at_a.write("/etc/mpt/mpt.toml", &right);
    at_a.succeeds("mpt reload");
    wait_until_shown(&mut at_a, "mpt status", &["mpt up"]);
}

#[test]
fn when_the_tunnel_is_up() {
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    let keys = sites.start(&mut at_a, &mut at_b);
    let quoted = quoted(text());
    at_a.succeeds("mpt doctor");
    let shown: Value = serde_json::from_str(&at_a.succeeds("mpt show --json")).unwrap();
    let liveness = &shown["connections"][0]["paths"][0]["liveness"];
    assert!(liveness["hears_us"] == true && liveness["we_hear"] == true, "{shown}");
    let route = only(&quoted, "ip route get").replace("REMOTE", "192.0.2.2");
    assert!(at_a.succeeds(&route).contains("dev eth0"));
    let measured = at_a.succeeds("mpt measure b --duration 100ms");
    assert!(measured.contains("line1") && measured.contains("line2"), "{measured}");

    // A device that is set down and up has its routes again.
    let routes = at_a.succeeds("ip route show dev mpt0");
    assert!(routes.contains("192.168.2.0/24"), "{routes}");
    at_a.succeeds("ip link set mpt0 down");
    assert!(!at_a.succeeds("ip route").contains("mpt0"));
    at_a.succeeds("ip link set mpt0 up");
    wait_until_shown(&mut at_a, "ip route show dev mpt0", &[&routes]);
    wait_until_shown(&mut at_a, "cat /run/started.log", &["put back"]);

    // A kernel without the module takes the command for what it is, and has no such queue.
    let (code, said) = at_a.run(only(&quoted, "tc qdisc"));
    if code == 0 {
        at_a.succeeds("tc qdisc del dev eth1 root");
    } else {
        assert!(said.contains("qdisc kind is unknown"), "{said}");
        eprintln!(
            "this kernel has no cake: tc has understood the command, and nothing was limited"
        );
    }

    // Without a session the largest packet is that of the plain protocol.
    for (shell, end) in [(&mut at_a, 0), (&mut at_b, 1)] {
        restart(shell, &without_session(&TwoSites::config(end, &keys[1 - end])));
    }
    let ping = only(&quoted, "ping -M do").replace("ping ", "ping -c 1 -w 5 ");
    wait_until_shown(&mut at_a, &ping, &[" 1 received"]);
    let (code, too_long) = at_a.run(&ping.replace("1436", "1437"));
    assert!(code != 0 && too_long.contains("message too long"), "{too_long}");
}
