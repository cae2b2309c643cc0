//! `mpt advise` with paths on the command line, which needs no daemon, and with those of a daemon.

use std::io::{BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};

use mpt_api::{MAX_REQUEST, Measured, MeasuredPath, Reply, Request, Response, read_line, to_line};

fn advise(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt"));
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

#[test]
fn what_the_daemon_refuses_is_told() {
    let measured = Measured {
        paths: vec![MeasuredPath {
            path: "dsl".into(),
            out_bits_per_second: None,
            in_bits_per_second: None,
            weight: None,
            weight_in: None,
        }],
        set: false,
    };
    let answers = vec![
        to_line(&Response::result(Reply::Measured(measured))).into_bytes(),
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
