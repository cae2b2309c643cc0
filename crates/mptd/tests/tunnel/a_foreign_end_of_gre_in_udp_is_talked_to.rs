//! The other end is a Linux kernel (`ip fou` and a GRE device), with the commands that docs/operations.md gives. Where the kernel has not these
//! modules, it is scapy in user space, which builds and reads the same packets. Standard error says which it was.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::hosts::{Config, Daemon, Line, PATIENCE, Pair};

const SCAPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/gre_peer.py");
/// Pings in each direction.
const PINGS: usize = 6;

/// What the two ends have agreed on.
#[derive(Clone, Copy)]
struct Agreement {
    /// Whether the outer packets are IPv6.
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
    fn start(pair: &'a Pair, agreed: Agreement) -> Self {
        let (local, remote) =
            if agreed.v6 { ("fd00:71:1::2", "fd00:71:1::1") } else { ("10.71.1.2", "10.71.1.1") };
        let linux = commands(agreed, local, remote).iter().all(|command| {
            let mut ip = pair.b.namespace.command("ip").unwrap();
            ip.args(command.split_whitespace()).stderr(Stdio::null()).status().unwrap().success()
        });
        let which =
            if linux { "the kernel: ip fou and gre" } else { "scapy: this kernel has no fou" };
        // Not captured by the harness, other than by print macros.
        let _ = writeln!(std::io::stderr(), "foreign end of GRE in UDP: {which}");
        if linux {
            return Self::Linux(pair);
        }
        let mut command: Command = pair.b.namespace.command("/usr/bin/python3").unwrap();
        let key = agreed.key.map_or("-".to_owned(), |key| key.to_string());
        let numbered = if agreed.numbered { "numbered" } else { "plain" };
        command.args([SCAPY, local, remote, &key, numbered]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(line(&mut child), "ready");
        Self::Scapy(child)
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

/// As docs/operations.md has them.
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

/// Until so many answers have come.
fn pings(host: &crate::hosts::Host, address: &str) {
    let mut command = host.namespace.command("ping").unwrap();
    let deadline = PATIENCE.as_secs().to_string();
    command.args(["-c", &PINGS.to_string(), "-i", "0.05", "-s", "1200", "-w", &deadline, address]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn talk(agreed: Agreement) {
    let pair = Pair::new(&[Line::plain()]);
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
    let mut foreign = Foreign::start(&pair, agreed);
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

#[test]
fn over_ipv4() {
    talk(Agreement { v6: false, key: None, numbered: false });
}

#[test]
fn over_ipv6() {
    talk(Agreement { v6: true, key: None, numbered: false });
}

#[test]
fn with_a_key_and_numbers() {
    talk(Agreement { v6: false, key: Some(7), numbered: true });
}
