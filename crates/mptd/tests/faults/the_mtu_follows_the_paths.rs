//! The MTU of the tunnel: from the interfaces, from routers on the way, and told to those who send too much.

use std::iter;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use mpt_wire::checksum::Sum;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::hosts::{Config, Daemon, Host, PATIENCE, Pair, wait_for};
use crate::support::{Stream, wait_for_daemon_drop, wait_for_echo};

/// Returns the MTU that `ip` shows.
pub(crate) fn device_mtu(host: &Host) -> u32 {
    let text = host.ip("-o link show dev mpt0");
    let mut words = text.split_whitespace();
    words.find(|&word| word == "mtu").unwrap();
    words.next().unwrap().parse().unwrap()
}

pub(crate) fn wait_for_device_mtu(host: &Host, mtu: u32) {
    wait_for(&format!("mpt0 has MTU {mtu}"), || (device_mtu(host) == mtu).then_some(()));
}

#[test]
fn over_ipv4_with_sequence_numbers_it_is_1464() {
    let pair = Pair::with_lines(2);
    let [a, _b] = pair.start(&pair.configs());
    assert_eq!(device_mtu(&pair.a), 1464);
    assert_eq!(a.connection("tunnel").mtu, 1464);
    assert_eq!(a.show().devices[0].mtu, 1464);
}

#[test]
fn over_ipv6_with_sequence_numbers_it_is_1444() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for (config, end) in configs.iter_mut().zip(1..) {
        config.lay_path_v6("tunnel", 2, end);
    }
    let _daemons = pair.start(&configs);
    assert_eq!(device_mtu(&pair.a), 1444);
    assert_eq!(device_mtu(&pair.b), 1444);
}

#[test]
fn whoever_sends_more_is_told() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    configs[0].device("mpt0").set("mtu", 1500);
    let [a, _b] = pair.start(&configs);
    wait_for_echo(&pair.a, &pair.b);
    assert_eq!(device_mtu(&pair.a), 1500);
    for (from, to, address, headers) in [
        ("10.72.0.1:0", "10.72.0.2:0", "10.72.0.2", 28),
        ("[fd00:72::1]:0", "[fd00:72::2]:0", "fd00:72::2", 48),
    ] {
        let [from, to] = [pair.a.udp(from), pair.b.udp(to)];
        let target = to.local_addr().unwrap();
        let told = a.drops("tunnel", "too_big");
        to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        // One byte too much. Linux sends in one piece until it is told, and in fragments afterwards.
        let tries = iter::repeat_with(|| {
            from.send_to(&vec![1; 1465 - headers], target).unwrap();
            to.recv_from(&mut [0; 1500]).ok()
        });
        let lost = tries.take(100).position(|it| it.is_some()).expect("it learns") as u64;
        assert_eq!(a.drops("tunnel", "too_big"), told + lost, "each lost one was answered");
        assert!(lost > 0, "the first one was in one piece");
        let route = pair.a.ip(&format!("route get {address}"));
        assert!(route.contains("mtu 1464"), "{route}");
        from.send_to(&vec![1; 1464 - headers], target).unwrap();
        assert_eq!(to.recv_from(&mut [0; 1500]).unwrap().0, 1464 - headers);
    }
    // TCP learns it the same way.
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    stream.end();
}

#[test]
fn it_follows_the_interface_while_the_daemon_runs() {
    let pair = Pair::with_lines(2);
    let [a, _b] = pair.start(&pair.configs());
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    pair.a.ip("link set line1 mtu 1400");
    wait_for_device_mtu(&pair.a, 1364);
    assert_eq!(a.path("tunnel", "line1").mtu, 1400);
    stream.wait_for_progress();
    pair.a.ip("link set line1 mtu 1500");
    wait_for_device_mtu(&pair.a, 1464);
    stream.wait_for_progress();
    stream.end();
}

