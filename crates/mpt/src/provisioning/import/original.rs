//! The files of the prototype in memory: what they say, not yet what to make of it.

use std::net::IpAddr;

use ipnet::IpNet;

/// An oddity of a file, and the way in which it was resolved.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Warnings(Vec<String>);

impl Warnings {
    pub(super) fn add(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.0.push(format!("{place}: {what}"));
    }

    pub(super) fn all(&self) -> &[String] {
        &self.0
    }
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Original {
    pub(super) interface: Interface,
    pub(super) connections: Vec<Connection>,
}

/// `interface.conf`.
#[derive(Debug, Default)]
pub(super) struct Interface {
    /// Its place in the file, for warnings.
    pub(super) place: String,
    pub(super) command_port: Option<u16>,
    pub(super) accepts_creation: bool,
    pub(super) name: Option<String>,
    pub(super) mtu: Option<u16>,
    pub(super) addresses: Vec<IpNet>,
}

/// A connection file, or one connection of a listing.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) place: String,
    pub(super) name: Option<String>,
    pub(super) permission: Option<u64>,
    pub(super) version: u64,
    pub(super) local: Option<IpAddr>,
    pub(super) remote: Option<IpAddr>,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) remote_command_port: u16,
    /// Window in packets; `None` in a listing, which has no place for it.
    pub(super) window: Option<u64>,
    /// Maximum delay in milliseconds.
    pub(super) max_delay: Option<u64>,
    pub(super) authentication: u64,
    pub(super) key: Option<String>,
    pub(super) paths: Vec<Path>,
    pub(super) networks: Vec<Network>,
}

/// `[path_N]`.
#[derive(Debug, Default)]
pub(super) struct Path {
    pub(super) place: String,
    pub(super) interface: Option<String>,
    pub(super) public: Option<IpAddr>,
    pub(super) private: Option<IpAddr>,
    pub(super) remote: Option<IpAddr>,
    pub(super) gateway: Option<IpAddr>,
    /// Interval of the keepalives, in seconds.
    pub(super) keepalive: u64,
    /// Time without a packet after which a path is dead, in seconds; `None` for three keepalives.
    pub(super) dead: Option<u64>,
    pub(super) weight_out: u64,
    pub(super) weight_in: u64,
    pub(super) status: u64,
}

/// `[net_N]`.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) place: String,
    pub(super) source: Option<IpNet>,
    pub(super) destination: Option<IpNet>,
}

/// An address, perhaps with a prefix length behind it; an unspecified one is none.
pub(super) fn address(text: &str) -> Result<Option<IpAddr>, String> {
    let bare = text.split('/').next().unwrap_or_default();
    let address: IpAddr = bare.parse().map_err(|_| format!("\"{text}\" is no address: ignored"))?;
    Ok((!address.is_unspecified()).then_some(address))
}

/// A network; without a slash its prefix length is 0, as the prototype has it.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let error = |_| format!("\"{text}\" is no network: ignored");
    match text.contains('/') {
        true => text.parse().map_err(|_| format!("\"{text}\" is no network: ignored")),
        false => {
            let address: IpAddr = text.parse().map_err(error)?;
            IpNet::new(address, 0).map_err(|error| error.to_string())
        }
    }
}
