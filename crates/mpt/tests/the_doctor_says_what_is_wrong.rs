//! `mpt doctor` on hosts (network namespaces) on which things are as they should be, or are not.

mod example;

use std::fs;
use std::io::{BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use mpt_api::{MAX_REQUEST, Reply, Response, read_line, to_line};
use mpt_linux::netns::{Namespace, run_in};
use serde_json::Value;

/// A host with two lines: `line1` has an address and a default route, `line2` is down.
struct Host {
    namespace: Namespace,
    directory: tempfile::TempDir,
}

const HEAD: &str = r#"
[[device]]
name = "mpt0"
addresses = ["10.72.0.1/30"]
[[connection]]
name = "office"
networks = ["10.72.0.2/32"]
"#;
const GOOD: &str = r#"
[[connection.path]]
name = "dsl"
local = "10.71.1.1"
remote = "203.0.113.9"
"#;

impl Host {
    fn new() -> Self {
        static HOSTS: AtomicU32 = AtomicU32::new(0);
        let number = HOSTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mpt-doctor-{}-{number}", std::process::id());
        let host = Self {
            namespace: Namespace::create(&name).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        };
        for command in [
            "link set lo up",
            "link add line1 type veth peer name far1",
            "link add line2 type veth peer name far2",
            "addr add 10.71.1.1/24 dev line1",
            "link set line1 up",
            "link set far1 up",
            "route add default via 10.71.1.2",
        ] {
            host.ip(command);
        }
        host
    }

    fn ip(&self, arguments: &str) {
        let mut command = self.namespace.command("ip").unwrap();
        let done = command.args(arguments.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "ip {arguments}: {done:?}");
    }

    fn sysctl(&self, setting: &str) {
        let mut command = self.namespace.command("sysctl").unwrap();
        assert!(command.args(["-q", "-w", setting]).status().unwrap().success());
    }

    fn doctor(&self, config: &str, arguments: &[&str]) -> Output {
        let file = self.directory.path().join("mpt.toml");
        fs::write(&file, config).unwrap();
        let mut command: Command = self.namespace.command(env!("CARGO_BIN_EXE_mpt")).unwrap();
        command.arg("--socket").arg(self.directory.path().join("none.sock"));
        command.arg("doctor").arg("--config").arg(&file).args(arguments);
        command.output().unwrap()
    }

    /// Returns the findings as (check, level, message, advice).
    fn findings(&self, config: &str) -> Vec<[String; 4]> {
        Self::parse(self.doctor(config, &["--json"]))
    }

    /// Returns the findings where the TUN driver's node is root's and has this mode.
    fn findings_with_node(&self, config: &str, mode: &str) -> Vec<[String; 4]> {
        const SCRIPT: &str = r#"
            mount -t tmpfs tmpfs /mnt
            mknod /mnt/tun c 10 200
            chmod "$1" /mnt/tun
            mount --bind /mnt/tun /dev/net/tun
            shift
            exec "$@""#;
        let file = self.directory.path().join("mpt.toml");
        fs::write(&file, config).unwrap();
        let mut command = self.namespace.command("unshare").unwrap();
        command.args(["--mount", "sh", "-e", "-c", SCRIPT, "sh", mode, env!("CARGO_BIN_EXE_mpt")]);
        command.args(["doctor", "--json", "--config"]).arg(&file);
        Self::parse(command.output().unwrap())
    }

    fn parse(output: Output) -> Vec<[String; 4]> {
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = json["findings"].as_array().unwrap().iter().map(|it| {
            ["check", "level", "message", "advice"]
                .map(|key| it[key].as_str().unwrap_or_default().to_owned())
        });
        let findings: Vec<_> = findings.collect();
        let sick = findings.iter().any(|it| it[1] == "error");
        assert_eq!(output.status.code(), Some(i32::from(sick)), "{findings:?}");
        findings
    }
}

fn with(path: &str) -> String {
    format!("{HEAD}[[connection.path]]\nname = \"dsl\"\n{path}\n")
}

#[track_caller]
fn assert_found(findings: &[[String; 4]], check: &str, level: &str, message: &str, advice: &str) {
    let found = findings.iter().any(|it| {
        it[0] == check && it[1] == level && it[2].contains(message) && it[3].contains(advice)
    });
    assert!(found, "no {level} of {check} with {message:?} and {advice:?} in {findings:#?}");
}

#[test]
fn a_host_as_it_should_be_has_no_error() {
    let host = Host::new();
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    assert!(!findings.iter().any(|it| it[1] == "error"), "{findings:#?}");
    assert_found(&findings, "config", "ok", "good, with 1 connection", "");
    assert_found(&findings, "link", "ok", "office dsl: line1 is up", "");
    assert_found(&findings, "mtu", "ok", "office dsl: 1500 bytes outside, 1464 inside", "");
    assert_found(&findings, "route", "ok", "to 203.0.113.9", "");
    assert_found(&findings, "port", "ok", "UDP 10.71.1.1:4754: free", "");
    assert_found(&findings, "rp_filter", "ok", "", "");
    assert_found(&findings, "daemon", "warning", "none.sock", "systemctl start mptd");
    for check in ["tun", "offloads", "landlock", "filter"] {
        assert!(findings.iter().any(|it| it[0] == check), "{check} in {findings:#?}");
    }
    // The device was there for a moment only.
    let mut links = host.namespace.command("ip").unwrap();
    let links = String::from_utf8(links.args(["-o", "link"]).output().unwrap().stdout).unwrap();
    assert!(!links.contains("mpt-doctor"), "{links}");
}

#[test]
fn a_driver_that_the_user_of_the_daemon_cannot_open() {
    let host = Host::new();
    let config = format!("daemon.user = \"nobody\"\n{HEAD}{GOOD}");
    let message = "/dev/net/tun is not open to user nobody";
    for (mode, told) in [("0666", false), ("0600", true)] {
        let findings = host.findings_with_node(&config, mode);
        let found = findings.iter().any(|it| it[0] == "tun" && it[2].contains(message));
        assert_eq!(found, told, "mode {mode}: {findings:#?}");
        if told {
            assert_found(&findings, "tun", "note", message, "chgrp nobody /dev/net/tun");
        }
    }
}

#[test]
fn the_text_ends_with_the_numbers() {
    let host = Host::new();
    let output = host.doctor(&with("local = \"10.71.9.9\"\nremote = \"203.0.113.9\""), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ERROR   address    office dsl: no interface has 10.71.9.9\n"), "{text}");
    assert!(text.contains("\n                   -> ip addr shows"), "{text}");
    assert!(text.ends_with("1 error, 1 warning\n"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "mpt: one of the findings is an error\n");
}

#[test]
fn interfaces_that_cannot_carry_anything() {
    let host = Host::new();
    let of = |interface: &str| {
        host.findings(&with(&format!("interface = \"{interface}\"\nremote = \"203.0.113.9\"")))
    };
    assert_found(&of("line2"), "link", "error", "line2 is down", "ip link set line2 up");
    assert_found(&of("line3"), "link", "error", "line3", "ip link");
    host.ip("link set far1 down");
    assert_found(&of("line1"), "link", "error", "line1 has no carrier", "cable");
}

#[test]
fn a_missing_route() {
    let host = Host::new();
    host.ip("route del default");
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    assert_found(&findings, "route", "error", "office dsl", "ip route get 203.0.113.9");
    let findings = host.findings(&with("interface = \"line1\"\nremote = \"203.0.113.9\""));
    assert_found(&findings, "route", "error", "line1 has neither", "dev line1");
}

#[test]
fn an_mtu_that_does_not_fit() {
    let host = Host::new();
    let path = "local = \"10.71.1.1\"\nremote = \"203.0.113.9\"\nmtu = 1500";
    host.ip("link set line1 mtu 1400");
    let findings = host.findings(&with(path));
    assert_found(
        &findings,
        "mtu",
        "error",
        "mtu 1500, but line1 takes packets of 1400",
        "mtu = 1400",
    );
    let v6 = format!("{HEAD}{GOOD}").replace("\"10.72.0.2/32\"", "\"10.72.0.2/32\", \"fd00::/64\"");
    host.ip("link set line1 mtu 1300");
    assert_found(&host.findings(&v6), "mtu", "error", "IPv6 needs 1280", "larger MTU");
}

#[test]
fn a_port_that_another_program_has() {
    let host = Host::new();
    let bound = run_in(&host.namespace, || UdpSocket::bind("10.71.1.1:4754")).unwrap().unwrap();
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    assert_found(&findings, "port", "error", "10.71.1.1:4754: another program has it", "ss -lunp");
    drop(bound);

    let prototype = "compat = \"mptsrv\"\n[connection.mptsrv]\nremote = \"10.72.0.2\"\n";
    let _mptsrv = run_in(&host.namespace, || UdpSocket::bind("0.0.0.0:60456")).unwrap().unwrap();
    let findings = host.findings(&format!("{HEAD}{prototype}{GOOD}"));
    assert_found(&findings, "port", "error", "10.71.1.1:60456: another program has it", "ss -lunp");
    assert_found(&findings, "port", "ok", "10.71.1.1:4754: free", "");
}

#[test]
fn a_filter_that_drops_what_no_rule_names() {
    let host = Host::new();
    let nft = |rule: &str| {
        let mut command = host.namespace.command("nft").unwrap();
        assert!(command.arg(rule).status().unwrap().success(), "{rule}");
    };
    nft("add table inet guard");
    nft("add chain inet guard in { type filter hook input priority filter; policy drop; }");
    nft("add rule inet guard in udp dport { 53, 123 } accept");
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    let advice = "nft insert rule inet guard in udp dport 4754 accept";
    assert_found(&findings, "filter", "warning", "4754: probably closed", advice);
    // The command of the advice helps.
    nft(advice.strip_prefix("nft ").unwrap());
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    assert_found(&findings, "filter", "ok", "UDP port 4754", "");
}

#[test]
fn a_strict_reverse_path_filter() {
    let host = Host::new();
    host.ip("link set line2 up");
    host.ip("link set far2 up");
    host.ip("addr add 10.71.2.1/24 dev line2");
    host.ip("route add default via 10.71.2.2 metric 99");
    host.sysctl("net.ipv4.conf.line2.rp_filter=1");
    let findings = host.findings(&with("interface = \"line2\"\nremote = \"203.0.113.9\""));
    let advice = "write net.ipv4.conf.line2.rp_filter = 2 into /etc/sysctl.d/mpt.conf";
    assert_found(&findings, "rp_filter", "error", "strict rp_filter on line2", advice);
}

#[test]
fn a_host_that_passes_nothing_on() {
    let host = Host::new();
    host.sysctl("net.ipv4.ip_forward=0");
    let config = format!("{HEAD}{GOOD}").replace("10.72.0.2/32", "192.168.2.0/24");
    assert_found(
        &host.findings(&config),
        "forward",
        "warning",
        "net.ipv4.ip_forward = 0",
        "sysctl --system",
    );
    host.sysctl("net.ipv4.ip_forward=1");
    assert_found(&host.findings(&config), "forward", "ok", "net.ipv4.ip_forward = 1", "");
}

#[test]
fn a_configuration_with_errors() {
    let host = Host::new();
    let findings = host.findings(&format!("{HEAD}{GOOD}wieght = 3\n"));
    assert_found(&findings, "config", "error", "wieght", "examples/mpt.toml");
}

#[test]
fn a_daemon_that_does_not_answer_in_its_language() {
    let host = Host::new();
    let socket = host.directory.path().join("none.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let silent = std::thread::spawn(move || drop(listener.accept()));
    let findings = host.findings(&format!("{HEAD}{GOOD}"));
    assert!(findings.iter().any(|it| it[0] == "daemon" && it[1] == "warning"), "{findings:#?}");
    silent.join().unwrap();
    assert!(Path::new(&socket).exists());
}

/// Has the host answer as a daemon that runs with the device `mpt0`.
fn with_daemon(host: &Host) {
    let mut snapshot = example::snapshot();
    snapshot.connections.clear();
    snapshot.devices.truncate(1);
    let device = &mut snapshot.devices[0];
    device.name = "mpt0".to_owned();
    device.addresses = vec!["10.72.0.1/30".parse().unwrap()];
    device.mtu = 1400;
    let listener = UnixListener::bind(host.directory.path().join("none.sock")).unwrap();
    let answer = to_line(&Response::result(Reply::Snapshot(Box::new(snapshot))));
    // It ends with the process.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while let Ok(Some(_)) = read_line(&mut lines, MAX_REQUEST) {
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
}

/// The things that mptd makes for a network and a default route, with the table 1836056576.
const MADE: [&str; 10] = [
    "tuntap add mpt0 mode tun",
    "link set mpt0 mtu 1400 up",
    "addr add 10.72.0.1/30 dev mpt0",
    "route add 10.80.0.0/16 dev mpt0 proto 109",
    "rule add not fwmark 0x6d7074 priority 32763 lookup main suppress_prefixlength 0 protocol kernel",
    "rule add not fwmark 0x6d7074 priority 32764 lookup 1836056576 protocol 109",
    "rule add not fwmark 0x6d7074 priority 32765 unreachable protocol kernel",
    "route add default dev mpt0 table 1836056576 proto 109",
    "route add unreachable default metric 4294967295 table 1836056576 proto 109",
    "route add unreachable 10.80.0.0/16 metric 1836056576 proto kernel",
];

#[test]
fn what_mptd_made_is_compared_with_what_is_there() {
    let config = format!("{HEAD}{GOOD}").replace("10.72.0.2/32", r#"10.80.0.0/16", "0.0.0.0/0"#);
    let host = Host::new();
    MADE.iter().for_each(|command| host.ip(command));
    with_daemon(&host);
    let differences = || -> Vec<String> {
        let findings = host.findings(&config).into_iter();
        let of_system =
            findings.filter(|it| ["system", "device", "route", "rule"].contains(&&*it[0]));
        // The path's own way is another matter.
        let of_mptd = of_system.filter(|it| !it[2].starts_with("office dsl"));
        let bad = of_mptd.filter(|it| it[1] != "ok").map(|it| {
            assert_ne!(it[3], "", "{it:?} says what to do");
            it[2].clone()
        });
        bad.collect()
    };
    assert_eq!(differences(), Vec::<String>::new());
    for (remove, put_back, message) in [
        (
            "rule del priority 32763",
            MADE[4],
            "office: the default route of IPv4 lacks the rule that looks into the main table",
        ),
        (
            "rule del priority 32764",
            MADE[5],
            "office: the default route of IPv4 lacks the rule that leads into the tunnel",
        ),
        (
            "rule del priority 32765",
            MADE[6],
            "office: the default route of IPv4 lacks the rule that blocks the way around the tunnel (32765)",
        ),
        (
            "route del default dev mpt0 table 1836056576",
            MADE[7],
            "office: the default route of IPv4 lacks its route to the device",
        ),
        ("route del 10.80.0.0/16", MADE[3], "office: no route to 10.80.0.0/16 leads to mpt0"),
        (
            "route del unreachable 10.80.0.0/16",
            MADE[9],
            "office: 10.80.0.0/16 lacks the unreachable route that blocks the way around the tunnel",
        ),
        ("addr add 10.72.0.5/30 dev mpt0", "addr del 10.72.0.5/30 dev mpt0", ""),
        (
            "link set mpt0 mtu 1300",
            "link set mpt0 mtu 1400",
            "mpt0 has an MTU of 1300, and should have 1400",
        ),
    ] {
        host.ip(remove);
        let expected: Vec<_> = [message].into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(differences(), expected, "after ip {remove}");
        host.ip(put_back);
        assert_eq!(differences(), Vec::<String>::new(), "after ip {put_back}");
    }
    host.ip("addr del 10.72.0.1/30 dev mpt0");
    // With the last address the kernel takes the device's routes away, too.
    assert!(differences().contains(&"mpt0 lacks its address 10.72.0.1/30".to_owned()));
    host.ip("link set mpt0 down");
    assert_eq!(differences(), ["mpt0 is down"]);
}

#[test]
fn a_block_that_a_killed_daemon_has_left_is_named() {
    let config = format!("{HEAD}{GOOD}").replace("10.72.0.2/32", "0.0.0.0/0");
    let host = Host::new();
    let blocked = || host.findings(&config).into_iter().find(|it| it[0] == "blocked");
    assert_eq!(blocked(), None);
    host.ip(MADE[6]);
    let [_, level, message, advice] = blocked().expect("a finding");
    assert_eq!(level, "error");
    assert!(message.contains("IPv4") && advice.contains("mptd --unblock"), "{message}: {advice}");
}

#[test]
fn a_network_that_a_killed_daemon_has_left_blocked_is_named() {
    let host = Host::new();
    let config = format!("{HEAD}{GOOD}");
    let blocked = || host.findings(&config).into_iter().find(|it| it[0] == "blocked");
    assert_eq!(blocked(), None);
    host.ip(MADE[9]);
    let [_, level, message, advice] = blocked().expect("a finding");
    assert_eq!(level, "error");
    assert!(
        message.contains("10.80.0.0/16") && advice.contains("mptd --unblock"),
        "{message}: {advice}"
    );
}
