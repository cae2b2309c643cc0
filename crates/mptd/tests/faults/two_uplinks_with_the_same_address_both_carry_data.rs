//! Two DHCP uplinks as two home routers make them: the same address, the same gateway, and a NAT behind each.

use mpt_api::PathState;

use crate::hosts::{Capture, Config, Daemon, Host, wait_for};
use crate::support::{Picture, Stream, wait_for_state, wait_for_use};

/// `a` behind the routers `r1` and `r2`, which look the same to it, and `b` on the Internet.
struct Home {
    a: Host,
    routers: [Host; 2],
    b: Host,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            a: Host::new("a"),
            routers: [Host::new("r1"), Host::new("r2")],
            b: Host::new("b"),
        };
        home.b.add_address("lo", "192.0.2.1/32");
        for (number, router) in (1..).zip(&home.routers) {
            home.lay(number);
            let (left, right) = (format!("10.71.{number}.1/24"), format!("10.71.{number}.2/24"));
            let name = format!("line{number}");
            router.cable("wan", &[&left], (&home.b, &name, &[&right]));
            router.ip(&format!("route add 192.0.2.1 via 10.71.{number}.2"));
            router.sysctl("net/ipv4/ip_forward", "1");
            router.program("nft", "add table ip nat");
            router.program(
                "nft",
                "add chain ip nat out { type nat hook postrouting priority srcnat ; }",
            );
            router.program("nft", "add rule ip nat out oifname wan masquerade");
            for key in ["all".to_owned(), name] {
                home.b.sysctl(&format!("net/ipv4/conf/{key}/rp_filter"), "0");
            }
        }
        home.a.sysctl("net/ipv4/conf/all/rp_filter", "0");
        home
    }

    /// The cable to one of the routers, by which `a` gets its address.
    fn lay(&self, number: usize) {
        let (name, router) = (format!("eth{}", number - 1), &self.routers[number - 1]);
        self.a.cable(&name, &["192.168.1.7/24"], (router, "lan", &["192.168.1.1/24"]));
        self.a.sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "2");
    }

    /// Paths by nothing but their interfaces at `a`; `b` knows only that somebody comes through a NAT on either line.
    fn configs(&self) -> [Config; 2] {
        let mut configs = [1, 2].map(|end| {
            let mut config = Config::default();
            config.device("mpt0").set("addresses", vec![format!("10.72.0.{end}/24")]);
            let networks = vec![format!("10.72.0.{}", 3 - end)];
            config.connection("tunnel").set("networks", networks);
            config
        });
        for number in 1..=2 {
            let name = format!("line{number}");
            configs[0]
                .path("tunnel", &name)
                .set("interface", format!("eth{}", number - 1))
                .set("remote", "192.0.2.1")
                .set("nat", true);
            configs[1]
                .path("tunnel", &name)
                .set("local", "192.0.2.1")
                .set("remote", format!("10.71.{number}.1"))
                .set("nat", true);
        }
        configs
    }

    fn start(&self) -> [Daemon; 2] {
        let [a, b] = self.configs();
        let mut daemons = [Daemon::start(&self.a, &a), Daemon::start(&self.b, &b)];
        daemons.iter_mut().for_each(Daemon::wait_until_up);
        daemons
    }

    /// A stream in either direction uses both lines, and every packet leaves by the interface of its path.
    fn assert_both_carry(&self, daemons: &[Daemon; 2]) {
        let captures = [0, 1].map(|router: usize| Capture::start(&self.routers[router]));
        // The first packet through each NAT is that of `a`.
        let stream = Stream::start(&self.a, &self.b, "10.72.0.2:5001");
        wait_for_use(&daemons[0], &["line1", "line2"]);
        wait_for_use(&daemons[1], &["line1", "line2"]);
        stream.end();
        for capture in captures {
            let seen = capture.stop();
            let outer = seen.iter().filter(|it| it.packet[0] == 0x45 && it.packet[9] == 17);
            assert!(outer.count() > 10, "some go through each router");
        }
    }
}

