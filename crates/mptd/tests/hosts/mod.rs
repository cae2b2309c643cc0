//! Hosts of the end-to-end tests: network namespaces, cables between them, and real daemons.
//!
//! Everything is removed when it is dropped, also by a panic; a daemon dropped by a panic prints its log and its last
//! snapshot. Names differ from process to process and from host to host, so tests run side by side. Everything fails, and
//! nothing is skipped, without root.
//!
//! ```text
//! let pair = Pair::new(&[Line::default(), Line { rate: Some(20), ..Line::default() }]);
//! let mut config = pair.configs();                      // [Config; 2]: one connection "tunnel" over all lines
//! for config in &mut config {
//!     config.connection("tunnel").set("window", 1000).set("late", "drop");
//!     config.path("tunnel", "line1").set("weight", 3);
//! }
//! let [a, b] = pair.start(&config);                      // daemons, once every path is up
//! let socket = pair.b.udp("10.72.0.2:7");                // sockets, threads, programs in a namespace
//! a.path("tunnel", "line1").sent.packets;                // counters
//! a.set_path("tunnel", "line1", PathChange { up: Some(false), ..PathChange::default() });
//! config[0].path("tunnel", "line2").set("weight", 2);
//! a.write_config(&config[0]);
//! a.request(Command::Reload);                            // Result<Reply, Failure>
//! a.stop();                                              // SIGTERM; asserts that it ended in order
//! ```
//!
//! - [`Host`]: a namespace. `Host::new("r")`, [`Host::cable`] (veth pair to another host, with addresses), [`Host::udp`],
//!   [`Host::run`] (a closure there), [`Host::ip`] (what `ip ...` says), [`Host::tc`], [`Host::sysctl`], [`Host::set_link`].
//! - [`Pair`]: hosts `a` and `b` and lines `line1`, `line2`, ... between them: line *i* has 10.71.*i*.1 and fd00:71:*i*::1 at `a`, ... 2 at
//!   `b`. Inside the tunnel `a` is 10.72.0.1 and fd00:72::1, `b` ends in 2.
//! - [`Config`]: a configuration file in the making.
//!   With [`Line::bridged`] there is a third host in the middle, where a line can be broken in every way: [`Pair::cut`], [`Pair::swallow`],
//!   [`Pair::mend`].
//! - [`Identity`], [`Preshared`]: key files.
//! - [`Daemon`]: one mptd process. [`Daemon::start`] returns at once, [`Daemon::wait_until_up`] waits; [`Daemon::run_to_end`] is for those that
//!   should fail.
//! - [`Capture`]: every packet that passes the interfaces of a host.
//! - [`traffic`]: checksummed streams and numbered datagrams. [`Stream`] and [`Pulse`] go on while something happens.
#![allow(dead_code, unused_imports, reason = "every test file uses a part of this")]

mod capture;
mod config;
mod daemon;
mod keys;
mod pulse;
mod stream;
pub(crate) mod traffic;

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, iter};

use ipnet::IpNet;
use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_linux::netns::{self, Namespace};
use tokio::runtime::Runtime;

pub(crate) use capture::{Capture, Captured, Datagram, pcap};
pub(crate) use config::Config;
pub(crate) use daemon::{Daemon, counted};
pub(crate) use keys::{Identity, Preshared};
pub(crate) use pulse::{Beats, Pulse};
pub(crate) use stream::Stream;

/// Longest time for anything that has to happen on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// A network namespace with its loopback interface up.
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    netlink: Netlink,
    /// Drives `netlink`.
    runtime: Runtime,
}

impl Host {
    pub(crate) fn new(label: &str) -> Self {
        static HOSTS: AtomicU32 = AtomicU32::new(0);
        assert!(
            nix::unistd::geteuid().is_root(),
            "this test makes network namespaces: run it as root"
        );
        let number = HOSTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mptd-{}-{number}-{label}", std::process::id());
        let namespace = Namespace::create(&name).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let netlink = runtime.block_on(async { Netlink::connect_in(&namespace) }).unwrap();
        let host = Self { namespace, netlink, runtime };
        host.set_link("lo", true);
        host
    }

