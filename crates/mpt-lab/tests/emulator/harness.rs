//! Two hosts, the emulator's process between them, and datagrams with the kernel's time stamps.

use std::io::{BufRead, BufReader, IoSliceMut, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mpt_link::Params;
use mpt_linux::netlink::Netlink;
use mpt_linux::netns::{Namespace, run_in};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use serde_json::{Value, json};

/// Bytes in front of UDP's payload: Ethernet, IPv4, UDP.
pub(crate) const OVERHEAD: usize = 14 + 20 + 8;

/// Namespaces of tests that run at the same time.
static TESTS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Hosts {
    pub(crate) namespaces: [Namespace; 2],
    /// IP versions they know, with the lengths of their prefixes.
    versions: Vec<(u8, u8)>,
}

impl Hosts {
    /// Hosts that know IPv4 only, and so send nothing that they are not told to.
    pub(crate) fn new() -> Self {
        let mut hosts = Self::with_ipv6();
        let disable = |kind| {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{kind}/disable_ipv6"), "1").unwrap();
        };
        (0..2).for_each(|end| hosts.run(end, || ["all", "default"].into_iter().for_each(disable)));
        hosts.versions.pop();
        hosts
    }

    pub(crate) fn with_ipv6() -> Self {
        let test = TESTS.fetch_add(1, Ordering::Relaxed);
        let namespace = |end| {
            let name = format!("mpt-emulator-{}-{test}-{end}", std::process::id());
            Namespace::create(&name).expect("network tests need root")
        };
        Self { namespaces: ["a", "b"].map(namespace), versions: vec![(4, 24), (6, 64)] }
    }

    /// A cable called `link0`, `link1`, ... that passes these channels.
    pub(crate) fn cable(&self, number: usize, forward: &[usize], backward: &[usize]) -> Value {
        let ends = self.namespaces.each_ref().map(|namespace| {
            json!({"namespace": namespace.path(), "device": format!("link{number}"), "mtu": 1500})
        });
        json!({"name": "cable", "ends": ends, "forward": forward, "backward": backward})
    }

    /// Work in the namespace of one end.
    pub(crate) fn run<R: Send>(&self, end: usize, work: impl FnOnce() -> R + Send) -> R {
        run_in(&self.namespaces[end], work).unwrap()
    }

    /// A socket at one end of a cable, whose room for datagrams is not what is tested.
    pub(crate) fn socket(&self, cable: usize, end: usize) -> UdpSocket {
        let address = SocketAddr::new(address(cable, end, 4), 0);
        let socket = self.run(end, || UdpSocket::bind(address)).unwrap();
        setsockopt(&socket, RcvBufForce, &(32 * 1024 * 1024)).unwrap();
        setsockopt(&socket, ReceiveTimestampns, &true).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
        socket
    }
}

pub(crate) fn address(cable: usize, end: usize, version: u8) -> IpAddr {
    let (cable, host) = (cable as u8, end as u8 + 1);
    match version {
        4 => Ipv4Addr::new(10, 73, cable, host).into(),
        _ => Ipv6Addr::new(0xfd73, 0, 0, cable.into(), 0, 0, 0, host.into()).into(),
    }
}

/// The emulator; ends when this is dropped.
pub(crate) struct Emulator {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Emulator {
    /// Starts an emulator with channels of these parameters and the given cables, whose ends get
    /// their addresses.
    pub(crate) fn start(hosts: &Hosts, channels: &[Params], cables: &[Value], plain: bool) -> Self {
        let channels: Vec<Value> =
            channels.iter().map(|params| json!({"params": params})).collect();
        Self::with_channels(hosts, &channels, cables, plain)
    }

    /// Starts an emulator with whole channels and the given cables.
    pub(crate) fn with_channels(
        hosts: &Hosts,
        channels: &[Value],
        cables: &[Value],
        plain: bool,
    ) -> Self {
        let plan = json!({"seed": 1, "plain": plain, "channels": channels, "cables": cables});
        let mut emulator = Self::spawn();
        assert_eq!(emulator.ask(&plan), json!("Done"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for (end, namespace) in hosts.namespaces.iter().enumerate() {
                let netlink = Netlink::connect_in(namespace).unwrap();
                for cable in 0..cables.len() {
                    let link = netlink.link(&format!("link{cable}")).await.unwrap();
                    assert!(link.up && link.mtu == 1500, "{link:?}");
                    for &(version, prefix) in &hosts.versions {
                        let address = ipnet::IpNet::new(address(cable, end, version), prefix);
                        netlink.add_address(link.index, address.unwrap()).await.unwrap();
                    }
                }
            }
        });
        emulator
    }

    pub(crate) fn spawn() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mpt-lab"))
            .arg("emulate")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), output, child }
    }

    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.input.as_ref().unwrap(), "{command}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    pub(crate) fn report(&mut self) -> Value {
        let report = self.ask(&json!("Report"));
        let report = report["Report"].clone();
        for end in report["cables"].as_array().unwrap().iter().flat_map(|c| c.as_array().unwrap()) {
            assert_eq!((&end["refused"], &end["overflow"]), (&json!(0), &json!(0)), "{report}");
        }
        report
    }

    /// Returns the packets of one channel: offered, dropped before the queue, lost, sent twice.
    pub(crate) fn packets(&mut self, channel: usize) -> [u64; 4] {
        let report = self.report();
        ["offered", "queue_full", "lost", "duplicated"]
            .map(|kind| report["channels"][channel][kind]["packets"].as_u64().unwrap())
    }

    /// Returns the largest lateness so far.
    pub(crate) fn latest(&mut self) -> Duration {
        serde_json::from_value(self.report()["lateness"]["max"].clone()).unwrap()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        assert!(std::thread::panicking() || status.success(), "the emulator: {status}");
    }
}

/// A datagram, and when the kernel received it, since 1970.
pub(crate) struct Datagram {
    pub(crate) payload: Vec<u8>,
    pub(crate) at: Duration,
    /// The type of service of its header, where the socket asks for it.
    pub(crate) tos: Option<u8>,
}

/// Everything that arrives until nothing does.
pub(crate) fn receive(socket: &UdpSocket) -> Vec<Datagram> {
    let mut datagrams = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    let mut control = nix::cmsg_space!(TimeSpec, i32, u8);
    loop {
        let mut pieces = [IoSliceMut::new(&mut buffer)];
        let (descriptor, flags) = (socket.as_raw_fd(), MsgFlags::empty());
        let Ok(message) =
            recvmsg::<SockaddrStorage>(descriptor, &mut pieces, Some(&mut control), flags)
        else {
            return datagrams;
        };
        let (mut at, mut tos) = (None, None);
        for message in message.cmsgs().unwrap() {
            match message {
                ControlMessageOwned::ScmTimestampns(stamp) => at = Some(Duration::from(stamp)),
                ControlMessageOwned::Ipv4Tos(field) => tos = Some(field),
                _ => {}
            }
        }
        let (at, length) = (at.expect("a time stamp"), message.bytes);
        datagrams.push(Datagram { payload: buffer[..length].to_vec(), at, tos });
    }
}

/// Makes both ends of a cable known to each other.
pub(crate) fn introduce(hosts: &Hosts, cable: usize) {
    let (a, b) = (hosts.socket(cable, 0), hosts.socket(cable, 1));
    for _ in 0..20 {
        a.send_to(b"hello", b.local_addr().unwrap()).unwrap();
        if b.recv_from(&mut [0; 8]).is_ok() {
            return;
        }
    }
    panic!("nothing passes cable {cable}");
}