#[test]
fn a_configured_one_that_the_interface_does_not_take_is_lowered() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.path("tunnel", "line1").set("mtu", 3000);
    }
    let [a, b] = pair.start(&configs);
    assert_eq!(device_mtu(&pair.a), 2964);
    // Batches of segments first, of which the kernel tells less than of single packets.
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    wait_for_device_mtu(&pair.a, 1464);
    assert_eq!(a.path("tunnel", "line1").mtu, 1500);
    assert!(a.path("tunnel", "line1").drops["too_big"] > 0);
    stream.end();
    for daemon in [a, b] {
        daemon.stop();
    }
}

#[test]
fn below_what_ipv6_needs_its_addresses_stay() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    pair.a.ip("link set line1 mtu 1300");
    wait_for("the connection has MTU 1264", || (a.connection("tunnel").mtu == 1264).then_some(()));
    wait_for_device_mtu(&pair.a, 1280);
    stream.wait_for_progress();
    stream.end();
    // IPv6 is refused and counted, whatever the size: a small packet that passes would only promise what a large one cannot keep.
    let v6 = pair.a.udp("[fd00:72::1]:0");
    let before = a.drops("tunnel", "ipv6_minimum_mtu");
    v6.send_to(&[1; 100], "[fd00:72::2]:9").unwrap();
    wait_for("it is counted", || (a.drops("tunnel", "ipv6_minimum_mtu") > before).then_some(()));
    pair.a.ip("link set line1 mtu 1500");
    wait_for_device_mtu(&pair.a, 1464);
    assert!(pair.a.ip("-6 addr show dev mpt0").contains("fd00:72::1"));
}

/// Two ends with two routers between them, and a narrow link between the routers.
pub(crate) struct Narrow {
    pub(crate) a: Host,
    pub(crate) b: Host,
    pub(crate) routers: [Host; 2],
}

impl Narrow {
    pub(crate) fn new(mtu: u32) -> Self {
        let [a, b, r1, r2] = ["a", "b", "r1", "r2"].map(Host::new);
        a.cable(
            "line1",
            &["10.71.1.1/24", "fd00:71:1::1/64"],
            (&r1, "a", &["10.71.1.9/24", "fd00:71:1::9/64"]),
        );
        b.cable(
            "line1",
            &["10.71.2.2/24", "fd00:71:2::2/64"],
            (&r2, "b", &["10.71.2.9/24", "fd00:71:2::9/64"]),
        );
        r1.cable(
            "r",
            &["10.71.3.1/24", "fd00:71:3::1/64"],
            (&r2, "r", &["10.71.3.2/24", "fd00:71:3::2/64"]),
        );
        for router in [&r1, &r2] {
            router.ip(&format!("link set r mtu {mtu}"));
            router.sysctl("net/ipv4/ip_forward", "1");
            router.sysctl("net/ipv6/conf/all/forwarding", "1");
            // Every single one is wanted.
            router.sysctl("net/ipv4/icmp_ratelimit", "0");
        }
        for (host, line, far) in [(&a, 1, 2), (&b, 2, 1)] {
            host.ip(&format!("route add 10.71.{far}.0/24 via 10.71.{line}.9"));
            host.ip(&format!("route add fd00:71:{far}::/64 via fd00:71:{line}::9"));
        }
        r1.ip("route add 10.71.2.0/24 via 10.71.3.2");
        r2.ip("route add 10.71.1.0/24 via 10.71.3.1");
        // Linux has no IPv6 on smaller links.
        if mtu >= 1280 {
            r1.ip("route add fd00:71:2::/64 via fd00:71:3::2");
            r2.ip("route add fd00:71:1::/64 via fd00:71:3::1");
        }
        Self { a, b, routers: [r1, r2] }
    }

    fn start(&self, v6: bool) -> [Daemon; 2] {
        self.start_with(&self.configs(v6))
    }

    pub(crate) fn start_with(&self, configs: &[Config; 2]) -> [Daemon; 2] {
        let mut daemons = [(&self.a, &configs[0]), (&self.b, &configs[1])]
            .map(|(host, config)| Daemon::start(host, config));
        daemons.iter_mut().for_each(Daemon::wait_until_up);
        daemons
    }