    /// A cable to an interface of another host: both ends up, each with its addresses ("192.0.2.1/24").
    pub(crate) fn cable(&self, name: &str, addresses: &[&str], peer: (&Host, &str, &[&str])) {
        let ends = (
            VethEnd { name, namespace: &self.namespace },
            VethEnd { name: peer.1, namespace: &peer.0.namespace },
        );
        self.runtime.block_on(self.netlink.add_veth(ends.0, ends.1)).unwrap();
        for (host, interface, addresses) in [(self, name, addresses), peer] {
            for address in addresses {
                host.add_address(interface, address);
            }
            host.set_link(interface, true);
        }
        wait_for("the carrier is there", || {
            let running =
                |host: &Host, name| host.runtime.block_on(host.netlink.link(name)).unwrap().running;
            (running(self, name) && running(peer.0, peer.1)).then_some(())
        });
    }

    pub(crate) fn add_address(&self, interface: &str, address: &str) {
        let net: IpNet = address.parse().unwrap();
        let index = self.index(interface);
        self.runtime.block_on(self.netlink.add_address(index, net)).unwrap();
    }

    /// Sets an interface up or down.
    pub(crate) fn set_link(&self, interface: &str, up: bool) {
        let index = self.index(interface);
        let change = async {
            if up { self.netlink.set_up(index).await } else { self.netlink.set_down(index).await }
        };
        self.runtime.block_on(change).unwrap();
    }

    /// Removes an interface, and with a veth pair both ends of it.
    pub(crate) fn remove_link(&self, interface: &str) {
        let index = self.index(interface);
        self.runtime.block_on(self.netlink.remove_link(index)).unwrap();
    }

    pub(crate) fn link_exists(&self, interface: &str) -> bool {
        self.runtime.block_on(self.netlink.link_exists(interface)).unwrap()
    }

    pub(crate) fn index(&self, interface: &str) -> u32 {
        self.runtime.block_on(self.netlink.link(interface)).unwrap().index
    }

    /// Runs `ip` here and returns its output: a source other than the project's own code, and the way to what its netlink lacks.
    pub(crate) fn ip(&self, arguments: &str) -> String {
        self.program("ip", arguments)
    }

    /// Traffic control: `tc("qdisc add dev line1 root netem loss 5%")`.
    pub(crate) fn tc(&self, arguments: &str) {
        netns::tc(&self.namespace, &arguments.split_whitespace().collect::<Vec<_>>()).unwrap();
    }

    /// Runs a program here to its end, which has to be a good one, and gives back what it printed.
    pub(crate) fn program(&self, program: &str, arguments: &str) -> String {
        let mut command = self.namespace.command(program).unwrap();
        let output = command.args(arguments.split_whitespace()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
        assert!(output.status.success(), "{program} {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Writes a value below /proc/sys: `sysctl("net/ipv4/ip_forward", "1")`.
    pub(crate) fn sysctl(&self, key: &str, value: &str) {
        let written = self.run(|| fs::write(format!("/proc/sys/{key}"), value));
        written.unwrap_or_else(|error| panic!("{key} = {value}: {error}"));
    }

    /// Runs `work` on a thread in this namespace, to its end. Sockets opened there stay there.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        netns::run_in(&self.namespace, work).unwrap()
    }

    /// A UDP socket of this host, whose reads fail after [`PATIENCE`].
    pub(crate) fn udp(&self, local: &str) -> UdpSocket {
        let local: SocketAddr = local.parse().unwrap();
        // A process that another test is just forking keeps closed sockets for a moment, until its exec.
        let socket =
            wait_for(&format!("bind {local}"), || match self.run(|| UdpSocket::bind(local)) {
                Err(error) if error.kind() == ErrorKind::AddrInUse => None,
                result => Some(result.unwrap_or_else(|error| panic!("bind {local}: {error}"))),
            });
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        nix::sys::socket::setsockopt(
            &socket,
            nix::sys::socket::sockopt::RcvBufForce,
            &(8 * 1024 * 1024),
        )
        .unwrap();
        socket
    }
}

/// The properties of a line between the hosts of a [`Pair`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Rate in Mbit/s of a token bucket filter at either end; `None` for as fast as the machine.
    pub(crate) rate: Option<u32>,
    /// True if its devices take super-packets and packets without checksum. Otherwise a capture shows each packet as a real Ethernet would carry it.
    pub(crate) offloads: bool,
    /// True if a bridge joins two cables, so that one end does not see what happens to the other.
    pub(crate) bridged: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self { rate: None, offloads: true, bridged: false }
    }
}

