//! `mpt --remote` against a daemon that plays a part in a steering session.

use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpt_api::{Changed, Code, Counters, Daemon, Failure, Reply, Request, Response, Snapshot};
use mpt_core::liveness::Timing;
use mpt_core::node::{self, Destination};
use mpt_core::session::{Event, Peer, PresharedKey, PrivateKey};
use mpt_core::{Lent, Node, Nowhere, SocketId, Span};
use mpt_wire::ecn::Ecn;

const SOCKET: SocketId = SocketId(0);
/// It ends by itself when nobody says goodbye.
const LONGEST: Duration = Duration::from_secs(8);

/// A daemon for one client: gives the same answer to whatever is asked, and tells afterwards what that was, once the client
/// has said goodbye.
struct FakeDaemon {
    address: SocketAddr,
    identity: PrivateKey,
    client: PrivateKey,
    requests: JoinHandle<Vec<mpt_api::Command>>,
}

impl FakeDaemon {
    fn start(psk: Option<PresharedKey>, answer: &Response) -> Self {
        let [identity, client] = [1, 2].map(|seed| PrivateKey::from_seed([seed; 32]));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mut node = Node::new([3; 32]);
        node.set_identity(Instant::now(), Some(identity.clone()));
        let peer = Peer {
            public_key: client.public(),
            psk,
            may_connect: false,
            may_steer: true,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            expire_after: Duration::MAX,
            max_sessions: 1,
        };
        node.set_peers(Instant::now(), vec![peer]);
        let answer = mpt_api::to_line(answer).into_bytes();
        let requests = std::thread::spawn(move || serve(&socket, node, &answer));
        Self { address, identity, client, requests }
    }

    /// Runs `mpt` with these arguments: its exit code, output and errors; and what was asked.
    fn run(self, args: &[&str]) -> ((i32, String, String), Vec<mpt_api::Command>) {
        let (address, peer) = (self.address.to_string(), self.identity.public().to_string());
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        std::fs::write(&key, self.client.to_base64().as_bytes()).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut all = vec!["--remote", &address, "--peer", &peer, "--key", key.to_str().unwrap()];
        all.extend(args);
        (mpt(&all), self.requests.join().unwrap())
    }
}

fn serve(socket: &UdpSocket, mut node: Node<Span>, answer: &[u8]) -> Vec<mpt_api::Command> {
    let (start, mut buffer) = (Instant::now(), [0; 2048]);
    let mut requests = Vec::new();
    socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    while start.elapsed() < LONGEST {
        if let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let mut memory = Lent(&mut buffer[..len]);
            let (now, datagram) = (Instant::now(), memory.whole());
            node.handle_datagram(now, SOCKET, from, Ecn::NotEct, datagram, &mut memory).unwrap();
        }
        node.handle_timeout(Instant::now(), &mut Nowhere);
        while let Some(node::Event::Session(event)) = node.poll_event() {
            match event {
                Event::Request { session, id, body } => {
                    requests.push(Request::parse(&body).unwrap().command);
                    assert!(node.answer(Instant::now(), session, id, answer.to_vec()));
                }
                Event::Closed { .. } => return requests,
                _ => {}
            }
        }
        while let Some(transmit) = node.poll_transmit() {
            let Destination::Address { remote, .. } = transmit.destination else {
                panic!("there are no paths")
            };
            socket.send_to(&transmit.to_vec(), remote).unwrap();
        }
    }
    requests
}