#[test]
fn by_default_routes_of_different_metrics() {
    let home = Home::new();
    for (number, metric) in [(0, 100), (1, 200)] {
        home.a.ip(&format!("route add default via 192.168.1.1 dev eth{number} metric {metric}"));
    }
    let before = Picture::of(&home.a);
    let daemons = home.start();
    home.assert_both_carry(&daemons);
    daemons.into_iter().for_each(Daemon::stop);
    before.wait_for(&home.a);
}

#[test]
fn although_the_main_table_has_the_default_route_of_one_only() {
    let home = Home::new();
    home.a.ip("route add default via 192.168.1.1 dev eth0");
    home.a.ip("route add default via 192.168.1.1 dev eth1 table 100");
    let before = Picture::of(&home.a);
    let daemons = home.start();
    home.assert_both_carry(&daemons);
    daemons.into_iter().for_each(Daemon::stop);
    before.wait_for(&home.a);
}

#[test]
fn also_when_one_gets_its_lease_after_the_start() {
    let home = Home::new();
    home.a.ip("route add default via 192.168.1.1 dev eth0");
    home.a.ip("addr del 192.168.1.7/24 dev eth1");
    let [a, b] = home.configs();
    let (a, mut b) = (Daemon::start(&home.a, &a), Daemon::start(&home.b, &b));
    // Paths without a session are up whether the peer runs or not.
    b.wait_until_up();
    wait_for("mptd answers", || std::os::unix::net::UnixStream::connect(a.socket()).ok());
    wait_for_state(&a, "line1", PathState::Up);
    wait_for_state(&a, "line2", PathState::Down);
    home.a.add_address("eth1", "192.168.1.7/24");
    home.a.ip("route add default via 192.168.1.1 dev eth1 table 100");
    wait_for_state(&a, "line2", PathState::Up);
    wait_for("its route is followed", || {
        home.a
            .ip("route show table all")
            .matches("default via 192.168.1.1 dev eth1")
            .nth(1)
            .map(drop)
    });
    let daemons = [a, b];
    home.assert_both_carry(&daemons);

    // And when the whole interface goes and comes.
    home.a.remove_link("eth1");
    wait_for_state(&daemons[0], "line2", PathState::Down);
    home.lay(2);
    home.a.ip("route add default via 192.168.1.1 dev eth1 metric 5");
    home.routers[1].set_link("lan", true);
    wait_for_state(&daemons[0], "line2", PathState::Up);
    wait_for("its route is followed", || {
        home.a
            .ip("route show table all")
            .matches("default via 192.168.1.1 dev eth1")
            .nth(1)
            .map(drop)
    });
    home.assert_both_carry(&daemons);
}

#[test]
fn and_a_path_whose_router_is_gone_leaves_by_no_other() {
    let home = Home::new();
    for (number, metric) in [(0, 100), (1, 200)] {
        home.a.ip(&format!("route add default via 192.168.1.1 dev eth{number} metric {metric}"));
    }
    let daemons = home.start();
    home.assert_both_carry(&daemons);
    home.a.ip("route del default via 192.168.1.1 dev eth1");
    wait_for("our route by it goes, too", || {
        (!home.a.ip("route show table all").contains("default via 192.168.1.1 dev eth1"))
            .then_some(())
    });
    let before = daemons[0].packets_sent("tunnel");
    let capture = Capture::start(&home.a);
    let socket = home.a.udp("10.72.0.1:0");
    for _ in 0..100 {
        socket.send_to(b"x", "10.72.0.2:9").unwrap();
    }
    wait_for("all are sent", || {
        let sent = daemons[0].packets_sent("tunnel");
        (sent[0] >= before[0] + 50 && sent[1] >= before[1] + 50).then_some(())
    });
    let eth0 = home.a.index("eth0");
    let captured = capture.stop();
    let out: Vec<_> = captured.iter().filter(|it| it.outgoing && it.index == eth0).collect();
    let outer = out.iter().filter(|it| it.packet[0] == 0x45 && it.packet[16..20] == [192, 0, 2, 1]);
    let bytes: usize = outer.map(|it| it.packet.len() - 28).sum();
    // GRE with a sequence number, IP, UDP and a byte: those of the first path, joined or not.
    assert_eq!(bytes, 50 * (8 + 20 + 8 + 1));
}