    /// One connection "tunnel" with a path "line1".
    pub(crate) fn configs(&self, v6: bool) -> [Config; 2] {
        let net = |line: u8, end: u8| match v6 {
            false => format!("10.71.{line}.{end}"),
            true => format!("fd00:71:{line}::{end}"),
        };
        [1_u8, 2].map(|end| {
            let peer = 3 - end;
            let mut config = Config::default();
            config.device("mpt0").set("addresses", vec![format!("10.72.0.{end}/24")]);
            config.connection("tunnel").set("networks", vec![format!("10.72.0.{peer}")]);
            let path = config.path("tunnel", "line1");
            path.set("local", net(end, end)).set("remote", net(peer, peer));
            config
        })
    }
}

fn narrow_link(v6: bool, path_mtu: u32, inner_mtu: u32) {
    let net = Narrow::new(path_mtu);
    let [a, b] = net.start(v6);
    let overhead = path_mtu - inner_mtu;
    assert_eq!(device_mtu(&net.a), 1500 - overhead, "nobody knows yet");
    // Its first full segments are too large for the router.
    let there = Stream::start(&net.a, &net.b, "10.72.0.2:5001");
    there.wait_for_progress();
    assert_learnt(&net.a, &a, path_mtu, inner_mtu);
    // The peer still knows nothing. (Its TCP would send no larger segments than it was told.)
    assert_eq!(device_mtu(&net.b), 1500 - overhead);
    let [from, to] = [net.b.udp("10.72.0.2:0"), net.a.udp("10.72.0.1:0")];
    to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    wait_for("a large datagram arrives", || {
        from.send_to(&[1; 1400], to.local_addr().unwrap()).unwrap();
        to.recv_from(&mut [0; 1500]).ok()
    });
    assert_learnt(&net.b, &b, path_mtu, inner_mtu);
    let back = Stream::start(&net.b, &net.a, "10.72.0.1:5001");
    there.wait_for_progress();
    back.wait_for_progress();
    there.end();
    back.end();
}

fn assert_learnt(host: &Host, daemon: &Daemon, path_mtu: u32, inner_mtu: u32) {
    wait_for_device_mtu(host, inner_mtu);
    assert_eq!(u32::from(daemon.path("tunnel", "line1").mtu), path_mtu);
    assert!(daemon.show().daemon.drops["icmp_too_big"] > 0);
}

#[test]
fn a_router_with_a_narrow_link_lowers_it() {
    narrow_link(false, 1400, 1364);
}

#[test]
fn an_ipv6_router_with_a_narrow_link_lowers_it() {
    narrow_link(true, 1400, 1344);
}

/// "Fragmentation needed" about a packet from `source` to port 4754 of `b` whose payload starts with `quote`.
pub(crate) fn fragmentation_needed(mtu: u16, source: u16, quote: &[u8]) -> Vec<u8> {
    let mut outer =
        vec![0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 71, 1, 1, 10, 71, 1, 2];
    outer.extend(source.to_be_bytes());
    outer.extend([0x12, 0x92, 0x05, 0xc8, 0, 0]);
    outer.extend(quote);
    let mut message = vec![3, 4, 0, 0, 0, 0];
    message.extend(mtu.to_be_bytes());
    message.extend(outer);
    let mut sum = Sum::new();
    sum.add_bytes(&message);
    let checksum = sum.finish().to_be_bytes();
    message[2..4].copy_from_slice(&checksum);
    message
}

