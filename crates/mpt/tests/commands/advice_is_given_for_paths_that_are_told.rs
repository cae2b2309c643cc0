//! `mpt advise` with paths on the command line, which needs no daemon, and with those of a daemon.

use std::io::{BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{self, Output, Stdio};

use mpt_api::snapshot::{Liveness, Path};
use mpt_api::{
    Command, MAX_REQUEST, Mapping, Measured, MeasuredPath, Reply, Request, Response, read_line,
    to_line,
};

fn advise(args: &[&str]) -> Output {
    let mut command = process::Command::new(env!("CARGO_BIN_EXE_mpt"));
    command.env_remove("MPT_SOCKET").stdin(Stdio::null()).arg("advise").args(args);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn as_text_with_the_keys_of_the_configuration() {
    let paths = ["--path", "name=fibre,rate=100Mbit,delay=5ms", "--path", "rate=50Mbit,delay=45ms"];
    let output = advise(&paths);
    assert!(output.status.success(), "{output:?}");
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn as_json() {
    let output = advise(&["--json", "--path", "rate=10Mbit", "--path", "rate=10Mbit,jitter=1ms"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["spread_us"], 4000);
    assert_eq!(answer["max_delay_us"], 15_000);
    assert_eq!(answer["window"], 64);
    assert_eq!(answer["throughput"], answer["capacity"]);
    assert_eq!(answer["paths"][1]["name"], "path2");
    assert_eq!(answer["paths"][1]["weight"], 1);
}

#[test]
fn a_wrong_command_line_is_told() {
    for (args, part) in [
        (&[][..], "CONNECTION"),
        (&["--path", "rate=fast"], "fast is not a rate"),
        (&["--path", "rate=0Mbit"], "path 1: a rate must be from 1 bit/s"),
        (&["main", "--path", "rate=1Mbit"], "cannot be used with"),
    ] {
        let output = advise(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(part), "{args:?}: {}", text(&output.stderr));
    }
}

/// Answers one request of each conversation; gives the requests.
fn daemon(answers: Vec<Vec<u8>>) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<Request>>) {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("mptd.sock")).unwrap();
    let requests = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let line = read_line(&mut BufReader::new(&stream), MAX_REQUEST).unwrap().unwrap();
            requests.push(Request::parse(&line).unwrap());
            stream.write_all(&answer).unwrap();
        }
        requests
    });
    (directory, requests)
}

fn measured(paths: &[(&str, Option<u64>)]) -> Vec<u8> {
    let path = |&(path, rate): &(&str, Option<u64>)| MeasuredPath {
        path: path.into(),
        // Traffic that leaves here concerns the window of the peer.
        out_bits_per_second: rate.map(|_| 1_000_000),
        in_bits_per_second: rate,
        weight: None,
        weight_in: None,
    };
    let measured = Measured { paths: paths.iter().map(path).collect(), set: false };
    to_line(&Response::result(Reply::Measured(measured))).into_bytes()
}

fn shown(liveness: [Option<Liveness>; 3]) -> Vec<u8> {
    let mut snapshot = crate::example::snapshot();
    snapshot.connections.truncate(1);
    let names = ["fibre", "dsl", "lte"];
    let path = |(name, liveness)| Path {
        liveness,
        ..crate::example::path(name, "192.0.2.1:1", "192.0.2.2:1")
    };
    snapshot.connections[0].paths = names.into_iter().zip(liveness).map(path).collect();
    to_line(&Response::result(Reply::Snapshot(Box::new(snapshot)))).into_bytes()
}

fn liveness(rtt_minimum_us: u64, rtt_variation_us: u64) -> Option<Liveness> {
    let snapshot = crate::example::snapshot();
    let example = snapshot.connections[0].paths.iter().find_map(|path| path.liveness)?;
    let (minimum, variation) = (Some(rtt_minimum_us), Some(rtt_variation_us));
    Some(Liveness { rtt_minimum_us: minimum, rtt_variation_us: variation, ..example })
}

#[test]
fn speeds_are_measured_and_delays_are_those_of_the_session() {
    let answers = vec![
        measured(&[("fibre", Some(100_000_000)), ("dsl", Some(50_000_000)), ("lte", None)]),
        shown([liveness(10_000, 0), liveness(90_000, 4_000), None]),
    ];
    let (directory, requests) = daemon(answers);
    let socket = directory.path().join("mptd.sock");
    let output = advise(&["office", "--json", "--socket", socket.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let told = advise(&[
        "--json",
        "--path",
        "name=fibre,rate=100Mbit,delay=5ms",
        "--path",
        "name=dsl,rate=50Mbit,delay=45ms,jitter=2ms",
    ]);
    assert_eq!(text(&output.stdout), text(&told.stdout), "a path that is down does not count");
    let commands: Vec<_> =
        requests.join().unwrap().into_iter().map(|request| request.command).collect();
    let connection = || "office".to_owned();
    assert_eq!(
        commands,
        [
            Command::Measure { connection: connection(), set: false, duration_ms: 1000 },
            Command::ShowConnection { connection: connection() }
        ]
    );
}

#[test]
fn what_is_learnt_and_what_stays_is_said() {
    for (mapping, said) in [
        (
            Mapping::Adaptive,
            "mapping = \"adaptive\": rates, shares, the hold and repairs are learnt, weights are not used",
        ),
        (Mapping::Packet, "mapping = \"packet\": weights, window and max_delay stay as configured"),
    ] {
        let mut snapshot = crate::example::snapshot();
        snapshot.connections.truncate(1);
        let paths = vec![Path {
            liveness: liveness(10_000, 0),
            ..crate::example::path("fibre", "192.0.2.1:1", "192.0.2.2:1")
        }];
        snapshot.connections[0].mapping = mapping;
        snapshot.connections[0].paths = paths;
        let shown = to_line(&Response::result(Reply::Snapshot(Box::new(snapshot)))).into_bytes();
        let (directory, _requests) = daemon(vec![measured(&[("fibre", Some(1_000_000))]), shown]);
        let socket = directory.path().join("mptd.sock");
        let output = advise(&["office", "--socket", socket.to_str().unwrap()]);
        assert!(output.status.success(), "{output:?}");
        let last = text(&output.stdout).lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("the connection has {said}")), "{last}");
    }
}

#[test]
fn a_delay_that_is_not_known_yet_is_told() {
    let answers =
        vec![measured(&[("fibre", Some(1_000_000))]), shown([None, None, liveness(1, 1)])];
    let (directory, _requests) = daemon(answers);
    let socket = directory.path().join("mptd.sock");
    let output = advise(&["office", "--socket", socket.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("path fibre is not known yet"), "{output:?}");
}

#[test]
fn what_the_daemon_refuses_is_told() {
    let answers = vec![
        measured(&[("dsl", None)]),
        to_line(&Response::error(mpt_api::Failure::new(
            mpt_api::Code::NotFound,
            "no such connection",
        )))
        .into_bytes(),
    ];
    let (directory, requests) = daemon(answers);
    let socket = directory.path().join("mptd.sock");
    let output = advise(&["main", "--socket", socket.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("no such connection"), "{output:?}");
    assert_eq!(requests.join().unwrap().len(), 2);
}
