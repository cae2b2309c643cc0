//! Section 11 of docs/operations.md: its commands capture outer and inner packets, and each of its filters finds those that it is said to find.

use serde_json::Value;

use crate::machines::carry;
use crate::operations::{
    TwoSites, commands, only, quoted, restart, section, wait_until_shown, without_session,
};
use crate::shell::Shell;

/// The MTU of the lines, in bytes.
const MTU: u64 = 1500;

/// The filters of the section, those of the first byte after the GRE header with the one of control frames. Cookies travel only under a flood.
const FILTERS: [(&str, bool); 8] = [
    ("gre.proto == 0x0800 or gre.proto == 0x86dd", true),
    ("gre.proto == 0x88b5", true),
    ("gre.proto == 0x88b6", true),
    ("gre.proto == 0x88b5 and data.data[0] == 1", true),
    ("gre.proto == 0x88b5 and data.data[0] == 2", true),
    ("gre.proto == 0x88b5 and data.data[0] == 3", false),
    ("gre.proto == 0x88b5 and data.data[0] == 4", true),
    ("gre.key == 7", true),
];

fn text() -> &'static str {
    section("## 11. Taking a capture")
}

#[test]
fn whose_filters_are_those_that_are_tested() {
    let filters: Vec<_> = quoted(text()).into_iter().filter(|it| it.contains(" == ")).collect();
    assert_eq!(
        filters,
        [FILTERS[0].0, FILTERS[1].0, FILTERS[2].0, "data.data[0] == 1", FILTERS[7].0]
    );
}

/// A capture into a file, which the shell runs in the background.
struct Capture {
    process: String,
    file: &'static str,
}

impl Capture {
    /// Starts it by this command, and waits until it takes packets.
    fn start(shell: &mut Shell, command: &str, interface: &str, file: &'static str) -> Self {
        assert!(command.contains(&format!(" -w {file}")), "{command}");
        shell.start(command);
        let process = shell.succeeds("echo $!").trim().to_owned();
        wait_until_shown(shell, "cat started.log", &[&format!("listening on {interface}")]);
        Self { process, file }
    }

    /// Ends it once it has a packet that is shown so, and returns all that it shows. The kernel hands packets over in order, up to a second late.
    fn end(self, shell: &mut Shell, last: &str) -> String {
        let Self { process, file } = self;
        let look = format!("kill -USR2 {process}; sleep 0.1; tcpdump -nr {file} 2>/dev/null");
        wait_until_shown(shell, &look, &[last]);
        // A shell without jobs has its background ignore SIGINT, which a user would send by a key.
        shell.succeeds(&format!("kill -TERM {process}; wait {process}"));
        shell.succeeds(&format!("tcpdump -nr {file}"))
    }
}

/// Returns how many packets of a capture each filter finds.
fn counted(shell: &mut Shell, file: &str) -> Vec<u64> {
    let columns: String = FILTERS.iter().map(|(filter, _)| format!(",{filter}")).collect();
    let table = shell.succeeds(&format!("tshark -q -r {file} -z 'io,stat,0{columns}' 2>/dev/null"));
    let row = table.lines().find(|line| line.contains("<>")).expect(&table);
    // The interval, and then frames and bytes for each filter.
    let cells = row.split('|').skip(2).step_by(2).map(str::trim).filter(|it| !it.is_empty());
    cells.map(|it| it.parse().expect(&table)).collect()
}

#[test]
fn of_sealed_and_of_plain_data() {
    let commands = commands(text());
    let [outer, inner, decode] = commands[..] else { panic!("{commands:?}") };
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    at_a.succeeds("cd /run");
    let outer = Capture::start(&mut at_a, outer, "eth0", "outer.pcap");
    let keys = sites.start(&mut at_a, &mut at_b);
    let inner = Capture::start(&mut at_a, inner, "mpt0", "inner.pcap");
    carry(&sites.a, &sites.b, "10.9.0.2");
    at_a.succeeds("ping -c 3 -i 0.1 -w 15 10.9.0.2");
    let seen = inner.end(&mut at_a, "10.9.0.2 > 10.9.0.1: ICMP echo reply");
    assert!(seen.contains("IP 10.9.0.1 > 10.9.0.2: ICMP echo request"), "{seen}");

    for (shell, own) in [(&mut at_a, 0), (&mut at_b, 1)] {
        let plain = without_session(&TwoSites::config(own, &keys[1 - own]));
        restart(shell, &plain.replace("[[connection]]", "[[connection]]\nkey = 7"));
    }
    wait_until_shown(&mut at_a, "ping -c 1 -w 1 10.9.0.2", &[" 1 received"]);
    carry(&sites.a, &sites.b, "10.9.0.2");
    let before = sent(&mut at_a);
    at_a.succeeds(only(&quoted(text()), "ethtool"));
    carry(&sites.a, &sites.b, "10.9.0.2");
    // The last packet, which is none of mptd's.
    sites.a.udp("192.0.2.1:0").send_to(b"end", "192.0.2.2:4754").unwrap();
    outer.end(&mut at_a, "UDP, length 3");

    let found = counted(&mut at_a, "outer.pcap");
    for (&(filter, expected), found) in FILTERS.iter().zip(&found) {
        assert_eq!(*found > 0, expected, "{found} packets of {filter}: {found:?}");
    }
    let decoded = at_a.succeeds(decode);
    // Sealed packets have the outer addresses alone.
    assert!(decoded.contains("\t192.0.2.1\t"), "{decoded}");
    let plain = numbers_and_lengths(&decoded, "192.0.2.1,10.9.0.1");
    let (with, without): (Vec<_>, Vec<_>) = plain.into_iter().partition(|it| it.0 < before);
    assert!(with.iter().any(|it| it.1 > MTU), "batches of the interface: {with:?}");
    assert_eq!(without.iter().map(|it| it.1).max(), Some(MTU), "none: {without:?}");
}

/// Returns how many packets the only connection has sent.
fn sent(shell: &mut Shell) -> u64 {
    let shown: Value = serde_json::from_str(&shell.succeeds("mpt show --json")).unwrap();
    shown["connections"][0]["sent"]["packets"].as_u64().expect("a number")
}

/// Returns the numbers and the outer lengths of the decoded packets with these sources.
fn numbers_and_lengths(decoded: &str, sources: &str) -> Vec<(u64, u64)> {
    let number = |text: &str| text.split(',').next().unwrap().parse().expect("a number");
    let lines = decoded.lines().filter_map(|line| line.split_once(&format!("\t{sources}\t")));
    let fields = lines.map(|(_, rest)| rest.split_once('\t').expect("number and length"));
    fields.map(|(sequence, length)| (number(sequence), number(length))).collect()
}
