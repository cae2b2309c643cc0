//! A NAT: a host that forwards and gives what comes from inside its own outside address and another port.

use std::io::Write;
use std::process::Stdio;

use crate::hosts::Host;

/// The server's network, `.1` being the NAT and `.2` the server.
pub(crate) const OUTSIDE: &str = "203.0.113";

/// NAT, the server outside and the clients inside. The interface of each host but the NAT is `wan`.
pub(crate) struct Net {
    pub(crate) nat: Host,
    pub(crate) server: Host,
    /// Number `n` (from 1) has 192.168.`n`.2 and its default route by the NAT.
    pub(crate) clients: Vec<Host>,
}

impl Net {
    pub(crate) fn new(clients: usize) -> Self {
        let net = Self {
            nat: Host::new("nat"),
            server: Host::new("server"),
            clients: (1..=clients).map(|number| Host::new(&format!("client{number}"))).collect(),
        };
        let [at_nat, at_server] = [1, 2].map(|host| format!("{OUTSIDE}.{host}/24"));
        net.nat.cable("out", &[&at_nat], (&net.server, "wan", &[&at_server]));
        for (number, client) in (1..).zip(&net.clients) {
            let [gateway, address] = [1, 2].map(|host| format!("192.168.{number}.{host}/24"));
            net.nat.cable(&format!("in{number}"), &[&gateway], (client, "wan", &[&address]));
            client.ip(&format!("route add default via 192.168.{number}.1"));
        }
        net.nat.sysctl("net/ipv4/ip_forward", "1");
        net.filter(
            "table ip nat {
                 chain leaving {
                     type nat hook postrouting priority srcnat;
                     ip protocol udp oifname \"out\" masquerade to :20000-30000 fully-random;
                 }
             }",
        );
        net.bind(1);
        net
    }

    /// Forgets all bindings: what comes in for them is nobody's, what goes out gets another port.
    pub(crate) fn rebind(&self) {
        self.filter("delete table ip zone");
        self.bind(2);
    }

    /// The kernel keeps bindings apart by zone.
    fn bind(&self, zone: u16) {
        self.filter(&format!(
            "table ip zone {{
                 chain incoming {{
                     type filter hook prerouting priority raw;
                     ct zone set {zone};
                 }}
             }}"
        ));
    }

    fn filter(&self, rules: &str) {
        let mut command = self.nat.namespace.command("nft").unwrap();
        let command = command.args(["-f", "-"]).stdin(Stdio::piped());
        let mut nft = command.spawn().expect("nft is installed (scripts/setup test)");
        nft.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
        assert!(nft.wait().unwrap().success(), "nft: {rules}");
    }
}