impl Line {
    /// A line without offloads: for captures.
    pub(crate) fn plain() -> Self {
        Self { offloads: false, ..Self::default() }
    }

    /// A line with a bridge in the middle.
    pub(crate) fn bridged() -> Self {
        Self { bridged: true, ..Self::default() }
    }

    /// A line with a token bucket filter of so many Mbit/s at either end.
    pub(crate) fn shaped(rate: u32) -> Self {
        Self { rate: Some(rate), ..Self::default() }
    }
}

/// Two hosts with lines between them.
pub(crate) struct Pair {
    pub(crate) a: Host,
    pub(crate) b: Host,
    /// The host of the bridges, if there are any: `bridge1` with the ports `a1` and `b1`, ...
    middle: Option<Host>,
    lines: usize,
}

/// One direction of a line of a [`Pair`], or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    AToB,
    BToA,
    Both,
}

impl Pair {
    pub(crate) fn new(lines: &[Line]) -> Self {
        let middle = lines.iter().any(|line| line.bridged).then(|| {
            let middle = Host::new("m");
            // It has nothing to say on the lines.
            middle.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
            middle
        });
        let pair = Self { a: Host::new("a"), b: Host::new("b"), middle, lines: lines.len() };
        for (number, line) in (1..).zip(lines) {
            let name = format!("line{number}");
            let addresses = |end: u8| {
                [format!("10.71.{number}.{end}/24"), format!("fd00:71:{number}::{end}/64")]
            };
            let ([a4, a6], [b4, b6]) = (addresses(1), addresses(2));
            if line.bridged {
                let middle = pair.middle();
                let bridge = format!("bridge{number}");
                middle.ip(&format!("link add {bridge} type bridge mcast_snooping 0"));
                middle.set_link(&bridge, true);
                for (port, host, addresses) in
                    [("a", &pair.a, [&*a4, &a6]), ("b", &pair.b, [&b4, &b6])]
                {
                    let port = format!("{port}{number}");
                    host.cable(&name, &addresses, (middle, &port, &[]));
                    middle.ip(&format!("link set {port} master {bridge}"));
                }
                pair.know_each_other(&name, [&a4, &b4]);
            } else {
                pair.a.cable(&name, &[&a4, &a6], (&pair.b, &name, &[&b4, &b6]));
            }
            for host in [&pair.a, &pair.b] {
                if let Some(rate) = line.rate {
                    host.tc(&format!(
                        "qdisc add dev {name} root tbf rate {rate}mbit burst 32kbit latency 100ms"
                    ));
                }
                if !line.offloads {
                    let off = "tx off tso off gso off tx-udp-segmentation off";
                    host.program("ethtool", &format!("-K {name} {off}"));
                }
            }
        }
        pair
    }

    /// Returns a pair with `count` lines of the default kind.
    pub(crate) fn with_lines(count: usize) -> Self {
        Self::new(&vec![Line::default(); count])
    }

