//! A client has several connections. In each of them it leaves a gap in its numbers and sends as many packets behind it as the server keeps. All of them
//! together keep no more than half of the memory, and the packets of another client still wait for one another.

use std::net::UdpSocket;
use std::time::Duration;

use mpt_wire::gre;

use crate::concentrator::created;
use crate::hosts::{Capture, Daemon, Host, wait_for};
use crate::two_clients::Office;

/// Connections of the greedy client. If each had a share of its own, they would leave a 64th of the memory, of which the other client would get half.
const CONNECTIONS: usize = 6;
/// Bytes of waiting packets that the server keeps.
const LIMIT: u64 = 4 * 1024 * 1024;
/// Bytes of each packet's content.
const CONTENT: usize = 1400;
/// Packets that the greedy client sends at a time; fewer than the other one has waiting.
const BATCH: u32 = 10;
/// Packets of the other client that wait for the one before them.
const WAITING: u32 = 100;

/// Somebody who goes on with a connection of a client whose daemon is dead: with its addresses, its key and its numbers.
struct Successor<'a> {
    server: &'a Daemon,
    connection: String,
    socket: UdpSocket,
    to: String,
    header: gre::Repr,
    inner: Vec<u8>,
    /// Packets that the server has judged or keeps.
    handled: u64,
    /// Number of the next packet, counted from the last genuine one.
    next: u32,
}

/// The last datagram that a client sent over one of its connections.
struct Last {
    port: u16,
    header: gre::Repr,
    inner: Vec<u8>,
}

/// Has a client send a datagram to an inner address, and returns what left.
fn last(host: &Host, inner: &str) -> Last {
    let capture = Capture::start(host);
    host.udp("0.0.0.0:0").send_to(&[0; CONTENT], inner).unwrap();
    let is_data = |gre: &gre::Repr| gre.protocol == gre::Protocol::IPV4;
    let sent = capture.sent().into_iter().rfind(|it| is_data(&it.gre) && it.inner.len() > CONTENT);
    let sent = sent.expect("it left through the tunnel");
    Last { port: sent.source.port(), header: sent.gre, inner: sent.inner }
}

impl<'a> Successor<'a> {
    fn new(server: &'a Daemon, connection: &str, host: &Host, line: u8, last: Last) -> Self {
        let socket = host.udp(&format!("10.71.{line}.1:{}", last.port));
        let Last { header, mut inner, .. } = last;
        // No UDP checksum, since the content changes.
        inner[26..28].fill(0);
        let to = format!("10.71.{line}.2:4754");
        let connection = connection.to_owned();
        let mut successor =
            Self { server, connection, socket, to, header, inner, handled: 0, next: 1 };
        successor.handled = successor.counted().0;
        successor
    }

    /// Sends the packet with this number, which is also in its content.
    fn send(&mut self, number: u32) {
        let mut header = self.header;
        header.sequence = header.sequence.map(|last| last.wrapping_add(number));
        let mut datagram = vec![0; header.header_len()];
        header.emit(&mut datagram);
        self.inner[28..32].copy_from_slice(&number.to_be_bytes());
        datagram.extend(&self.inner);
        self.socket.send_to(&datagram, &self.to).unwrap();
        self.handled += 1;
    }

    /// Returns how many packets the server has judged or keeps, and how many of them found no room.
    fn counted(&self) -> (u64, u64) {
        let reorder = self.server.connection(&self.connection).reorder;
        let judged = reorder.in_order + reorder.after_gap + reorder.late + reorder.overflow;
        (judged + reorder.waiting, reorder.overflow)
    }

    /// Waits until the server has handled everything. Returns how many packets found no room so far.
    fn overflow(&self) -> u64 {
        wait_for("everything is handled", || {
            let (handled, overflow) = self.counted();
            (handled == self.handled).then_some(overflow)
        })
    }

    /// Sends every other number until something finds no room, `most` packets at most. Returns how many packets waited.
    fn fill(&mut self, most: u32) -> u32 {
        let before = self.overflow();
        let mut waiting = 0;
        while waiting + BATCH <= most {
            for _ in 0..BATCH {
                self.next += 2;
                self.send(self.next);
            }
            if self.overflow() > before {
                break;
            }
            waiting += BATCH;
        }
        waiting
    }
}

#[test]
fn however_many_they_are() {
    let mut office = Office::new();
    office.config.daemon().set("buffer_limit", "4 MiB");
    for client in ["anna", "bob"] {
        let client = office.config.client(client).set("max_connections", CONNECTIONS as i64);
        let client = client.set("window", 65_535).set("max_delay", "10 s");
        // The daemons of the clients are dead soon.
        // Data is plain, so that somebody else can go on with it.
        client.set("early_release", false).set("dead", "60 s").set("seal", "off");
    }
    let mut greedy = office.client(0);
    let peer = greedy.peer_key("office");
    greedy.remove("office", None);
    for number in 0..CONNECTIONS {
        let (name, device) = (format!("c{number}"), format!("mpt{number}"));
        greedy.device(&device).set("addresses", "assigned");
        let connection = greedy.connection(&name).set("device", device).set("mapping", "packet");
        connection.set("networks", vec![format!("10.73.{number}.0/24")]);
        greedy.peer(&name).set("public_key", peer.as_str()).set("create", true);
        greedy.lay_path(&name, 1, 1).set("local_port", 4760 + number as i64);
    }
    let server = Daemon::start(&office.pair.b, &office.config);
    let mut anna = Daemon::start(&office.pair.a, &greedy);
    let mut modest = office.client(1);
    modest.connection("office").set("mapping", "packet");
    let mut bob = Daemon::start(&office.c, &modest);
    let names: Vec<String> = (0..CONNECTIONS).map(|number| format!("c{number}")).collect();
    for name in &names {
        created(&server, &format!("anna.{name}"));
        created(&anna, name);
    }
    created(&server, "bob.office");
    created(&bob, "office");
    let lasts: Vec<Last> =
        (0..CONNECTIONS).map(|it| last(&office.pair.a, &format!("10.73.{it}.1:9"))).collect();
    let receiver = office.pair.b.udp("10.72.0.2:5000");
    let last_of_bob = last(&office.c, "10.72.0.2:5000");
    receiver.recv(&mut [0; CONTENT]).expect("the genuine one arrives");
    anna.kill();
    bob.kill();

    let mut kept = 0;
    for (name, last) in names.iter().zip(lasts) {
        let mut connection =
            Successor::new(&server, &format!("anna.{name}"), &office.pair.a, 1, last);
        // Once to learn how many may wait, and once to leave room for no more than a few.
        let most = connection.fill(u32::MAX - BATCH);
        kept += connection.fill(most.saturating_sub(2 * BATCH));
    }
    let memory = server.show().daemon.buffer_bytes;
    assert!(kept > 0 && memory <= LIMIT / 2, "{kept} packets of one client take {memory} bytes");

    let mut other = Successor::new(&server, "bob.office", &office.c, 9, last_of_bob);
    for number in 2..2 + WAITING {
        other.send(number);
    }
    assert_eq!(other.overflow(), 0, "packets that could not wait beside {kept} of another client");
    other.send(1);
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; CONTENT];
    for expected in 1..2 + WAITING {
        receiver.recv(&mut buffer).expect("every packet arrives");
        let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
        assert_eq!(number, expected, "in order");
    }
}
