//! The hash that keeps a flow on its path.

use std::net::IpAddr;

use super::Summary;

// Numbers without a pattern: the first fractional digits of pi.
const K0: u64 = 0x243f_6a88_85a3_08d3;
const K1: u64 = 0x1319_8a2e_0370_7345;
const K2: u64 = 0xa409_3822_299f_31d1;
const K3: u64 = 0x082e_fa98_ec4e_6c89;

impl Summary {
    /// A well-mixed hash of addresses, protocol and, where there are any, ports.
    ///
    /// Fragments have no ports here ([`Summary::ports`]), so all fragments of a datagram hash
    /// alike (but not like the whole packets of their flow, about which a later fragment says
    /// nothing). The two directions of a flow hash differently. Every bit of the result depends on
    /// every bit of the input and of `seed`: take as many as needed from either end.
    ///
    /// It is fast and not cryptographic: who sees many results may construct collisions.
    #[inline]
    pub fn flow_hash(&self, seed: u64) -> u64 {
        // A flow without ports differs from one with ports 0.
        let ports = match self.ports {
            Some((source, destination)) => {
                1 << 32 | u64::from(source) << 16 | u64::from(destination)
            }
            None => 0,
        };
        let rest = ports | u64::from(self.protocol) << 40;
        let mut hash = mix(seed ^ K0, rest ^ K1);
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let addresses =
                    u64::from(u32::from(source)) << 32 | u64::from(u32::from(destination));
                hash = mix(hash ^ addresses, K2);
            }
            (source, destination) => {
                for address in [source, destination] {
                    let (high, low) = halves(address);
                    hash = mix(hash ^ high, low ^ K2);
                }
            }
        }
        mix(hash ^ K3, K1)
    }
}

/// Folded multiplication, the mixing step of wyhash and its kin: every bit of both factors reaches
/// the middle of the 128-bit product.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    low(product) ^ low(product >> 64)
}

#[inline]
fn halves(address: IpAddr) -> (u64, u64) {
    let bits = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    (low(bits >> 64), low(bits))
}

#[inline]
fn low(bits: u128) -> u64 {
    (bits & 0xffff_ffff_ffff_ffff) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Version;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn v4(source: u32, destination: u32, protocol: u8, ports: Option<(u16, u16)>) -> Summary {
        Summary {
            version: Version::V4,
            source: Ipv4Addr::from(source).into(),
            destination: Ipv4Addr::from(destination).into(),
            protocol,
            tos: 0,
            transport: 20,
            ports,
            fragment: false,
            flow_label: 0,
            total_len: 1500,
        }
    }

    fn v6(source: u128, destination: u128, protocol: u8, ports: Option<(u16, u16)>) -> Summary {
        Summary {
            version: Version::V6,
            source: Ipv6Addr::from(source).into(),
            destination: Ipv6Addr::from(destination).into(),
            ..v4(0, 0, protocol, ports)
        }
    }

    #[test]
    fn only_the_five_tuple_counts() {
        let flow = v4(0x0a000001, 0x0a000002, 6, Some((1234, 80)));
        let hash = flow.flow_hash(7);
        let same = Summary { tos: 0xb8, total_len: 40, transport: 24, flow_label: 5, ..flow };
        assert_eq!(same.flow_hash(7), hash);
        for other in [
            v4(0x0a000003, 0x0a000002, 6, Some((1234, 80))),
            v4(0x0a000001, 0x0a000003, 6, Some((1234, 80))),
            v4(0x0a000002, 0x0a000001, 6, Some((80, 1234))),
            v4(0x0a000001, 0x0a000002, 17, Some((1234, 80))),
            v4(0x0a000001, 0x0a000002, 6, Some((1235, 80))),
            v4(0x0a000001, 0x0a000002, 6, Some((80, 1234))),
            v4(0x0a000001, 0x0a000002, 6, None),
            v4(0x0a000001, 0x0a000002, 6, Some((0, 0))),
        ] {
            assert_ne!(other.flow_hash(7), hash, "{other}");
        }
        assert_ne!(flow.flow_hash(8), hash);
    }

    /// Flipping any input bit flips each output bit half of the time: 4,096 flows, so the share of
    /// flips has a standard deviation of 1/128; six of them are allowed, over 64 x 300 cells.
    #[test]
    fn every_input_bit_reaches_every_output_bit() {
        const FLOWS: u64 = 4096;
        let avalanche = |name: &str, bits: u32, hash: &dyn Fn(u128, u128, u64) -> u64| {
            for bit in 0..bits {
                let mut flips = [0u64; 64];
                for flow in 0..FLOWS {
                    // Neighbouring addresses and ports, the hard case.
                    let (a, b, c) = (0xfd00_u128 << 112 | u128::from(flow), 0x0a00_0001, flow);
                    let flipped = match bit {
                        0..128 => hash(a ^ 1 << bit, b, c),
                        128..256 => hash(a, b ^ 1 << (bit - 128), c),
                        _ => hash(a, b, c ^ 1 << (bit - 256)),
                    };
                    let difference = hash(a, b, c) ^ flipped;
                    for (position, count) in flips.iter_mut().enumerate() {
                        *count += difference >> position & 1;
                    }
                }
                for (position, count) in flips.iter().enumerate() {
                    let deviation = (*count as f64 / FLOWS as f64 - 0.5).abs() * 128.0;
                    assert!(
                        deviation < 6.0,
                        "{name}: input bit {bit}, output bit {position}: {deviation}"
                    );
                }
            }
        };
        let ports = |c: u64| Some(((c >> 16) as u16, c as u16));
        avalanche("IPv6", 256 + 32, &|a, b, c| v6(a, b, 6, ports(c)).flow_hash(1));
    }

    #[test]
    fn neighbouring_flows_spread_evenly() {
        // 64 Ki flows that differ in the source port, and in the last byte of the addresses, over
        // 256 buckets taken from either end. Chi-squared with 255 degrees of freedom is beyond 400
        // with a probability below 1e-7.
        let by_port = (0..=u16::MAX).map(|port| v4(0x0a000001, 0x0a000002, 6, Some((port, 443))));
        let by_address = (0..=u16::MAX).map(|host| {
            v4(0x0a000000 | u32::from(host >> 8), 0x0a010000 | u32::from(host & 0xff), 1, None)
        });
        let flows: [Vec<Summary>; 2] = [by_port.collect(), by_address.collect()];
        for flows in flows {
            for shift in [0, 56] {
                let mut buckets = [0f64; 256];
                for flow in &flows {
                    buckets[(flow.flow_hash(42) >> shift & 0xff) as usize] += 1.0;
                }
                let expected = flows.len() as f64 / 256.0;
                let chi: f64 =
                    buckets.iter().map(|count| (count - expected).powi(2) / expected).sum();
                assert!(chi < 400.0, "chi-squared {chi}, shift {shift}");
                assert!(chi > 150.0, "chi-squared {chi}, shift {shift}: too even to be a hash");
            }
        }
    }
}
