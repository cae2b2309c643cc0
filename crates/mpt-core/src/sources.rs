//! The ingress filter: which source addresses may come out of a connection.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A set of prefixes, as disjoint ranges in ascending order: a look-up costs O(log n).
#[derive(Clone, Debug, Default)]
pub struct Sources {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Sources {
    /// The addresses of all these prefixes.
    pub fn new(prefixes: &[IpNet]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for prefix in prefixes {
            match prefix {
                IpNet::V4(prefix) => v4.push(*prefix),
                IpNet::V6(prefix) => v6.push(*prefix),
            }
        }
        let mut sources = Self {
            v4: Ipv4Net::aggregate(&v4)
                .iter()
                .map(|net| (net.network().into(), net.broadcast().into()))
                .collect(),
            v6: Ipv6Net::aggregate(&v6)
                .iter()
                .map(|net| (net.network().into(), net.broadcast().into()))
                .collect(),
        };
        sources.v4.sort_unstable();
        sources.v6.sort_unstable();
        sources
    }

    /// Whether the address is in one of the prefixes.
    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => within(&self.v4, address.into()),
            IpAddr::V6(address) => within(&self.v6, address.into()),
        }
    }
}

fn within<A: PartialOrd + Copy>(ranges: &[(A, A)], address: A) -> bool {
    let place = ranges.partition_point(|&(_, last)| last < address);
    ranges.get(place).is_some_and(|&(first, _)| first <= address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_adjacent_and_separate_prefixes() {
        let prefixes =
            ["10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/25", "192.168.0.128/25", "fd00::/64"];
        let sources = Sources::new(&prefixes.map(|prefix| prefix.parse().unwrap()));
        for (address, inside) in [
            ("9.255.255.255", false),
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("192.168.0.127", true),
            ("192.168.0.255", true),
            ("192.168.1.0", false),
            ("fd00::", true),
            ("fd00::ffff:ffff:ffff:ffff", true),
            ("fd00:0:0:1::", false),
            ("::", false),
        ] {
            assert_eq!(sources.contains(address.parse().unwrap()), inside, "{address}");
        }
        assert!(!Sources::new(&[]).contains("10.0.0.1".parse().unwrap()));
    }
}
