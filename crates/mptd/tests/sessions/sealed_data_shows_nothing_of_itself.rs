//! Data between real daemons with a session is sealed, though their files do not say so: TCP and UDP arrive, nothing of them is on the lines, tshark reads the number of each packet,
//! and the largest packets fit.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use mpt_api::{DataState, SessionState};

use crate::concentrator::{admit, assigned, client, created, find, server};
use crate::hosts::traffic::{deliver, expect_silence, tcp_both_ways};
use crate::hosts::{Capture, Captured, Daemon, Datagram, Identity, Line, Pair, pcap, wait_for};
use crate::support::authenticate;

/// The text that is sent, often enough in a row.
const SECRET: &[u8] = b"nobody but the other end is to read this line. ";

#[test]
fn nothing_of_the_inner_packets_is_on_any_line() {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let capture = Capture::start(&pair.a);
    let daemons = pair.start(&configs);
    for daemon in &daemons {
        wait_for("data is sealed", || {
            let data = daemon.connection("tunnel").session?.data?;
            matches!(data, DataState::Aes256Gcm | DataState::Chacha20Poly1305).then_some(())
        });
        assert_eq!(daemon.connection("tunnel").mtu, 1444, "1500 over IPv4 less 56");
    }
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    let message = SECRET.repeat(20);
    let mut received = vec![0; message.len()];
    for _ in 0..100 {
        sockets[0].send_to(&message, "10.72.0.2:5000").unwrap();
        assert_eq!(sockets[1].recv(&mut received).unwrap(), message.len());
        assert_eq!(received, message);
    }
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 3_000_000);
    tcp_both_ways(&pair.b, &pair.a, "[fd00:72::1]:5001", 3_000_000);

    let mut packets = capture.stop();
    // Those inside the tunnel pass its device, which is an interface of the host as well.
    packets.retain(|packet| Datagram::parse(packet).is_some());
    let data: Vec<Captured> = packets.into_iter().filter(|it| !is_control(it)).collect();
    assert!(data.len() > 1_000, "{}", data.len());
    for packet in &data {
        let datagram = Datagram::parse(packet).unwrap();
        assert_eq!(datagram.gre.protocol, mpt_wire::gre::Protocol::SEALED);
        for part in [&SECRET[..12], &[10, 72, 0, 1, 10, 72, 0, 2], &[10, 72, 0, 2, 10, 72, 0, 1]] {
            assert!(!packet.packet.windows(part.len()).any(|bytes| bytes == part));
        }
    }
    assert_numbers(&data);
    for daemon in &daemons {
        let drops = daemon.connection("tunnel").drops;
        for counter in ["sealed_unopened", "replayed", "not_sealed", "no_keys"] {
            assert_eq!(drops[counter], 0, "{counter}");
        }
    }
}

fn is_control(packet: &Captured) -> bool {
    Datagram::parse(packet).is_some_and(|it| it.is_control())
}

/// tshark reads protocol type, key and number of every packet.
fn assert_numbers(packets: &[Captured]) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcap");
    fs::write(&file, pcap(packets.iter())).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(&file).args(["-T", "fields"]);
    for field in ["gre.proto", "gre.flags_and_version", "gre.key", "gre.sequence_number"] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-e", "_ws.malformed"]);
    let output = tshark.output().expect("tshark is installed (scripts/setup test)");
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.lines().count(), packets.len());
    for line in output.lines() {
        let columns: Vec<_> = line.split('\t').collect();
        assert_eq!(columns[..2], ["0x88b6", "0x3000"], "{line}");
        assert!(columns[2].starts_with("0x") && columns[3].parse::<u32>().is_ok(), "{line}");
        assert!(columns.get(4).is_none_or(|it| it.is_empty()), "{line}");
    }
}

#[test]
fn an_end_that_does_not_seal_is_shown_and_gets_no_data_where_it_is_required() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].connection("tunnel").set("seal", "require");
    configs[1].connection("tunnel").set("seal", "off");
    let daemons = pair.start(&configs);
    wait_for("the refusal is shown", || {
        let session = daemons[0].connection("tunnel").session?;
        (session.data == Some(DataState::Refused)).then_some(())
    });
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    sockets[1].send_to(b"plain", "10.72.0.1:5000").unwrap();
    sockets[0].send_to(b"sealed", "10.72.0.2:5000").unwrap();
    wait_for("both are counted", || {
        let there = daemons[0].drops("tunnel", "not_sealed") >= 1;
        let here = daemons[0].drops("tunnel", "no_keys") >= 1;
        (there && here).then_some(())
    });
}

