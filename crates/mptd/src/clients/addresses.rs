//! Inner addresses for clients: their fixed ones, or one of each network of a pool.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use mpt_api::session::{SessionCode, SessionFailure};
use mpt_config::{self as config, Config};

/// The addresses that can be given away.
pub(super) struct Addresses<'a> {
    config: &'a Config,
    /// The addresses that are not to be given: those of the devices, the fixed ones of clients, and those that clients hold.
    taken: BTreeSet<IpAddr>,
}

impl<'a> Addresses<'a> {
    /// Returns all addresses but the `held` ones and those that the configuration names.
    pub(super) fn new(config: &'a Config, held: BTreeSet<IpAddr>) -> Self {
        let devices = config.devices.iter().flat_map(|device| &device.addresses);
        let fixed = config.clients.iter().filter_map(|client| match &client.addresses {
            config::Addresses::Fixed(addresses) => Some(addresses),
            config::Addresses::Pool(_) => None,
        });
        let mut taken = held;
        taken.extend(devices.chain(fixed.flatten()).map(IpNet::addr));
        Self { config, taken }
    }

    /// True if a client could get just these addresses: its fixed ones, or one of each network of its pool that nothing else has.
    pub(super) fn allow(&self, client: &config::Client, addresses: &[IpNet]) -> bool {
        let pool = match &client.addresses {
            config::Addresses::Fixed(fixed) => {
                return fixed.iter().map(IpNet::addr).eq(addresses.iter().map(IpNet::addr));
            }
            config::Addresses::Pool(name) => name,
        };
        let pools = self.config.pools.iter().filter(|it| it.name == *pool);
        let networks: Vec<_> = pools.flat_map(|pool| &pool.networks).collect();
        let has_one = |network: &&IpNet| addresses.iter().any(|it| is_host_of(network, it.addr()));
        addresses.len() == networks.len()
            && networks.iter().all(has_one)
            && addresses.iter().all(|it| !self.taken.contains(&it.addr()))
    }

    /// The addresses of a client, as hosts. From a pool: those it asks for, where they are free.
    pub(super) fn give(
        &self,
        client: &config::Client,
        wanted: &[IpNet],
    ) -> Result<Vec<IpNet>, SessionFailure> {
        let pool = match &client.addresses {
            config::Addresses::Fixed(addresses) => {
                return Ok(addresses.iter().map(|net| net.addr().into()).collect());
            }
            config::Addresses::Pool(name) => name,
        };
        let networks = self.config.pools.iter().filter(|it| it.name == *pool);
        let networks = networks.flat_map(|pool| &pool.networks);
        let none_left =
            |_| SessionFailure::new(SessionCode::Busy, format!("pool {pool} has no address left"));
        let give = |network: &IpNet| {
            let wanted = wanted.iter().map(IpNet::addr);
            let wanted = wanted.filter(|&address| is_host_of(network, address));
            let free = |address: &IpAddr| !self.taken.contains(address);
            // Every address looked at in vain is taken, so the search ends.
            let found = wanted.chain(network.hosts()).find(free);
            found.map(IpNet::from).ok_or(()).map_err(none_left)
        };
        networks.map(give).collect()
    }
}

/// True if an address may be that of a host in the network.
fn is_host_of(network: &IpNet, address: IpAddr) -> bool {
    let reserved = network.prefix_len() + 1 < network.max_prefix_len()
        && (address == network.network() || address.is_ipv4() && address == network.broadcast());
    network.contains(&address) && !reserved
}
