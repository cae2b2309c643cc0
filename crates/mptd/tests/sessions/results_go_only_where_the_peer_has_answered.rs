//! A controller asks for a long answer and has it sent to the address of somebody else: nothing longer than the question goes there.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use mpt_wire::control::{Kind, Message};

use crate::abuser::Abuser;
use crate::hosts::{Config, Daemon, Identity, Pair, wait_for};

/// Number of an answer's parts.
const PARTS: u32 = 8;

const SHOW: &[u8] = br#"{"version":2,"command":"show"}"#;

/// A daemon at `b` whose answer to `show` is long, and the key of its controller.
fn start(pair: &Pair) -> (Daemon, [Identity; 2]) {
    let (identity, controller) = (Identity::new(), Identity::new());
    let mut config = Config::default();
    config.daemon().set("private_key_file", identity.file());
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.controller("noc").set("public_key", controller.public());
    for number in 1..=10 {
        let name = format!("connection{number}");
        let section = config.connection(&name).set("key", number);
        section.set("networks", vec![format!("10.72.1.{number}")]);
        config.lay_path(&name, 1, 2);
    }
    let daemon = Daemon::start(&pair.b, &config);
    daemon.wait_until_answering();
    (daemon, [identity, controller])
}

/// Bytes that come to a socket until nothing comes any more.
fn received(socket: &UdpSocket) -> usize {
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut buffer = [0; 2048];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok()).sum()
}

#[test]
fn before_it_has_answered_it_gets_no_more_than_it_has_sent() {
    let pair = Pair::with_lines(1);
    let (_daemon, [identity, controller]) = start(&pair);
    let mut peer = Abuser::connect(
        &pair.a,
        ("10.71.1.1:5000", &controller),
        ("10.71.1.2:4754", &identity),
        (Kind::Steering, "test"),
    );
    let mut sent = 0;
    for _ in 0..5 {
        for part in 0..PARTS {
            let (id, offset) = (1, part * 1024);
            let datagram = peer.datagram(&[Message::Request { id, offset, body: SHOW }]);
            sent += datagram.len();
            peer.send(&datagram);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let received = received(&peer.socket);
    assert!(received <= sent, "{received} bytes for {sent}");
}

#[test]
fn another_address_gets_no_more_than_it_has_sent_and_the_peer_gets_its_answer() {
    let pair = Pair::with_lines(1);
    let (_daemon, [identity, controller]) = start(&pair);
    let mut peer = Abuser::connect(
        &pair.a,
        ("10.71.1.1:5000", &controller),
        ("10.71.1.2:4754", &identity),
        (Kind::Steering, "test"),
    );
    let victim = pair.a.udp("10.71.1.1:6000");
    let first = peer.datagram(&[Message::Request { id: 1, offset: 0, body: SHOW }]);
    peer.send(&first);
    wait_for("the answer comes once the address is proved", || {
        let bytes = peer.answer_challenges(Duration::from_millis(200));
        (bytes > 1024).then_some(())
    });
    let (mut sent, start) = (0, Instant::now());
    while start.elapsed() < Duration::from_secs(1) {
        for part in 0..PARTS {
            let datagram =
                peer.datagram(&[Message::Request { id: 1, offset: part * 1024, body: SHOW }]);
            sent += datagram.len();
            victim.send_to(&datagram, peer.server).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let (to_victim, to_peer) = (received(&victim), received(&peer.socket));
    assert!(to_victim <= sent, "{to_victim} bytes for {sent}");
    assert!(to_peer > usize::try_from(PARTS).unwrap() * 1024, "{to_peer} bytes to the peer");
}
