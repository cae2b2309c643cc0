//! The files of this host about names: `/etc/hosts` (hosts(5)) and the name servers of `/etc/resolv.conf` (resolv.conf(5)).

use std::fs;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// The port of name servers.
const PORT: u16 = 53;
/// The most name servers that are asked, as many as the C library asks (`MAXNS`).
const SERVERS: usize = 3;
/// The files in which local resolvers, systemd-resolved and NetworkManager, write the servers that they ask themselves.
const BEHIND_LOCAL: [&str; 2] =
    ["/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"];

/// Returns the addresses that `/etc/hosts` gives a name.
pub(super) fn hosts(name: &str) -> Vec<IpAddr> {
    in_hosts(&fs::read_to_string("/etc/hosts").unwrap_or_default(), name)
}

fn in_hosts(text: &str, name: &str) -> Vec<IpAddr> {
    let addresses = text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
    });
    addresses.collect()
}

/// The settings of a resolver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resolution {
    /// Name servers in the order in which they are asked.
    pub(super) servers: Vec<SocketAddr>,
    /// Domains in which names without a dot are looked for.
    search: Vec<String>,
}

impl Resolution {
    /// Reads the files. A resolver on this host is passed over where it has written down which servers it asks: its own questions carry no mark,
    /// so they would go into the tunnel.
    pub(super) fn read() -> Self {
        let read = |file: &str| fs::read_to_string(file).ok().map(|text| Self::parse(&text));
        let own = read("/etc/resolv.conf").unwrap_or_default();
        if own.servers.iter().any(|server| !server.ip().is_loopback()) {
            return own;
        }
        let behind = BEHIND_LOCAL.iter().filter_map(|file| read(file));
        let servers = behind.map(|it| it.servers).find(|servers| !servers.is_empty());
        Self { servers: servers.unwrap_or(own.servers), search: own.search }
    }

    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") if found.servers.len() < SERVERS => {
                    found.servers.extend(words.next().and_then(server));
                }
                // The last one counts.
                Some("search" | "domain") => found.search = words.map(str::to_owned).collect(),
                _ => {}
            }
        }
        found
    }

    /// Returns the complete names to be asked for, in their order.
    pub(super) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_suffix('.') {
            return vec![absolute.to_owned()];
        }
        let within =
            self.search.iter().map(|domain| format!("{name}.{}", domain.trim_matches('.')));
        let itself = std::iter::once(name.to_owned());
        if name.contains('.') {
            itself.chain(within).collect()
        } else {
            within.chain(itself).collect()
        }
    }
}

/// An address of a name server, with the number of its interface where it is link-local.
fn server(word: &str) -> Option<SocketAddr> {
    let Some((address, interface)) = word.split_once('%') else {
        return Some(SocketAddr::new(word.parse().ok()?, PORT));
    };
    let index = interface.parse().or_else(|_| {
        let index = fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"));
        index.unwrap_or_default().trim().parse()
    });
    Some(SocketAddrV6::new(address.parse().ok()?, PORT, 0, index.ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_hosts_is_read_as_the_c_library_reads_it() {
        let text = "127.0.0.1 localhost\n192.0.2.1\tvpn.example.org vpn # vpn2\nbad vpn\n2001:db8::1 VPN\n";
        let found = |name| in_hosts(text, name);
        let both: Vec<IpAddr> = vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        assert_eq!(found("vpn"), both);
        assert_eq!(found("vpn.EXAMPLE.org"), both[..1]);
        assert_eq!(found("vpn2"), Vec::<IpAddr>::new());
    }

    #[test]
    fn name_servers_and_domains_are_found() {
        let text = "# by DHCP\nnameserver 192.0.2.53\nnameserver 2001:db8::53\nnameserver fe80::1%2\nnameserver 192.0.2.54\n\
                    nameserver x\ndomain example.net\nsearch example.org. example.com\noptions ndots:1\n";
        let found = Resolution::parse(text);
        let servers: Vec<_> = found.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["192.0.2.53:53", "[2001:db8::53]:53", "[fe80::1%2]:53"]);
        assert_eq!(found.candidates("vpn"), ["vpn.example.org", "vpn.example.com", "vpn"]);
        assert_eq!(found.candidates("vpn.a"), ["vpn.a", "vpn.a.example.org", "vpn.a.example.com"]);
        assert_eq!(found.candidates("vpn.a."), ["vpn.a"]);
    }
}
