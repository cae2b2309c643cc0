//! A default route through the tunnel takes everything, and blocks what it cannot carry; the daemon's own questions for names go around it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
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
    /// Questions answered by UDP and by TCP.
    asked: Arc<[AtomicU32; 2]>,
    threads: Vec<JoinHandle<()>>,
}

/// The transport by which a name server gives the answer itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    Udp,
    /// Answers by UDP say that they are truncated.
    Tcp,
}

impl NameServer {
    fn start(pair: &Pair, answers: Answers) -> Self {
        pair.b.add_address("lo", &format!("{NAME_SERVER}/32"));
        let socket = pair.b.udp(&format!("{NAME_SERVER}:53"));
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let listener = pair.b.run(|| TcpListener::bind(format!("{NAME_SERVER}:53"))).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::<[AtomicU32; 2]>::default());
        let serve = |mut turn: Box<dyn FnMut() -> bool + Send>, counter: usize| {
            let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    asked[counter].fetch_add(u32::from(turn()), Ordering::Relaxed);
                }
            })
        };
        let by_udp = Box::new(move || serve_udp(&socket, answers));
        let threads = vec![serve(by_udp, 0), serve(Box::new(move || serve_tcp(&listener)), 1)];
        Self { stop, asked, threads }
    }

    /// Returns how many questions were answered by UDP and by TCP.
    fn asked(&self) -> [u32; 2] {
        [0, 1].map(|index| self.asked[index].load(Ordering::Relaxed))
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn serve_udp(socket: &UdpSocket, answers: Answers) -> bool {
    let mut buffer = [0; 512];
    let Ok((length, from)) = socket.recv_from(&mut buffer) else { return false };
    socket.send_to(&answer(&buffer[..length], answers == Answers::Tcp), from).unwrap();
    true
}

fn serve_tcp(listener: &TcpListener) -> bool {
    let Ok((mut stream, _)) = listener.accept() else {
        thread::sleep(Duration::from_millis(10));
        return false;
    };
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut question = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut question).unwrap();
    let answer = answer(&question, false);
    // A stream has no borders between messages: the length comes alone.
    stream.write_all(&(answer.len() as u16).to_be_bytes()).unwrap();
    stream.write_all(&answer).unwrap();
    true
}

/// Returns the answer to a question: 10.70.0.2 for an A, nothing for an AAAA; or only that it is truncated.
fn answer(question: &[u8], truncated: bool) -> Vec<u8> {
    // Header, name, type and class; what comes behind is an option of the sender.
    let name = question[12..].iter().position(|byte| *byte == 0).expect("a name");
    let (id, question) = (&question[..2], &question[12..12 + name + 5]);
    let has_answer = question[name + 1..name + 3] == [0, 1] && !truncated;
    let flags = if truncated { 0x83 } else { 0x81 };
    let header = [id[0], id[1], flags, 0x80, 0, 1, 0, u8::from(has_answer), 0, 0, 0, 0];
    let mut answer = [&header[..], question].concat();
    if has_answer {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 70, 0, 2]);
    }
    answer
}

/// A pair whose first end knows the other by name, and its name server.
fn named(answers: Answers) -> (Pair, [Config; 2], NameServer) {
    let (pair, mut configs) = hosts();
    for line in ["line1", "line2"] {
        configs[0].path("tunnel", line).set("remote", "far.mpt.test");
    }
    if answers == Answers::Tcp {
        // Without an interface to bind to, questions have their mark alone.
        configs[0].path("tunnel", "line2").unset("interface").set("local", "10.71.2.1");
    }
    let server = NameServer::start(&pair, answers);
    (pair, configs, server)
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

fn leads_to_the_peer(answers: Answers, files: &[(&Path, &str)]) {
    let (pair, configs, server) = named(answers);
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
    let [by_udp, by_tcp] = server.asked();
    assert!(by_udp > 0, "the name server was asked");
    assert_eq!(by_tcp > 0, answers == Answers::Tcp, "questions by TCP: {by_tcp}");
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    flood.assert_nothing_in_clear();
}

#[test]
fn by_the_name_server_of_resolv_conf() {
    let resolv = file(&format!("nameserver {NAME_SERVER}\n"));
    leads_to_the_peer(Answers::Udp, &[(resolv.path(), "/etc/resolv.conf")]);
}

/// A name with many addresses, or a server that wants no spoofed questions: by UDP it says only that the answer is truncated.
#[test]
fn by_tcp_where_the_answer_is_truncated() {
    let resolv = file(&format!("nameserver {NAME_SERVER}\n"));
    leads_to_the_peer(Answers::Tcp, &[(resolv.path(), "/etc/resolv.conf")]);
}

/// systemd-resolved asks for everybody, as a user of its own: its questions would go into the tunnel.
#[test]
fn by_the_name_server_behind_systemd_resolved() {
    let stub = file("nameserver 127.0.0.53\noptions edns0 trust-ad\n");
    let behind = file(&format!("nameserver {NAME_SERVER}\n"));
    leads_to_the_peer(
        Answers::Udp,
        &[(stub.path(), "/etc/resolv.conf"), (behind.path(), "/run/systemd/resolve/resolv.conf")],
    );
}
