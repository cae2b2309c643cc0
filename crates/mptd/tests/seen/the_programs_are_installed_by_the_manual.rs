//! Section 1 of docs/operations.md: its commands install, configure and start the programs on a host that has none, and the doctor prints what
//! stands there. `make deb-test` installs the packages, and has systemd start the service.

use std::path::Path;

use crate::command_line::program;
use crate::hosts::Host;
use crate::operations::{block, commands, configurations, only, quoted, section, wait_until_shown};
use crate::shell::Shell;

const README: &str = include_str!("../../../../README.md");
/// The commands of the section; the tests of `mpt setup` and `mpt join` run those of both.
const COMMANDS: [&str; 11] = [
    "mpt genkey -o /etc/mpt/private.key",
    "mpt genpsk -o /etc/mpt/concentrator.psk",
    "cp /usr/share/doc/mpt/examples/client.toml /etc/mpt/mpt.toml",
    "mptd --check",
    "systemctl restart mptd",
    "install -m 0644 packaging/mptd.service /etc/systemd/system/",
    "install -m 0644 packaging/mpt.sysusers /usr/lib/sysusers.d/mpt.conf && systemd-sysusers",
    "install -d -o mpt -g mpt -m 0750 /etc/mpt",
    "systemctl enable mptd",
    "nft add rule inet filter input udp dport 4754 accept",
    "mpt setup site --here 192.168.1.0/24 --there 192.168.2.0/24",
];

fn text() -> &'static str {
    section("## 1. Installation")
}

/// Gives the host directories of its own for programs and devices, and goes to a copy of the tree in which they have been built.
fn prepare(shell: &mut Shell) {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = program().parent().unwrap().display().to_string();
    for command in [
        "mkdir /run/usr && mount -t tmpfs tmpfs /run/usr && mkdir /run/usr/upper /run/usr/work",
        "mount -t overlay overlay -o lowerdir=/usr,upperdir=/run/usr/upper,workdir=/run/usr/work /usr",
        "mkdir -p /dev/net && mount -t tmpfs tmpfs /dev/net && mknod -m 0600 /dev/net/tun c 10 200",
        "rm -rf /etc/mpt && mkdir -p /run/tree/target && cd /run/tree",
        &format!("ln -s {programs} target/release && ln -s {}/packaging .", tree.display()),
        // The package brings these files.
        "mkdir -p /usr/share/doc/mpt",
        &format!("cp -r {}/examples /usr/share/doc/mpt/", tree.display()),
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    ] {
        shell.succeeds(command);
    }
}

#[test]
fn whose_commands_are_those_that_are_tested() {
    assert_eq!(commands(text()), COMMANDS);
}

/// The README's way: `make build`, which continuous integration runs for its packages, and one command.
#[test]
fn and_by_the_readme() {
    let quick_start = README.split("## Quick start").nth(1).unwrap();
    let building: Vec<_> = commands(quick_start).into_iter().take(2).collect();
    let [build, install] = building[..] else { panic!("{building:?}") };
    let host = Host::new("bare");
    let mut shell = Shell::new(&host);
    prepare(&mut shell);
    assert_eq!(build, "make build");
    assert_ne!(shell.run("command -v mpt").0, 0, "there is no mpt yet");
    shell.succeeds(install.strip_prefix("sudo ").expect(install));
    // Where sudo looks for it.
    shell.succeeds("PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin");
    for program in ["mpt", "mptd"] {
        let place = shell.succeeds(&format!("command -v {program} && {program} --version"));
        assert!(place.starts_with(&format!("/usr/local/sbin/{program}\n{program} ")), "{place}");
    }
}

#[test]
fn by_hand_up_to_a_running_daemon() {
    let host = Host::new("bare");
    let mut shell = Shell::new(&host);
    prepare(&mut shell);
    let (commands, quoted) = (commands(text()), quoted(text()));
    let by_hand = commands.iter().position(|it| it.starts_with("install ")).unwrap();
    assert_ne!(shell.run("command -v mptd").0, 0, "there is no mptd yet");
    for name in ["mptd /usr/sbin", "mpt /usr/bin"] {
        shell.succeeds(only(&quoted, &format!("install target/release/{name}")));
    }
    for command in &commands[by_hand..by_hand + 4] {
        shell.succeeds(command);
    }
    let enabled = "/etc/systemd/system/multi-user.target.wants/mptd.service";
    shell.succeeds(&format!("test -e {enabled} && id mpt"));
    let about = shell.succeeds("stat -c '%U %G %a' /etc/mpt");
    assert_eq!(about.trim(), "mpt mpt 750");

    shell.succeeds("useradd anna");
    shell.succeeds(only(&quoted, "usermod"));
    assert!(shell.succeeds("id -nG anna").contains("mpt"));
    shell.succeeds(only(&quoted, "chgrp mpt /dev/net/tun"));
    let node = shell.succeeds("stat -c '%U %G %a' /dev/net/tun");
    assert_eq!(node.trim(), "root mpt 660");

    for command in &commands[..3] {
        shell.succeeds(command);
    }
    let checked = shell.succeeds(commands[3]);
    assert!(checked.contains("mpt.toml: good"), "{checked}");
    // As the unit starts it.
    let rights = "--inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --no-new-privs";
    let user = "--reuid=mpt --regid=mpt --init-groups";
    shell.succeeds("chown mpt:mpt /run/mpt");
    let start = shell.succeeds("sed -n 's/^ExecStart=//p' /etc/systemd/system/mptd.service");
    shell.start(&format!("setpriv {user} {rights} {}", start.trim()));
    wait_until_shown(&mut shell, "mpt show", &["connection internet: "]);
}

#[test]
fn and_the_doctor_prints_what_stands_there() {
    let (host, provider) = (Host::new("office"), Host::new("provider"));
    for (uplink, network) in [("eth0", "10.1.0"), ("wwan0", "192.0.2")] {
        let [own, gateway] = [7, 1].map(|end| format!("{network}.{end}/24"));
        host.cable(uplink, &[&own], (&provider, uplink, &[&gateway]));
        host.ip(&format!("route add default via {network}.1 dev {uplink} metric {}", uplink.len()));
    }
    provider.set_link("wwan0", false);
    let mut shell = Shell::new(&host);
    let [_, config] = configurations(section("## 3. An office"))[..] else { panic!("two ends") };
    let key = shell.succeeds("mpt genkey -o /etc/mpt/private.key; mpt genkey | mpt pubkey");
    // The office opens the port to show what a closed one looks like.
    let config = config.replace("PUBLIC KEY OF THE CONCENTRATOR", key.trim());
    let config = config.replace("[[connection.path]]", "[[connection.path]]\nlocal_port = 4754");
    shell.write("/etc/mpt/mpt.toml", &config.replace("vpn.example.org", "198.51.100.1"));
    shell.succeeds("nft add table inet filter");
    shell.succeeds(
        "nft 'add chain inet filter input { type filter hook input priority 0; policy drop; }'",
    );
    let (code, said) = shell.run("mpt doctor");
    assert_eq!(code, 1, "{said}");
    for line in block(text(), "text").lines() {
        assert!(said.lines().any(|it| it == line), "{line}\nis not in\n{said}");
    }
    shell.succeeds(only(&commands(text()), "nft add rule"));
    let (_, said) = shell.run("mpt doctor");
    assert!(said.contains("filter     UDP port 4754: nothing seen that keeps it closed"), "{said}");
}