#[test]
fn forged_reports_about_packets_we_do_not_send_are_not_believed() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.connection("tunnel").set("key", 0x0102_0304);
    }
    let [a, _b] = pair.start(&configs);
    wait_for_echo(&pair.a, &pair.b);
    let port = a.path("tunnel", "line1").source_ports[0];
    let raw = pair.b.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))).unwrap();
    let target: SocketAddr = "10.71.1.1:0".parse().unwrap();
    let send = |message: Vec<u8>| raw.send_to(&message, &target.into()).unwrap();
    // The GRE header of a packet that is sent now.
    let ours = || {
        wait_for_echo(&pair.a, &pair.b);
        let next: u64 = a.packets_sent("tunnel").iter().sum();
        let mut quote = vec![0x30, 0, 0x08, 0, 1, 2, 3, 4];
        quote.extend(u32::try_from(next - 1).unwrap().to_be_bytes());
        quote
    };

    // From a port that nobody has: the kernel finds no socket.
    send(fragmentation_needed(1000, port ^ 1, &ours()));
    // The right port, but no GRE, GRE without key, GRE with another key.
    for quote in [
        [0xff; 12],
        [0x10, 0, 0x08, 0, 1, 2, 3, 4, 0, 0, 0, 9],
        [0x30, 0, 8, 0, 9, 9, 9, 9, 0, 0, 0, 9],
        // The right key, but a number that was never sent.
        [0x30, 0, 8, 0, 1, 2, 3, 4, 0, 1, 0, 9],
    ] {
        send(fragmentation_needed(1000, port, &quote));
    }
    wait_for_daemon_drop(&a, "icmp_not_ours", 4);
    assert_eq!(a.path("tunnel", "line1").mtu, 1500);
    // Smaller than any link is.
    send(fragmentation_needed(100, port, &ours()));
    wait_for("it is read", || {
        let drops = a.show().daemon.drops;
        let read = ["icmp_too_big", "icmp_other", "icmp_not_ours"].map(|it| drops.get(it).copied());
        (read.into_iter().flatten().sum::<u64>() == 5).then_some(())
    });
    assert_eq!(a.path("tunnel", "line1").mtu, 1500);
    assert_eq!(device_mtu(&pair.a), 1460);
    wait_for_echo(&pair.a, &pair.b);
    // A report that only a router on the way can make.
    send(fragmentation_needed(1400, port, &ours()));
    wait_for_device_mtu(&pair.a, 1360);
}

#[test]
fn the_mss_of_connections_passing_through_fits_it_both_ways() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    // The peer knows nothing of it, so whatever is lowered is lowered by one end.
    configs[0].path("tunnel", "line1").set("mtu", 1400);
    let hosts = [(&pair.a, "c", 1), (&pair.b, "d", 2)].map(|(router, label, site)| {
        let host = Host::new(label);
        let address = format!("10.80.{site}.9/24");
        let gateway = format!("10.80.{site}.1");
        host.cable("eth0", &[&address], (router, label, &[&format!("{gateway}/24")]));
        host.ip("link set dev eth0 mtu 9000");
        router.ip(&format!("link set dev {label} mtu 9000"));
        router.sysctl("net/ipv4/ip_forward", "1");
        host.ip(&format!("route add default via {gateway}"));
        host
    });
    for (config, peer) in configs.iter_mut().zip([2, 1]) {
        let networks = [format!("10.72.0.{peer}"), format!("10.80.{peer}.0/24")];
        config.connection("tunnel").set("networks", networks.to_vec());
    }
    let [a, b] = pair.start(&configs);
    let [c, d] = &hosts;
    for (client, server, address) in [(c, d, "10.80.2.9:80"), (d, c, "10.80.1.9:80")] {
        let address: SocketAddr = address.parse().unwrap();
        let listener = server.run(|| TcpListener::bind(address)).unwrap();
        let stream = client.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
        let accepted = listener.accept().unwrap().0;
        for end in [&stream, &accepted] {
            // Less 12 bytes of time stamps.
            assert_eq!(SockRef::from(end).tcp_mss().unwrap(), 1364 - 40 - 12);
        }
    }
    assert_eq!(a.remarks("tunnel", "mss_clamped"), 4, "two SYNs and two answers");
    assert_eq!(b.drops("tunnel", "too_big"), 0);
    let stream = Stream::start(c, d, "10.80.2.9:81");
    stream.wait_for_progress();
    stream.end();
}
