//! The kinds of strings in the file. Each function says of a bad one what it is not; the caller adds what to write.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use mpt_api::CapPeriod;
use mpt_core::session::PublicKey;
use mpt_text::quantity::parse as quantity;
use mpt_wire::ip::protocol;

use crate::types::{Cap, PortRange, SourcePort};

/// The fault of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The fault, as a text after the value: "is not a port".
    pub(crate) fault: String,
    /// A correct value, where it follows from the wrong one; otherwise the caller knows one.
    pub(crate) instead: Option<String>,
}

impl Fault {
    fn instead(fault: &str, instead: String) -> Self {
        Fault { fault: fault.into(), instead: Some(instead) }
    }
}

impl<T: Into<String>> From<T> for Fault {
    fn from(fault: T) -> Self {
        Fault { fault: fault.into(), instead: None }
    }
}

/// The least that a path may be allowed to carry, in bytes.
const MIN_CAP: u64 = 1_000_000;
/// Longest name of a network interface, in bytes (IFNAMSIZ less the final zero).
const MAX_INTERFACE_NAME: usize = 15;

/// Name of a connection or path: a word that needs no quoting on a command line.
pub(crate) fn name(text: &str) -> Result<String, Fault> {
    if text.chars().count() > mpt_api::MAX_NAME {
        return Err(format!("is longer than {} characters", mpt_api::MAX_NAME).into());
    }
    mpt_api::is_name(text).then(|| text.to_owned()).ok_or_else(|| "is not a name".into())
}

/// Name of a client. It has no dot, which separates it from the names that the client gives its connections.
pub(crate) fn client_name(text: &str) -> Result<String, Fault> {
    let name = name(text)?;
    if name.contains('.') {
        let fault =
            "has a dot, which stands between the name of a client and that of its connection";
        return Err(Fault::instead(fault, format!("\"{}\"", name.replace('.', "-"))));
    }
    Ok(name)
}

/// Name of a user of the system, as useradd(8) and adduser(8) make them.
pub(crate) fn user(text: &str) -> Result<String, Fault> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"_.-$".contains(&b);
    let is_name = text.bytes().all(good) && !text.is_empty() && !text.starts_with('-');
    is_name.then(|| text.to_owned()).ok_or_else(|| "is not the name of a user".into())
}

/// Name of a network interface.
pub(crate) fn interface(text: &str) -> Result<String, Fault> {
    if text.len() > MAX_INTERFACE_NAME {
        let has = text.len();
        return Err(
            format!("has {has} bytes, an interface name has at most {MAX_INTERFACE_NAME}").into()
        );
    }
    let valid = !text.is_empty()
        && !matches!(text, "." | "..")
        && text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '%'));
    valid.then(|| text.to_owned()).ok_or_else(|| "is not an interface name".into())
}

/// The address of this host or of the peer on a path.
pub(crate) fn endpoint(text: &str) -> Result<IpAddr, Fault> {
    let address: IpAddr = text.parse().map_err(|_| Fault::from("is not an IP address"))?;
    if let IpAddr::V6(v6) = address
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        return Err(Fault::instead("is an IPv4 address in IPv6 form", format!("\"{v4}\"")));
    }
    match address {
        _ if address.is_unspecified() => Err("stands for any address".into()),
        _ if address.is_multicast() => Err("is a multicast address".into()),
        IpAddr::V4(Ipv4Addr::BROADCAST) => Err("is the broadcast address".into()),
        _ => Ok(address),
    }
}

/// The peer's address on a path, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenRemote {
    /// Its address or name.
    pub(crate) host: RemoteHost,
    /// Its port, if it is written behind that.
    pub(crate) port: Option<u16>,
}

/// An address, or a name that leads to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemoteHost {
    /// An address.
    Address(IpAddr),
    /// A name that has addresses.
    Name(String),
}

