//! The other end is scapy in user space, which builds and reads the packets of RFC 8086, and a Linux kernel (`ip fou` and a GRE device) with
//! the commands that docs/operations.md gives. Each test's name says which end it talks to. A kernel without the `fou` module refuses the first
//! command, which the kernel's tests then assert.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::hosts::{Config, Daemon, Line, PATIENCE, Pair};

const SCAPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/gre_peer.py");
/// Pings in each direction.
const PINGS: usize = 6;

/// The agreement of the two ends.
#[derive(Clone, Copy)]
struct Agreement {
    /// True if the outer packets are IPv6.
    v6: bool,
    key: Option<u32>,
    numbered: bool,
}

/// The other end of a tunnel from `a`, on host `b`.
enum Foreign<'a> {
    Linux(&'a Pair),
    Scapy(Child),
}

impl<'a> Foreign<'a> {
    /// Starts scapy.
    fn scapy(pair: &'a Pair, agreed: Agreement) -> Self {
        let (local, remote) = agreed.addresses();
        let mut command: Command = pair.b.namespace.command("/usr/bin/python3").unwrap();
        let key = agreed.key.map_or("-".to_owned(), |key| key.to_string());
        let numbered = if agreed.numbered { "numbered" } else { "plain" };
        command.args([SCAPY, local, remote, &key, numbered]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(line(&mut child), "ready");
        Self::Scapy(child)
    }

    /// Sets up the kernel's own end. Returns `None` where the kernel has no `fou` module: it refuses the very first command, since it does not
    /// know the generic netlink family of that name, and changes nothing. Any other refusal is a failure of the test.
    fn linux(pair: &'a Pair, agreed: Agreement) -> Option<Self> {
        let (local, remote) = agreed.addresses();
        for (number, command) in commands(agreed, local, remote).iter().enumerate() {
            let mut ip = pair.b.namespace.command("ip").unwrap();
            let output = ip.args(command.split_whitespace()).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            if number == 0 && !output.status.success() {
                assert!(errors.contains("No such file or directory"), "ip {command}: {errors}");
                assert!(!pair.b.link_exists("mpt0"));
                return None;
            }
            assert!(output.status.success(), "ip {command}: {errors}");
        }
        Some(Self::Linux(pair))
    }

    /// It pings us, and gets its answers.
    fn ping(&mut self) {
        match self {
            Self::Linux(pair) => pings(&pair.b, "10.72.0.1"),
            Self::Scapy(child) => {
                child.stdin.as_mut().unwrap().write_all(b"ping\n").unwrap();
                assert_eq!(line(child), format!("answered {PINGS}"));
            }
        }
    }
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        if let Self::Scapy(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Agreement {
    /// Outer addresses of the foreign end and of ours.
    fn addresses(self) -> (&'static str, &'static str) {
        if self.v6 { ("fd00:71:1::2", "fd00:71:1::1") } else { ("10.71.1.2", "10.71.1.1") }
    }
}

/// Returns the commands of docs/operations.md.
fn commands(agreed: Agreement, local: &str, remote: &str) -> Vec<String> {
    let (family, kind) = if agreed.v6 { ("-6 ", "ip6gre") } else { ("", "gre") };
    let key = agreed.key.map_or(String::new(), |key| format!(" key {key}"));
    let numbered = if agreed.numbered { " oseq" } else { "" };
    vec![
        format!("{family}fou add port 4754 ipproto 47"),
        format!(
            "link add mpt0 type {kind} local {local} remote {remote} ttl 64{key}{numbered} \
             encap fou encap-sport auto encap-dport 4754"
        ),
        "addr add 10.72.0.2/30 dev mpt0".into(),
        "addr add fd00:72::2/64 dev mpt0 nodad".into(),
        "link set mpt0 mtu 1400 up".into(),
    ]
}

/// One line of its output.
fn line(child: &mut Child) -> String {
    let mut line = String::new();
    // It writes one line for one it was asked for: nothing is lost in the buffer.
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Pings an address until [`PINGS`] answers have come.
fn pings(host: &crate::hosts::Host, address: &str) {
    let mut command = host.namespace.command("ping").unwrap();
    let deadline = PATIENCE.as_secs().to_string();
    command.args(["-c", &PINGS.to_string(), "-i", "0.05", "-s", "1200", "-w", &deadline, address]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Talks to the end that `start` makes; to none where `start` gives none.
fn talk(agreed: Agreement, start: impl for<'a> FnOnce(&'a Pair, Agreement) -> Option<Foreign<'a>>) {
    let pair = Pair::new(&[Line::plain()]);
    let Some(mut foreign) = start(&pair, agreed) else { return };
    let mut config: Config = pair.configs()[0].clone();
    // Packets of the foreign end overtake one another on its only path, which those of a path are otherwise held not to do.
    config.connection("tunnel").set("sequence", agreed.numbered).set("early_release", false);
    if let Some(key) = agreed.key {
        config.connection("tunnel").set("key", i64::from(key));
    }
    if agreed.v6 {
        config.lay_path_v6("tunnel", 1, 1);
    }
    let mut daemon = Daemon::start(&pair.a, &config);
    daemon.wait_until_up();
    pings(&pair.a, "10.72.0.2");
    pings(&pair.a, "fd00:72::2");
    foreign.ping();
    let connection = daemon.connection("tunnel");
    let expected = 3 * PINGS as u64;
    assert!(connection.received.packets >= expected, "{connection:?}");
    assert_eq!(connection.reorder.late + connection.reorder.stray, 0, "{connection:?}");
    if agreed.numbered {
        assert!(connection.reorder.in_order >= expected, "{:?}", connection.reorder);
    }
    drop(foreign);
    daemon.stop();
}

fn with_scapy(agreed: Agreement) {
    talk(agreed, |pair, agreed| Some(Foreign::scapy(pair, agreed)));
}

fn with_linux(agreed: Agreement) {
    talk(agreed, |pair, agreed| Foreign::linux(pair, agreed));
}

const OVER_IPV4: Agreement = Agreement { v6: false, key: None, numbered: false };
const OVER_IPV6: Agreement = Agreement { v6: true, key: None, numbered: false };
const WITH_KEY_AND_NUMBERS: Agreement = Agreement { v6: false, key: Some(7), numbered: true };

#[test]
fn scapy_over_ipv4() {
    with_scapy(OVER_IPV4);
}

#[test]
fn scapy_over_ipv6() {
    with_scapy(OVER_IPV6);
}

#[test]
fn scapy_with_a_key_and_numbers() {
    with_scapy(WITH_KEY_AND_NUMBERS);
}

#[test]
fn a_linux_kernel_over_ipv4_or_it_has_no_fou() {
    with_linux(OVER_IPV4);
}

#[test]
fn a_linux_kernel_over_ipv6_or_it_has_no_fou() {
    with_linux(OVER_IPV6);
}

#[test]
fn a_linux_kernel_with_a_key_and_numbers_or_it_has_no_fou() {
    with_linux(WITH_KEY_AND_NUMBERS);
}
