//! The ingress filter: which source addresses may come out of a connection.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A set of prefixes, as disjoint ranges in ascending order: a look-up costs O(log n).
///
/// IPv4 addresses stand where IPv6 has those that are mapped from them (RFC 4291, section 2.5.5.2).
/// No packet has such a source, and none is in any set.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    ranges: Box<[(u128, u128)]>,
}

const FIRST_MAPPED: u128 = 0xffff << 32;
const LAST_MAPPED: u128 = FIRST_MAPPED + 0xffff_ffff;

impl Sources {
    /// Creates the set of all addresses of these prefixes.
    pub fn new(prefixes: &[IpNet]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for prefix in prefixes {
            match prefix {
                IpNet::V4(prefix) => v4.push(*prefix),
                IpNet::V6(prefix) => v6.push(*prefix),
            }
        }
        let mut ranges = Vec::new();
        for net in Ipv4Net::aggregate(&v4) {
            ranges.push((mapped(net.network().into()), mapped(net.broadcast().into())));
        }
        for net in Ipv6Net::aggregate(&v6) {
            let (first, last) = (u128::from(net.network()), u128::from(net.broadcast()));
            // The parts of the network on either side of the mapped addresses remain: nearly always the whole network.
            for (first, last) in
                [(first, last.min(FIRST_MAPPED - 1)), (first.max(LAST_MAPPED + 1), last)]
            {
                if first <= last {
                    ranges.push((first, last));
                }
            }
        }
        ranges.sort_unstable();
        Self { ranges: ranges.into() }
    }

    /// Returns true if the address is in one of the prefixes.
    // Every packet that arrives is looked up.
    #[inline(always)]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = match address {
            IpAddr::V4(address) => mapped(address.into()),
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => return false,
            IpAddr::V6(address) => address.into(),
        };
        let place = self.ranges.partition_point(|&(_, last)| last < address);
        self.ranges.get(place).is_some_and(|&(first, _)| first <= address)
    }
}

fn mapped(address: u32) -> u128 {
    FIRST_MAPPED + u128::from(address)
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
        let everything = Sources::new(&["::/0".parse().unwrap()]);
        for (address, inside) in
            [("::", true), ("ffff::", true), ("10.0.0.1", false), ("::ffff:10.0.0.1", false)]
        {
            assert_eq!(everything.contains(address.parse().unwrap()), inside, "{address}");
        }
        assert!(!sources.contains("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!Sources::new(&[]).contains("10.0.0.1".parse().unwrap()));
    }
}