impl std::fmt::Display for WrittenRemote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.host, self.port) {
            (RemoteHost::Address(address), Some(port)) => {
                std::net::SocketAddr::new(*address, port).fmt(f)
            }
            (RemoteHost::Address(address), None) => address.fmt(f),
            (RemoteHost::Name(name), Some(port)) => write!(f, "{name}:{port}"),
            (RemoteHost::Name(name), None) => f.write_str(name),
        }
    }
}

/// `remote` of a path: an address, or a host name (RFC 1123 section 2.1), each with or without a port.
pub(crate) fn remote(text: &str) -> Result<WrittenRemote, Fault> {
    if let Ok(host) = remote_host(text) {
        return Ok(WrittenRemote { host, port: None });
    }
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    // An IPv6 address without brackets has colons of its own.
    let plain = || text.rsplit_once(':').filter(|(host, _)| !host.contains(':'));
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let (host, after) = match bracketed.or_else(plain) {
        Some((host, after)) if is_number(after) => (host, after),
        // It says what is wrong with it.
        _ => return remote_host(text).map(|host| WrittenRemote { host, port: None }),
    };
    let bad_port = || Fault::from("has a port that is none");
    let host = remote_host(host)?;
    Ok(WrittenRemote { host, port: Some(port(after).map_err(|_| bad_port())?) })
}

fn remote_host(text: &str) -> Result<RemoteHost, Fault> {
    const MAX_LABEL: usize = 63;
    const MAX_HOST_NAME: usize = 253;
    let label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_name = name.len() <= MAX_HOST_NAME
        && name.split('.').all(label)
        // A name that ends in a number is an address, if a bad one.
        && !name.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    if is_name && text.parse::<IpAddr>().is_err() {
        return Ok(RemoteHost::Name(text.to_ascii_lowercase()));
    }
    endpoint(text).map(RemoteHost::Address)
}

/// The whole path of a file.
pub(crate) fn absolute(text: &str) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(text);
    path.is_absolute().then_some(path).ok_or_else(|| "is not an absolute path".into())
}

/// A public key.
pub(crate) fn public_key(text: &str) -> Result<PublicKey, Fault> {
    text.parse().map_err(|error| format!("is not a public key ({error})").into())
}

/// Returns a time as it would stand in the file, "100 ms".
#[must_use]
pub fn time(time: Duration) -> String {
    match (time.as_secs(), time.subsec_micros()) {
        (seconds, 0) if seconds > 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        (seconds, 0) if seconds > 0 => format!("{seconds} s"),
        (_, micros) if micros % 1000 == 0 => format!("{} ms", time.as_millis()),
        _ => format!("{} us", time.as_micros()),
    }
}

/// A TUN device's own address with the prefix length of its network.
pub(crate) fn interface_address(text: &str) -> Result<IpNet, Fault> {
    if text.parse::<IpAddr>().is_ok() {
        return Err("has no prefix length".into());
    }
    let net: IpNet =
        text.parse().map_err(|_| Fault::from("is not an address with its prefix length"))?;
    endpoint(&net.addr().to_string()).map(|_| net)
}

/// A network; a bare address is a network of one.
pub(crate) fn network(text: &str) -> Result<IpNet, Fault> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.into());
    }
    let net: IpNet = text.parse().map_err(|_| Fault::from("is not a network"))?;
    if net.trunc() != net {
        return Err(Fault::instead(
            "has bits set behind its prefix",
            format!("\"{}\"", net.trunc()),
        ));
    }
    Ok(net)
}

/// The networks a connection carries: no multicast and no link-local ones, which `multicast` governs.
pub(crate) fn routed_network(text: &str) -> Result<IpNet, Fault> {
    let net = network(text)?;
    let never: [IpNet; 4] = [
        IpNet::new_assert(Ipv4Addr::new(224, 0, 0, 0).into(), 4),
        IpNet::new_assert(Ipv4Addr::new(169, 254, 0, 0).into(), 16),
        IpNet::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0).into(), 8),
        IpNet::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0).into(), 10),
    ];
    if never.iter().any(|never| never.contains(&net)) {
        return Err(Fault::instead(
            "is multicast or link-local",
            "multicast = true instead".into(),
        ));
    }
    Ok(net)
}