fn mpt(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt"));
    let output = command.args(args).env_remove("MPT_SOCKET").stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_is_asked_and_told_goodbye() {
    let changed = Changed { changes: vec!["one".into()], warnings: Vec::new() };
    let daemon = FakeDaemon::start(None, &Response::result(Reply::Changed(changed)));
    let start = Instant::now();
    let (outcome, requests) = daemon.run(&["interface", "down", "wwan0"]);
    assert_eq!(outcome, (0, "one\n".into(), String::new()));
    let expected = mpt_api::Command::SetInterface { interface: "wwan0".into(), up: false };
    assert_eq!(requests, [expected]);
    assert!(start.elapsed() < LONGEST, "it was told");
}

#[test]
fn what_it_denies_is_told() {
    let failure = Failure::new(Code::Denied, "this key is not allowed \"reload\"");
    let daemon = FakeDaemon::start(None, &Response::error(failure));
    let ((code, output, errors), requests) = daemon.run(&["reload"]);
    assert_eq!((code, &*output), (1, ""));
    assert!(errors.contains("not allowed \"reload\""), "{errors}");
    assert_eq!(requests, [mpt_api::Command::Reload]);
}

#[test]
fn a_long_answer_arrives_whole() {
    let changes: Vec<_> = (0..9000).map(|number| format!("change {number}")).collect();
    let expected: String = changes.iter().map(|it| format!("{it}\n")).collect();
    let changed = Changed { changes, warnings: Vec::new() };
    let daemon = FakeDaemon::start(None, &Response::result(Reply::Changed(changed)));
    let ((code, output, _), _) = daemon.run(&["path", "del", "office", "dsl"]);
    assert_eq!(code, 0);
    assert!(output == expected, "{} of {} bytes", output.len(), expected.len());
}

#[test]
fn a_daemon_that_is_too_old_for_events_is_told() {
    let failure = Failure::new(Code::BadRequest, "not a request: unknown variant `events`");
    let daemon = FakeDaemon::start(None, &Response::error(failure));
    let ((code, _, errors), requests) = daemon.run(&["monitor"]);
    assert_eq!(code, 1);
    assert!(errors.contains("the daemon elsewhere is too old to tell events"), "{errors}");
    assert_eq!(requests, [mpt_api::Command::Events { after: None, wait_ms: 0 }]);
}

#[test]
fn other_preshared_keys_are_told_from_silence() {
    let psk = PresharedKey::from_seed([9; 32]);
    let daemon = FakeDaemon::start(Some(psk), &Response::result(Reply::Done));
    let ((code, _, errors), _) = daemon.run(&["show"]);
    assert_eq!(code, 3);
    assert!(errors.contains("compare the pre-shared key"), "{errors}");
}

#[test]
fn a_closed_port_and_silence_are_told_with_what_to_look_at() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().map(|address| (silent, address.to_string())).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    let own = PrivateKey::from_seed([2; 32]);
    std::fs::write(&key, own.to_base64().as_bytes()).unwrap();
    let peer = PrivateKey::from_seed([1; 32]).public().to_string();
    let ask = |mode, remote: &str| {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        mpt(&["--remote", remote, "--peer", &peer, "--key", key.to_str().unwrap(), "show"])
    };
    let (code, _, errors) = ask(0o644, &closed);
    assert_eq!(code, 1);
    assert!(errors.contains("chmod 600"), "{errors}");
    let (code, _, errors) = ask(0o600, &closed);
    assert_eq!(code, 3);
    assert!(errors.contains("is mptd running there"), "{errors}");
    let (code, _, errors) = ask(0o600, &silent.1);
    assert_eq!(code, 3);
    for hint in ["firewall", &peer, "[[controller]]", &own.public().to_string()] {
        assert!(errors.contains(hint), "{hint}: {errors}");
    }
}

#[test]
fn half_a_daemon_is_a_usage_error() {
    for args in [
        &["--remote", "192.0.2.1", "show"][..],
        &["show", "--remote", "192.0.2.1", "--key", "file"],
        &["--key", "file", "show"],
    ] {
        let (code, _, errors) = mpt(args);
        assert_eq!(code, 2, "{errors}");
    }
}

#[test]
fn its_clock_is_compared_with_ours() {
    for (offset_ms, level) in [(0, "ok"), (-5_000, "warning")] {
        let snapshot = Snapshot {
            daemon: Daemon {
                program: "0.1.0".into(),
                pid: 1,
                uptime_s: 1,
                time_ms: mpt_api::now_ms().checked_add_signed(offset_ms).unwrap(),
                buffer_bytes: 0,
                buffer_limit: 1,
                drops: Counters::new(),
                public_key: None,
                control: Counters::new(),
            },
            devices: Vec::new(),
            connections: Vec::new(),
        };
        let answer = Response::result(Reply::Snapshot(Box::new(snapshot)));
        let ((code, out, _), _) =
            FakeDaemon::start(None, &answer).run(&["doctor", "--json", "--config", "/none"]);
        let found: serde_json::Value = serde_json::from_str(&out).unwrap();
        let clock = found["findings"].as_array().unwrap().iter().find(|it| {
            it["check"] == "clock"
                && it["message"].as_str().unwrap().contains("the clock of the peer")
        });
        assert_eq!(clock.unwrap()["level"], level, "{found}");
        assert_eq!(code, 1, "there is no configuration, which is an error");
    }
}
