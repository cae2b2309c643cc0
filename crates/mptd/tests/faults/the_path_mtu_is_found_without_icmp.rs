//! Path MTUs that nobody reports: links narrower than the interface behind routers that send no ICMP, found by padded probes. And ICMP that
//! lies: with a session it changes nothing, without one it takes less than IPv6 needs from no path.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mpt_api::MtuSource;
use mpt_api::PathState;
use socket2::{Domain, Protocol, Socket, Type};

use crate::hosts::{Config, Daemon, Host, Identity, PATIENCE, Pair, Stream, wait_within};
use crate::support::wait_for_echo;
use crate::the_mtu_follows_the_paths::{
    Narrow, device_mtu, fragmentation_needed, wait_for_device_mtu,
};

/// The rate of the narrow link, in Mbit/s of Ethernet frames.
const RATE: u64 = 10;

/// Two ends with a session, as [`Narrow::configs`] has them.
fn with_session(configs: &mut [Config; 2]) -> [Identity; 2] {
    let identities = [Identity::new(), Identity::new()];
    for (end, config) in configs.iter_mut().enumerate() {
        config.daemon().set("private_key_file", identities[end].file());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
    }
    identities
}

/// The routers keep to themselves what does not fit.
fn filter_icmp(net: &Narrow) {
    for router in &net.routers {
        router.program("nft", "add table inet silent");
        router.program(
            "nft",
            "add chain inet silent out { type filter hook output priority 0 ; policy accept ; }",
        );
        router.program("nft", "add rule inet silent out icmp type destination-unreachable drop");
        router.program("nft", "add rule inet silent out icmpv6 type packet-too-big drop");
    }
}

/// Waits until probes have found this MTU at both ends.
fn wait_until_probed(daemons: &[Daemon; 2], mtu: u16) {
    for daemon in daemons {
        wait_within(PATIENCE, &format!("MTU {mtu} is found"), || {
            let path = daemon.path("tunnel", "line1");
            (path.mtu == mtu && path.mtu_source == MtuSource::Probed).then_some(())
        });
    }
}

/// Bytes of TCP payload that arrive in a second, over three of them.
fn throughput(stream: &Stream) -> u64 {
    let (before, began) = (stream.received(), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let bytes = stream.received() - before;
    (bytes as f64 / began.elapsed().as_secs_f64()) as u64
}

fn tcp_over_a_narrow_link(v6: bool, inner_mtu: u64) {
    let net = Narrow::new(1400);
    filter_icmp(&net);
    for router in &net.routers {
        router.tc(&format!("qdisc add dev r root tbf rate {RATE}mbit burst 16k latency 50ms"));
    }
    let mut configs = net.configs(v6);
    let _identities = with_session(&mut configs);
    let daemons = net.start_with(&configs);
    // It begins at once, with segments that are too large.
    let stream = Stream::start(&net.a, &net.b, "10.72.0.2:5001");
    wait_until_probed(&daemons, 1400);
    wait_for_device_mtu(&net.a, inner_mtu as u32);
    // From five seconds after the start on, the flow has what packets of 1400 bytes can carry: their payload without 40 bytes of IP and
    // TCP headers and 12 of time stamps, of 14 more on the wire.
    let possible = RATE * 1_000_000 / 8 * (inner_mtu - 52) / (1400 + 14);
    std::thread::sleep(Duration::from_secs(5));
    let arrived = throughput(&stream);
    assert!(arrived * 10 >= possible * 9, "{arrived} of {possible} bytes per second");
    for daemon in &daemons {
        let path = daemon.path("tunnel", "line1");
        assert_eq!((path.state, path.mtu, path.ipv6), (PathState::Up, 1400, true));
        assert_eq!(path.liveness.unwrap().flaps, 0, "a lost probe is no sign of a dead path");
        assert_eq!(daemon.daemon_drops("icmp_too_big"), 0, "nobody said it");
    }
    stream.end();
}

#[test]
fn tcp_reaches_what_a_link_of_1400_carries() {
    tcp_over_a_narrow_link(false, 1344);
}

#[test]
fn over_ipv6_too() {
    tcp_over_a_narrow_link(true, 1324);
}

#[test]
fn a_link_that_becomes_narrow_under_traffic_is_noticed_within_seconds() {
    let net = Narrow::new(1500);
    filter_icmp(&net);
    let mut configs = net.configs(false);
    let _identities = with_session(&mut configs);
    let daemons = net.start_with(&configs);
    wait_until_probed(&daemons, 1500);
    let stream = Stream::start(&net.a, &net.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    net.routers.iter().for_each(|router| drop(router.ip("link set r mtu 1400")));
    let narrowed = Instant::now();
    wait_until_probed(&daemons, 1400);
    assert!(narrowed.elapsed() < Duration::from_secs(10), "{:?}", narrowed.elapsed());
    stream.wait_for_progress();
    stream.end();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    assert!(program.exists(), "{} is missing: cargo build -p mpt", program.display());
    let config = daemons[0].config_file();
    for (arguments, expected) in [
        (&["show"][..], "1400 (probed)"),
        (&["doctor", "--json", "--config", config.to_str().unwrap()], "MTU 1400 (probed)"),
    ] {
        let mut mpt = net.a.namespace.command(&program).unwrap();
        mpt.arg("--socket").arg(daemons[0].socket()).args(arguments).stdin(Stdio::null());
        let said = String::from_utf8(mpt.output().unwrap().stdout).unwrap();
        assert!(said.contains(expected), "mpt {arguments:?}: {said}");
    }
}

#[test]
fn a_path_too_narrow_for_ipv6_says_so_and_the_device_keeps_1280() {
    let net = Narrow::new(1000);
    filter_icmp(&net);
    let mut configs = net.configs(false);
    for (config, peer) in configs.iter_mut().zip([2, 1]) {
        let own = 3 - peer;
        let addresses = [format!("10.72.0.{own}/24"), format!("fd00:72::{own}/64")];
        config.device("mpt0").set("addresses", addresses.to_vec());
        let networks = [format!("10.72.0.{peer}"), format!("fd00:72::{peer}")];
        config.connection("tunnel").set("networks", networks.to_vec());
    }
    let _identities = with_session(&mut configs);
    let daemons = net.start_with(&configs);
    wait_until_probed(&daemons, 1000);
    wait_for_device_mtu(&net.a, 1280);
    assert!(!daemons[0].path("tunnel", "line1").ipv6);
    // IPv4 is told what fits, IPv6 that there is no way: nothing vanishes.
    wait_for_echo(&net.a, &net.b);
    let address = "[fd00:72::2]:9".parse().unwrap();
    let refused = net.a.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NetworkUnreachable, "{refused}");
    assert!(daemons[0].drops("tunnel", "ipv6_minimum_mtu") > 0);
}

/// A host that may send ICMP to `a`, and lies.
struct Liar {
    raw: Socket,
}

impl Liar {
    fn new(host: &Host) -> Self {
        let raw = host.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)));
        Self { raw: raw.unwrap() }
    }

    /// 56 bytes, from its own address: IP and ICMP header, and as quote an IP and a UDP header.
    fn lie(&self, port: u16) {
        let to: std::net::SocketAddr = "10.71.1.1:0".parse().unwrap();
        let message = fragmentation_needed(576, port, &[]);
        assert_eq!(message.len(), 36);
        self.raw.send_to(&message, &to.into()).unwrap();
    }
}