/// A UDP port to listen on or to send to.
pub(crate) fn port(text: &str) -> Result<u16, Fault> {
    text.parse().ok().filter(|&port| port != 0).ok_or_else(|| "is not a port".into())
}

/// `source_port` of a path.
pub(crate) fn source_port(text: &str) -> Result<SourcePort, Fault> {
    match text {
        "random" => Ok(SourcePort::Random),
        "entropy" => Ok(SourcePort::Entropy),
        number => port(number).map(SourcePort::Fixed),
    }
}

/// A port or a range of ports, `5060-5070`.
pub(crate) fn ports(text: &str) -> Result<PortRange, Fault> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let parse = |end: &str| end.trim().parse::<u16>().ok();
    let (Some(first), Some(last)) = (parse(first), parse(last)) else {
        return Err("is not a range of ports".into());
    };
    if first > last {
        return Err("is a range that ends before it starts".into());
    }
    Ok(PortRange { first, last })
}

/// Reads a size in bytes: a bare number, or one with a decimal or binary unit.
pub(crate) fn size(text: &str) -> Result<u64, Fault> {
    quantity::size(text).ok_or_else(|| "is not a size".into())
}

/// Time, to the nanosecond.
pub(super) fn duration(text: &str) -> Result<Duration, Fault> {
    quantity::duration(text).ok_or_else(|| "is not a time with its unit".into())
}

/// Bits per second.
pub(crate) fn rate(text: &str) -> Result<u64, Fault> {
    quantity::rate(text).ok_or_else(|| "is not a rate with its unit".into())
}

/// An amount of data in a time, such as `50 GB/month`.
pub(crate) fn cap(text: &str) -> Result<Cap, Fault> {
    let (amount, period) = text.split_once('/').ok_or_else(|| Fault::from("has no period"))?;
    let period = match period.trim() {
        "month" => CapPeriod::Month,
        "day" => CapPeriod::Day,
        _ => return Err("has a period that is neither \"month\" nor \"day\"".into()),
    };
    let bytes = size(amount.trim())?;
    if bytes < MIN_CAP {
        return Err("is less than 1 MB, which the probes of a path would use up".into());
    }
    Ok(Cap { bytes, period })
}

/// An IP protocol by number or by the commonest names.
pub(crate) fn protocol(text: &str) -> Result<u8, Fault> {
    const NAMES: &[(&str, u8)] = &[
        ("icmp", protocol::ICMP),
        ("tcp", protocol::TCP),
        ("udp", protocol::UDP),
        ("gre", protocol::GRE),
        ("esp", protocol::ESP),
        ("ah", protocol::AUTHENTICATION),
        ("icmpv6", protocol::ICMPV6),
        ("ospf", protocol::OSPF),
        ("sctp", protocol::SCTP),
    ];
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, n)| n);
    named.or_else(|| text.parse().ok()).ok_or_else(|| "is not an IP protocol".into())
}

