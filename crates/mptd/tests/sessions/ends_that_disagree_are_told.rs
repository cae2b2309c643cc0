//! Two ends whose configurations do not fit each other: both say so in a sentence with the remedy, in the log, in the snapshot and by `mpt doctor`.

use std::process::Stdio;

use mpt_api::Disagreement;

use crate::hosts::{Config, Daemon, Host, Identity, Pair, wait_within};
use crate::support::authenticate;

/// More time than two looks and the grace period may take.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(40);

fn start(host: &Host, config: &Config) -> Daemon {
    let daemon = Daemon::start(host, config);
    daemon.wait_until_answering();
    daemon
}

/// Waits until a daemon finds this of the connection `tunnel`, and has said it. Then the doctor of its host says the same, with the remedy.
fn expect(host: &Host, daemon: &Daemon, expected: Disagreement) {
    wait_within(LONGEST, &format!("{expected} is found"), || {
        (daemon.connection("tunnel").disagreement == Some(expected)).then_some(())
    });
    let said = daemon.lines(&["WARN", expected.sentence()]);
    assert_eq!(said.len(), 1, "said once: {}", daemon.log());
    let found = doctor(host, daemon);
    let (message, remedy) = expected.sentence().rsplit_once([':', ';']).expect("a remedy");
    let finding =
        format!("ERROR   peer       connection tunnel: {message}\n{:19}-> {}\n", "", remedy.trim());
    assert!(found.contains(&finding), "{finding} is not in {found}");
}

/// Returns the output of `mpt doctor` on this host.
fn doctor(host: &Host, daemon: &Daemon) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    assert!(program.exists(), "{} is missing: cargo build -p mpt", program.display());
    let mut doctor = host.namespace.command(program).unwrap();
    doctor.arg("--socket").arg(daemon.socket()).args(["doctor", "--config"]);
    let found = doctor.arg(daemon.config_file()).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn one_with_keys_and_one_without() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _keys = authenticate(&mut configs);
    configs[1].remove_peer("tunnel");
    let [a, b] = [start(&pair.a, &configs[0]), start(&pair.b, &configs[1])];
    // The frames of a are all that b needs.
    expect(&pair.b, &b, Disagreement::PeerHasKeys);
    let socket = pair.b.udp("10.72.0.2:0");
    wait_within(LONGEST, "plain data is noticed", || {
        let _ = socket.send_to(b"hello", "10.72.0.1:9");
        let found = a.connection("tunnel").disagreement;
        (found == Some(Disagreement::PeerHasNoKeys)).then_some(())
    });
    expect(&pair.a, &a, Disagreement::PeerHasNoKeys);

    let found = doctor(&pair.b, &b);
    let sentence = "the peer seems to have keys, and this host has none";
    assert!(found.contains(sentence), "{found}");
    let remedy = "-> write [connection.peer] here with the public key of the peer";
    assert!(found.contains(remedy), "{found}");
}

#[test]
fn both_with_keys_that_do_not_fit() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _keys = authenticate(&mut configs);
    let other = Identity::new();
    configs[1].peer("tunnel").set("public_key", other.public());
    let [_a, b] = [start(&pair.a, &configs[0]), start(&pair.b, &configs[1])];
    expect(&pair.b, &b, Disagreement::OtherKeys);
}

#[test]
fn addresses_that_are_the_wrong_way_round() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _keys = authenticate(&mut configs);
    // The file of the other host, with the keys of this one.
    for line in 1..=2 {
        configs[1].lay_path("tunnel", line, 1);
    }
    let b = start(&pair.b, &configs[1]);
    expect(&pair.b, &b, Disagreement::AddressesExchanged);
}

#[test]
fn ends_that_agree_are_told_nothing() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _keys = authenticate(&mut configs);
    let [a, b] = pair.start(&configs);
    std::thread::sleep(std::time::Duration::from_secs(12));
    for daemon in [&a, &b] {
        assert_eq!(daemon.connection("tunnel").disagreement, None);
        assert_eq!(daemon.lines(&["WARN"]), [""; 0]);
    }
}
