//! A default route through the tunnel takes everything, and blocks what it cannot carry; the daemon's own questions for names go around it.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::hosts::{Config, Daemon, Pair, wait_for};
use crate::internet::{Flood, both, hosts, rules, way_to_server};

/// The address of the name server, which only the default routes lead to.
const NAME_SERVER: &str = "203.0.113.53";

/// A name server that knows one address of every name.
struct NameServer {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start(pair: &Pair) -> Self {
        pair.b.add_address("lo", &format!("{NAME_SERVER}/32"));
        let socket = pair.b.udp(&format!("{NAME_SERVER}:53"));
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let seen = (Arc::clone(&stop), Arc::clone(&asked));
        let thread = thread::spawn(move || {
            while !seen.0.load(Ordering::Relaxed) {
                seen.1.fetch_add(u32::from(serve(&socket)), Ordering::Relaxed);
            }
        });
        Self { stop, asked, thread: Some(thread) }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Answers one question: 10.70.0.2 for an A, nothing for an AAAA.
fn serve(socket: &UdpSocket) -> bool {
    let mut buffer = [0; 512];
    let Ok((length, from)) = socket.recv_from(&mut buffer) else { return false };
    // Header, name, type and class; what comes behind is an option of the sender.
    let name = buffer[12..length].iter().position(|byte| *byte == 0).expect("a name");
    let question = &buffer[12..12 + name + 5];
    let is_a = question[name + 1..name + 3] == [0, 1];
    let header = [buffer[0], buffer[1], 0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0];
    let mut answer = [&header[..], question].concat();
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 70, 0, 2]);
    }
    socket.send_to(&answer, from).unwrap();
    true
}

/// A pair whose first end knows the other by name, and its name server.
fn named() -> (Pair, [Config; 2], NameServer) {
    let (pair, mut configs) = hosts();
    for line in ["line1", "line2"] {
        configs[0].path("tunnel", line).set("remote", "far.mpt.test");
    }
    let server = NameServer::start(&pair);
    (pair, configs, server)
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

fn leads_to_the_peer(files: &[(&Path, &str)]) {
    let (pair, configs, server) = named();
    let mut b = Daemon::start(&pair.b, &configs[1]);
    b.wait_until_up();
    let mut a = Daemon::start_with_files(&pair.a, &configs[0], files);
    a.wait_until_answering();
    wait_for("the block is in place", || {
        let blocks = |version| rules(&pair.a, version).iter().any(|it| it.contains("unreachable"));
        (blocks("-4") && blocks("-6")).then_some(())
    });
    let flood = Flood::start(&pair.a);
    a.wait_until_up();
    let path = a.path("tunnel", "line1");
    assert_eq!(path.remote, Some("10.70.0.2:4754".parse().unwrap()));
    assert!(server.asked.load(Ordering::Relaxed) > 0, "the name server was asked");
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    flood.assert_nothing_in_clear();
}

#[test]
fn by_the_name_server_of_resolv_conf() {
    let resolv = file(&format!("nameserver {NAME_SERVER}\n"));
    leads_to_the_peer(&[(resolv.path(), "/etc/resolv.conf")]);
}

/// systemd-resolved asks for everybody, as a user of its own: its questions would go into the tunnel.
#[test]
fn by_the_name_server_behind_systemd_resolved() {
    let stub = file("nameserver 127.0.0.53\noptions edns0 trust-ad\n");
    let behind = file(&format!("nameserver {NAME_SERVER}\n"));
    leads_to_the_peer(&[
        (stub.path(), "/etc/resolv.conf"),
        (behind.path(), "/run/systemd/resolve/resolv.conf"),
    ]);
}