/// A DSCP by number or by the name of its per-hop behaviour (RFC 2474, 2597, 3246, 5865, 8622).
pub(crate) fn dscp(text: &str) -> Result<u8, Fault> {
    let upper = text.to_ascii_uppercase();
    let digits: Vec<u8> = upper.bytes().skip(2).map(|digit| digit.wrapping_sub(b'0')).collect();
    let found = match (upper.get(..2).unwrap_or(&upper), digits.as_slice()) {
        ("EF", []) => Some(46),
        ("VA", []) => Some(44),
        ("LE", []) => Some(1),
        ("CS", &[class @ 0..=7]) => Some(8 * class),
        ("AF", &[class @ 1..=4, drop @ 1..=3]) => Some(8 * class + 2 * drop),
        _ => text.parse().ok().filter(|&number| number < 64),
    };
    found.ok_or_else(|| "is not a DSCP".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_hop_behaviours_have_their_code_points() {
        for (text, code) in [
            ("EF", 46),
            ("ef", 46),
            ("CS0", 0),
            ("CS6", 48),
            ("AF11", 10),
            ("AF43", 38),
            ("0", 0),
            ("63", 63),
        ] {
            assert_eq!(dscp(text), Ok(code), "{text}");
        }
        for bad in ["", "64", "-1", "AF44", "AF51", "CS8", "CS", "EF1", "é", "AFé"] {
            assert!(dscp(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cap_is_an_amount_in_a_time() {
        for text in ["50 GB/month", "1500 MB/day", "3 GiB/month", "1000001 B/day"] {
            assert_eq!(cap(text).unwrap().to_string(), text);
        }
        assert_eq!(cap("1.5GB / month").unwrap().bytes, 1_500_000_000);
        for bad in ["", "50 GB", "GB/month", "50 GB/week", "50/month", "0/day", "-1 GB/day"] {
            assert!(cap(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_range_of_ports_is_not_empty() {
        assert_eq!(ports("5060"), Ok(PortRange { first: 5060, last: 5060 }));
        assert_eq!(ports("0-65535"), Ok(PortRange { first: 0, last: 65535 }));
        for bad in ["", "-", "1-", "-1", "2-1", "1-65536", "1-2-3"] {
            assert!(ports(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_remote_is_an_address_or_a_name_with_or_without_a_port() {
        let address = |text: &str| RemoteHost::Address(text.parse().unwrap());
        let name = |text: &str| RemoteHost::Name(text.into());
        for text in ["192.0.2.1", "2001:db8::1", "1:2:3:4:5:6:7:8"] {
            assert_eq!(
                remote(text),
                Ok(WrittenRemote { host: address(text), port: None }),
                "{text}"
            );
        }
        for text in ["vpn.example.org", "vpn", "a-b.c_d.example.", "1and1.example"] {
            assert_eq!(remote(text), Ok(WrittenRemote { host: name(text), port: None }), "{text}");
        }
        assert_eq!(remote("VPN.Example.org").unwrap().host, name("vpn.example.org"));
        for (text, host) in [
            ("vpn.example.org:4755", name("vpn.example.org")),
            ("192.0.2.1:4755", address("192.0.2.1")),
            ("[2001:db8::1]:4755", address("2001:db8::1")),
        ] {
            let remote = remote(text).unwrap();
            assert_eq!((&remote.host, remote.port), (&host, Some(4755)), "{text}");
            assert_eq!(remote.to_string(), text);
        }
        for bad in [
            "",
            ".",
            "a..b",
            "-a",
            "a b",
            "10.0.1.300",
            "10.0.1",
            "::ffff:10.0.1.2",
            "0.0.0.0",
            "[::1]",
            "vpn:",
            "vpn:x",
            "vpn:0",
            "vpn:65536",
            "192.0.2.1:99999",
            ":4754",
            "[::1]:",
            "[vpn:4754",
            "10.0.1:4754",
        ] {
            assert!(remote(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        for text in ["100 ms", "15 s", "1500 ms", "20 us", "60 s", "90 s", "5 min"] {
            assert_eq!(time(duration(text).unwrap()), text);
        }
    }

    #[test]
    fn an_address_is_a_network_of_one() {
        assert_eq!(network("10.9.0.2"), Ok("10.9.0.2/32".parse().unwrap()));
        assert_eq!(network("fd00::2"), Ok("fd00::2/128".parse().unwrap()));
        assert!(network("10.9.0.2/24").is_err());
        assert_eq!(routed_network("0.0.0.0/0"), Ok("0.0.0.0/0".parse().unwrap()));
        assert!(routed_network("fe80::/64").is_err());
    }

    #[test]
    fn names_need_no_quoting() {
        assert!(name("office-2.büro").is_ok());
        for bad in ["", "-x", "a b", "a/b", "a\"b"] {
            assert!(name(bad).is_err(), "{bad}");
        }
        assert!(interface("eth0.100").is_ok());
        for bad in ["", ".", "..", "a/b", "tun%d", "eth0 ", "sixteen-bytes-xx", "größe"] {
            assert!(interface(bad).is_err(), "{bad}");
        }
    }
}