    /// Has both ends of a line remember each other's link address: a line that is broken for long, in one direction only, shall not take the other one
    /// with it because nobody answers ARP.
    fn know_each_other(&self, line: &str, addresses: [&str; 2]) {
        let link_address = |host: &Host| {
            let shown = host.ip(&format!("link show dev {line}"));
            let mut words = shown.split_whitespace().skip_while(|&word| word != "link/ether");
            words.nth(1).expect("a link address").to_owned()
        };
        let [at_a, at_b] = self.hosts().map(link_address);
        let neighbours = [(&self.a, addresses[1], at_b), (&self.b, addresses[0], at_a)];
        for (host, address, link_address) in neighbours {
            let (address, _) = address.split_once('/').expect("an address with its network");
            host.ip(&format!(
                "neigh replace {address} lladdr {link_address} nud permanent dev {line}"
            ));
        }
    }

    /// The host with the bridges of the bridged lines.
    pub(crate) fn middle(&self) -> &Host {
        self.middle.as_ref().expect("a line is bridged")
    }

    /// Takes the carrier of a bridged line away from `a`, or gives it back; `b` keeps its own.
    pub(crate) fn cut(&self, line: usize, cut: bool) {
        self.middle().set_link(&format!("a{line}"), !cut);
    }

    /// From now on a bridged line loses everything without a sound.
    pub(crate) fn swallow(&self, line: usize, way: Way) {
        for port in ports(line, way) {
            self.middle().tc(&format!("qdisc replace dev {port} root pfifo limit 0"));
        }
    }

    /// Ends [`Self::swallow`].
    pub(crate) fn mend(&self, line: usize, way: Way) {
        for port in ports(line, way) {
            self.middle().tc(&format!("qdisc del dev {port} root"));
        }
    }

    /// Host `a` and host `b`.
    pub(crate) fn hosts(&self) -> [&Host; 2] {
        [&self.a, &self.b]
    }

    /// Configurations of `a` and of `b`: the device `mpt0` with both inner addresses, and on it one connection `tunnel`
    /// over all lines, by IPv4; everything else at its default.
    pub(crate) fn configs(&self) -> [Config; 2] {
        Self::configs_of(self.lines)
    }

    /// Returns the configurations of [`Self::configs`] for a pair of `lines` lines that is still to be made.
    pub(crate) fn configs_of(lines: usize) -> [Config; 2] {
        [1, 2].map(|end| {
            let peer = 3 - end;
            let mut config = Config::default();
            let inner = [format!("10.72.0.{end}/24"), format!("fd00:72::{end}/64")];
            config.device("mpt0").set("addresses", inner.to_vec());
            let networks = [format!("10.72.0.{peer}"), format!("fd00:72::{peer}")];
            config.connection("tunnel").set("networks", networks.to_vec());
            for line in 1..=lines {
                config.lay_path("tunnel", line, end);
            }
            config
        })
    }

    /// Starts a daemon at either end and waits until every path of both is up.
    pub(crate) fn start(&self, configs: &[Config; 2]) -> [Daemon; 2] {
        let mut daemons =
            [Daemon::start(&self.a, &configs[0]), Daemon::start(&self.b, &configs[1])];
        for daemon in &mut daemons {
            daemon.wait_until_up();
        }
        daemons
    }
}

/// Ports of a bridge through which packets of one direction leave it.
fn ports(line: usize, way: Way) -> Vec<String> {
    let ends: &[_] = match way {
        Way::AToB => &["b"],
        Way::BToA => &["a"],
        Way::Both => &["a", "b"],
    };
    ends.iter().map(|end| format!("{end}{line}")).collect()
}

/// Asks again and again until there is an answer; panics with `what` when there is none within [`PATIENCE`].
pub(crate) fn wait_for<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, ask)
}

/// Asks like [`wait_for`], with another limit.
pub(crate) fn wait_within<T>(limit: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let answers = iter::from_fn(|| {
        if start.elapsed() > limit {
            return None;
        }
        let answer = ask();
        if answer.is_none() {
            thread::sleep(Duration::from_millis(10));
        }
        Some(answer)
    });
    answers.flatten().next().unwrap_or_else(|| panic!("{what}: not within {limit:?}"))
}