/// Sends datagrams of the largest size through the tunnel: all arrive, each in one packet.
fn assert_full_size(pair: &Pair, daemon: &Daemon, address: [&str; 2], len: usize) {
    let [from, to] = [pair.a.udp(address[0]), pair.b.udp(address[1])];
    let before: u64 = daemon.packets_sent("tunnel").iter().sum();
    for _ in 0..50 {
        from.send_to(&vec![1; len], to.local_addr().unwrap()).unwrap();
        assert_eq!(to.recv_from(&mut [0; 2000]).unwrap().0, len);
    }
    let sent = daemon.packets_sent("tunnel").iter().sum::<u64>() - before;
    // A neighbour solicitation or two of the kernel's own may be among them.
    assert!((50..60).contains(&sent), "{sent} packets for 50 datagrams");
}

#[test]
fn with_a_session_a_forged_report_changes_nothing() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let _identities = with_session(&mut configs);
    let [a, b] = pair.start(&configs);
    wait_for_echo(&pair.a, &pair.b);
    let liar = Liar::new(&pair.b);
    let port = a.path("tunnel", "line1").source_ports[0];
    for _ in 0..100 {
        liar.lie(port);
        assert_full_size(&pair, &a, ["10.72.0.1:0", "10.72.0.2:0"], 1444 - 28);
        assert_eq!(a.path("tunnel", "line1").mtu, 1500);
    }
    assert!(a.daemon_drops("icmp_too_big") > 0, "they were read");
    // The kernel believes it, and mpt does not ask the kernel.
    let route = pair.a.ip("route get 10.71.1.2");
    assert!(route.contains("mtu 576") || route.contains("mtu 552"), "{route}");
    assert_eq!(device_mtu(&pair.a), 1444);
    drop(b);
}

#[test]
fn without_a_session_a_short_quote_leaves_ipv6_its_packets() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    wait_for_echo(&pair.a, &pair.b);
    let liar = Liar::new(&pair.b);
    let port = a.path("tunnel", "line1").source_ports[0];
    liar.lie(port);
    // An inner packet of 1280 bytes still fits.
    wait_for_device_mtu(&pair.a, 1280);
    assert_full_size(&pair, &a, ["[fd00:72::1]:0", "[fd00:72::2]:0"], 1280 - 48);
    let path = a.path("tunnel", "line1");
    assert_eq!((path.mtu, path.mtu_source, path.ipv6), (1316, MtuSource::Reported, true));
    let left = path.mtu_expires_ms.unwrap();
    assert!((500_000..=600_000).contains(&left), "forgotten in {left} ms");
    assert_eq!(a.daemon_drops("icmp_short_quote"), 1);
    // A reload heals it.
    a.request(mpt_api::Command::Reload).unwrap();
    wait_for_device_mtu(&pair.a, 1464);
    assert_eq!(a.path("tunnel", "line1").mtu_source, MtuSource::Interface);
}
