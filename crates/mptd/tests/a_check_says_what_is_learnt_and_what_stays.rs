//! `mptd --check` says of each connection, in plain words, what it learns and what stays as the file says. The real program does.

use std::fs;
use std::process::Command;

use mpt_core::reorder;

const ADAPTIVE: &str = include_str!("../../../docs/adaptive.md");
const EXAMPLE: &str = include_str!("../../../examples/mpt.toml");

const FILE: &str = r#"
[daemon]
private_key_file = "KEYFILE"

[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]

[[connection]]
name = "office"
networks = ["10.9.0.2"]
CONNECTION
[connection.peer]
public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

[[connection.path]]
name = "dsl"
local = "192.0.2.1"
remote = "198.51.100.1"
DSL

[[connection.path]]
name = "lte"
local = "192.0.2.2"
remote = "198.51.100.2"
LTE
"#;

/// Returns the output of `--check` for the connection with these lines in its table and in those of its paths.
fn said(connection: &str, dsl: &str, lte: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let (key, file) = (directory.path().join("key"), directory.path().join("mpt.toml"));
    let mut options = fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.write(true).create_new(true).open(&key).unwrap();
    let private = mpt_core::session::PrivateKey::from_seed([7; 32]).to_base64();
    std::io::Write::write_all(&mut written, private.as_bytes()).unwrap();
    let text = FILE
        .replace("KEYFILE", key.to_str().unwrap())
        .replace("CONNECTION", connection)
        .replace("DSL", dsl)
        .replace("LTE", lte);
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mptd"));
    let output = command.arg("--check").arg("--config").arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    let (verdict, rest) = out.split_once('\n').unwrap();
    assert!(verdict.contains(": good, with 1 device, 1 connection, 2 paths, "), "{out}");
    rest.to_owned()
}

#[test]
fn adaptive_mapping_learns_everything_that_is_not_set() {
    assert_eq!(
        said("", "", ""),
        "connection office: learns the rates of dsl and lte, their shares of the packets, how long packets are held, and what repairs need\n  \
           rates: as measured, without bounds (max_rate and min_rate are not set)\n  \
           weights: not used, since shares follow the measured rates\n  \
           repair: lost packets are sent again, in the time and the number that the measured losses and delays need\n  \
           hold: as measured while the peer's mapping is adaptive, at most 1.50 s and 32768 packets; where nothing is held, packets wait for missing ones for at most 300 ms and within 16384 packets\n"
    );
}

#[test]
fn values_of_the_file_bound_what_is_learnt() {
    let said = said(
        "window = 900\nmax_delay = \"200 ms\"\nrepair = \"off\"",
        "max_rate = \"20 Mbit/s\"\nmin_rate = \"5 Mbit/s\"",
        "min_rate = \"2 Mbit/s\"\nweight = 7\npriority = \"backup\"\ncap = \"50 GB/month\"",
    );
    let lines: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  rates: as measured, within bounds (max_rate, min_rate): dsl at least 5.00 Mbit/s and at most 20.0 Mbit/s, lte at least 2.00 Mbit/s",
            "  weights: not used, since shares follow the measured rates",
            "  repair: lost packets are not sent again (repair = \"off\")",
            "  hold: as measured while the peer's mapping is adaptive, at most 200 ms (max_delay) and 900 packets (window); where nothing is held, packets wait for missing ones for at most 200 ms and within 900 packets",
            "  as configured: lte carries data only while no path of a smaller tier works (tier 1) and has a cap",
        ]
    );
}

/// Play-out has bounds of its own, which no key of the file exceeds.
#[test]
fn a_value_that_bounds_nothing_is_not_named() {
    let said = said("window = 65535\nmax_delay = \"3 s\"", "", "");
    let hold = "at most 1.50 s and 32768 packets; where nothing is held, packets wait for missing ones for at most 3.00 s and within 65535 packets\n";
    assert!(said.ends_with(hold), "{said}");
}

/// The example of the document is what is said of such a connection.
#[test]
fn the_document_shows_it() {
    let shown = ADAPTIVE.split("```text\n").find(|it| it.starts_with("connection office: learns"));
    let shown = shown.and_then(|it| it.split("```").next()).expect("the example");
    assert_eq!(said("", "max_rate = \"20 Mbit/s\"", "priority = \"backup\""), shown);
}

/// The documents name the bounds that the program has.
#[test]
fn the_documents_have_the_same_bounds() {
    let (window, hold) = reorder::Config::default().playout();
    let hold = format!("{} s", hold.as_secs_f64());
    let thousands = format!("{},{:03}", window / 1000, window % 1000);
    for (document, text, bounds) in [
        ("adaptive.md", ADAPTIVE, [&hold, &thousands]),
        ("examples/mpt.toml", EXAMPLE, [&hold, &window.to_string()]),
        ("reordering.md", include_str!("../../../docs/reordering.md"), [&hold, &hold]),
        ("protocol.md", include_str!("../../../docs/protocol.md"), [&hold, &hold]),
    ] {
        for bound in bounds {
            assert!(text.contains(bound.as_str()), "{bound} is not in {document}");
        }
    }
    for value in [
        reorder::USUAL_WINDOW.to_string(),
        format!("\"{} ms\"", reorder::USUAL_MAX_DELAY.as_millis()),
    ] {
        assert!(EXAMPLE.contains(&value), "{value}");
    }
}

#[test]
fn what_makes_nothing_wait_is_said() {
    for (key, why) in [("window = 0", "window = 0"), ("equalize = \"off\"", "equalize = \"off\"")] {
        let said = said(key, "", "");
        let hold = format!("  hold: nothing is held to make the paths equally long ({why})\n");
        assert!(said.ends_with(&hold), "{said}");
    }
}

#[test]
fn other_mappings_keep_their_weights() {
    for (keys, expected) in [
        (
            "mapping = \"packet\"",
            "spreads packets by weights, which stay as configured: dsl 3, lte 1 (until the peer asks for others)",
        ),
        (
            "mapping = \"flow\"",
            "spreads flows by weights, which stay as configured: dsl 3, lte 1 (until the peer asks for others)",
        ),
        (
            "mapping = \"duplicate\"",
            "sends a copy of each packet on dsl and lte; weights are not used",
        ),
    ] {
        assert_eq!(said(keys, "weight = 3", ""), format!("connection office: {expected}\n"));
    }
}

#[test]
fn an_end_that_only_receives_learns_how_long_to_hold() {
    let said = said("direction = \"receive\"", "", "");
    let lines: Vec<&str> = said.lines().collect();
    let [headline, hold] = lines[..] else { panic!("{said}") };
    assert_eq!(
        headline,
        "connection office: receives only; the peer decides how packets are spread"
    );
    assert!(
        hold.starts_with("  hold: as measured while the peer's mapping is adaptive, "),
        "{said}"
    );
}