/// A peer that says "off" is plain with `seal = "on"`, its default: data flows, and the log, `mpt show`, `mpt status` and `mpt doctor` warn of it.
#[test]
fn an_end_that_does_not_seal_is_plain_with_a_warning_where_it_is_not_required() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[1].connection("tunnel").set("seal", "off");
    let [a, b] = pair.start(&configs);
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    deliver(&sockets[0], &sockets[1], 100);
    deliver(&sockets[1], &sockets[0], 100);
    let state = |daemon: &Daemon| daemon.connection("tunnel").session.unwrap().data;
    assert_eq!([&a, &b].map(state), [Some(DataState::PlainPeer), Some(DataState::Plain)]);
    let warning = "data is neither encrypted nor authenticated: the peer does not seal";
    assert_eq!(a.lines(&["WARN", warning]).len(), 1, "{}", a.log());
    assert_eq!(b.lines(&["WARN"]), [""; 0], "this end wants it so");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    assert!(program.exists(), "{} is missing: cargo build -p mpt", program.display());
    let run = |arguments: &[&str]| {
        let mut mpt = pair.a.namespace.command(&program).unwrap();
        mpt.arg("--socket").arg(a.socket()).args(arguments).stdin(Stdio::null());
        String::from_utf8(mpt.output().unwrap().stdout).unwrap()
    };
    let config = a.config_file();
    for (arguments, expected) in [
        (&["show"][..], "data NOT sealed, because the peer does not seal"),
        (
            &["status"],
            "data is neither encrypted nor authenticated, because the peer does not seal",
        ),
        (
            &["doctor", "--config", config.to_str().unwrap()],
            "data is neither encrypted nor authenticated, since its peer does not seal",
        ),
    ] {
        let said = run(arguments).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(expected), "mpt {arguments:?}: {said}");
    }
}

/// The session is older than the connection that the server makes, and its keys are for that.
#[test]
fn also_on_a_connection_that_a_server_has_made() {
    let pair = Pair::new(&[Line::plain(); 2]);
    let identities = [Identity::new(), Identity::new()];
    let mut there = server(&identities[1], &["10.71.1.2", "10.71.2.2"]);
    admit(&mut there, "anna", &identities[0]);
    let mut here = client(&identities[0], &identities[1]);
    for line in [1, 2] {
        here.lay_path("office", line, 1);
    }
    let capture = Capture::start(&pair.b);
    let [a, b] = [Daemon::start(&pair.a, &here), Daemon::start(&pair.b, &there)];
    created(&b, "anna.office");
    created(&a, "office");
    let address = assigned(&a);
    let from = pair.b.udp("10.72.0.2:5000");
    let to = pair.a.udp(&format!("{address}:5000"));
    deliver(&from, &to, 1000);
    deliver(&to, &from, 1000);
    let mut packets = capture.stop();
    packets.retain(|packet| Datagram::parse(packet).is_some() && !is_control(packet));
    assert!(packets.len() >= 2000, "{}", packets.len());
    assert_numbers(&packets);
}

/// A server requires sealed data of one of its clients: one that does not seal has a session and no data, which the log says once. When its file is
/// corrected, data flows.
#[test]
fn a_server_that_requires_it_refuses_the_data_of_a_client_that_does_not_seal() {
    let pair = Pair::with_lines(1);
    let identities = [Identity::new(), Identity::new()];
    let mut there = server(&identities[1], &["10.71.1.2"]);
    admit(&mut there, "anna", &identities[0]);
    there.client("anna").set("seal", "require");
    let mut here = client(&identities[0], &identities[1]);
    here.lay_path("office", 1, 1);
    here.connection("office").set("seal", "off");
    let capture = Capture::start(&pair.b);
    let [a, b] = [Daemon::start(&pair.a, &here), Daemon::start(&pair.b, &there)];
    a.wait_until_answering();
    b.wait_until_answering();
    let refused = wait_for("the refusal is shown", || {
        let session = find(&b, "anna.office")?.session?;
        (session.data == Some(DataState::Refused)).then_some(session)
    });
    assert_eq!(refused.state, SessionState::Established);
    let address = assigned(&a);
    // Without a path of its own that works, the client would drop the first packets itself.
    created(&a, "office");
    let sockets = [pair.a.udp(&format!("{address}:5000")), pair.b.udp("10.72.0.2:5000")];
    for _ in 0..20 {
        sockets[0].send_to(SECRET, "10.72.0.2:5000").unwrap();
        sockets[1].send_to(SECRET, (address, 5000)).unwrap();
        expect_silence(&sockets[1], Duration::from_millis(10));
    }
    expect_silence(&sockets[0], Duration::from_millis(200));
    wait_for("what comes in plain is counted", || {
        (b.drops("anna.office", "not_sealed") >= 20).then_some(())
    });
    assert!(b.drops("anna.office", "no_keys") >= 20, "nothing is sent plain");
    let lines = b.lines(&["no data: it is to be sealed here", "peer_name=anna"]);
    assert_eq!(lines.len(), 1, "{}", b.log());
    assert!(lines[0].contains("WARN"), "{}", lines[0]);
    let of_server = capture.stop().into_iter().filter(|it| it.outgoing && !is_control(it));
    assert_eq!(of_server.filter(|it| Datagram::parse(it).is_some()).count(), 0);

    here.connection("office").unset("seal");
    a.reload(&here);
    wait_for("data is sealed", || {
        let data = find(&b, "anna.office")?.session?.data?;
        matches!(data, DataState::Aes256Gcm | DataState::Chacha20Poly1305).then_some(())
    });
    created(&b, "anna.office");
    created(&a, "office");
    drop(sockets);
    let address = assigned(&a);
    let to = pair.a.udp(&format!("{address}:5001"));
    deliver(&pair.b.udp("10.72.0.2:5001"), &to, 100);
}
