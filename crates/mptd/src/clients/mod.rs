//! Connections that clients had created here: what the policy of the configuration grants them, and what they hold.
//!
//! Only decisions are made here; the daemon puts them into effect.

mod addresses;
mod creations;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use ipnet::IpNet;
use mpt_api::Direction;
use mpt_api::session::{Create, Created, PathSpec, SessionCode, SessionFailure};
use mpt_core::control::{PublicKey, SessionId};

use crate::config::{self, Config, Connection, Path, Selector, SourcePort, USUAL_MTU};
use addresses::Addresses;
use creations::Creations;

/// Everything that clients hold.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    held: BTreeMap<SessionId, Held>,
    creations: Creations,
}

/// A connection that a client had created.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Name of its `[[client]]`.
    pub(crate) client: String,
    /// The connection.
    pub(crate) connection: Connection,
    /// The numbers of its paths in the session, with their names.
    pub(crate) paths: BTreeMap<u16, String>,
}

/// What is to be done so that a client has its connection.
#[derive(Debug)]
pub(crate) struct Granted {
    /// What to tell the client.
    pub(crate) created: Created,
    /// The session that had it before: the client was started again, or its old session was lost.
    pub(crate) replaces: Option<SessionId>,
}

impl Clients {
    /// What this session holds.
    pub(crate) fn get(&self, session: SessionId) -> Option<&Held> {
        self.held.get(&session)
    }

    /// Everything held.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SessionId, &Held)> {
        self.held.iter().map(|(&session, held)| (session, held))
    }

    /// The session that holds the connection of this name.
    pub(crate) fn find(&self, connection: &str) -> Option<SessionId> {
        self.iter().find(|(_, held)| held.connection.name == connection).map(|(session, _)| session)
    }

    /// Gives up what a session holds.
    pub(crate) fn remove(&mut self, session: SessionId) -> Option<Held> {
        self.held.remove(&session)
    }

    /// Judges a client's request for a connection, and holds it for the client if it is granted.
    ///
    /// The same client asking for a connection of the same name gets what it had: its addresses and its key.
    ///
    /// # Errors
    ///
    /// What the policy has against it; nothing is held then that was not before.
    pub(crate) fn create(
        &mut self,
        now: Instant,
        config: &Config,
        session: SessionId,
        key: &PublicKey,
        request: &Create,
    ) -> Result<Granted, SessionFailure> {
        let client = client_of(config, key)?;
        let name = format!("{}.{}", client.name, request.name);
        if !mpt_api::is_name(&name) || config.connection(&name).is_some() {
            let message = format!("\"{}\" cannot be the name of a connection here", request.name);
            return Err(SessionFailure::new(SessionCode::Denied, message));
        }
        let before = self.find(&name);
        if before.is_none() {
            self.admit(now, config, client)?;
        }
        let networks = granted_networks(client, request)?;
        let paths = granted_paths(config, client, &request.paths)?;
        let held = before.and_then(|session| self.held.get(&session));
        let addresses = match held {
            Some(held) => held.connection.networks.iter().copied().filter(is_host).collect(),
            None => self.addresses(config, client, request)?,
        };
        let gre_key = held.and_then(|held| held.connection.key);
        let gre_key = gre_key.or_else(|| self.free_key(config, request.key)).ok_or_else(no_key)?;
        let connection = Connection {
            networks: addresses.iter().chain(&networks).copied().collect(),
            key: Some(gre_key),
            paths,
            ..connection(client, &name, request)
        };
        let selectors = connection.networks.iter().copied().map(Selector::to).collect();
        let connection = Connection { selectors, ..connection };

        let device = config.device(&client.device);
        let own = device.map_or(&[][..], |device| &device.addresses);
        let created = Created {
            key: Some(gre_key),
            addresses: addresses.iter().map(|address| in_network_of(*address, own)).collect(),
            server_addresses: own.iter().map(|own| IpNet::from(own.addr())).collect(),
            networks,
            max_paths: client.max_paths,
            max_weight: client.max_weight,
        };
        let replaces = before.filter(|&before| before != session);
        if let Some(before) = replaces {
            self.held.remove(&before);
        }
        let paths = request.paths.iter().map(|path| (path.id, path.name.clone())).collect();
        self.held.insert(session, Held { client: client.name.clone(), connection, paths });
        Ok(Granted { created, replaces })
    }

    /// Adds a path to the connection of a session, or changes the one of the same number.
    ///
    /// # Errors
    ///
    /// What the policy has against it; nothing is changed then.
    pub(crate) fn add_path(
        &mut self,
        config: &Config,
        session: SessionId,
        spec: &PathSpec,
    ) -> Result<(), SessionFailure> {
        let held = self.held.get_mut(&session).ok_or_else(no_connection)?;
        let client = config.clients.iter().find(|client| client.name == held.client);
        let client = client.ok_or_else(unknown_client)?;
        let other = held.paths.iter().any(|(&id, name)| id != spec.id && *name == spec.name);
        if other {
            let message = format!("another path is named {}", spec.name);
            return Err(SessionFailure::new(SessionCode::BadRequest, message));
        }
        let place = held
            .paths
            .get(&spec.id)
            .and_then(|name| held.connection.paths.iter().position(|path| path.name == *name));
        if place.is_none() && held.connection.paths.len() >= usize::from(client.max_paths) {
            return Err(too_many_paths(client));
        }
        check_mtu(spec)?;
        let path = path(config, client, spec);
        match place {
            Some(place) => held.connection.paths[place] = path,
            None => held.connection.paths.push(path),
        }
        held.paths.insert(spec.id, spec.name.clone());
        Ok(())
    }

    /// Removes a path from the connection of a session. Says whether there was one of that number.
    ///
    /// # Errors
    ///
    /// It is the last one, or the session has no connection.
    pub(crate) fn delete_path(
        &mut self,
        session: SessionId,
        id: u16,
    ) -> Result<bool, SessionFailure> {
        let held = self.held.get_mut(&session).ok_or_else(no_connection)?;
        let Some(name) = held.paths.get(&id) else { return Ok(false) };
        if held.connection.paths.len() == 1 {
            let message = "the last path of a connection cannot be removed";
            return Err(SessionFailure::new(SessionCode::Denied, message));
        }
        held.connection.paths.retain(|path| path.name != *name);
        held.paths.remove(&id);
        Ok(true)
    }

    fn admit(
        &mut self,
        now: Instant,
        config: &Config,
        client: &config::Client,
    ) -> Result<(), SessionFailure> {
        let of_client = self.held.values().filter(|held| held.client == client.name).count();
        if of_client >= usize::from(client.max_connections) {
            let message = format!("max_connections of this client is {}", client.max_connections);
            return Err(SessionFailure::new(SessionCode::Denied, message));
        }
        let busy = |message: &str| Err(SessionFailure::new(SessionCode::Busy, message));
        if self.held.len() >= config.daemon.max_clients as usize {
            return busy("the server has as many connections as it may");
        }
        let per_second = config.daemon.creations_per_second;
        if !self.creations.admit(now, per_second, &client.name, client.max_connections) {
            return busy("too many connections are being created, try again");
        }
        Ok(())
    }

    fn addresses(
        &self,
        config: &Config,
        client: &config::Client,
        request: &Create,
    ) -> Result<Vec<IpNet>, SessionFailure> {
        let networks = self.held.values().flat_map(|held| &held.connection.networks);
        let held = networks.copied().filter(is_host).map(|net| net.addr()).collect();
        Addresses::new(config, held).give(client, &request.addresses)
    }

    /// A GRE key that no connection has: the one the client asks for, if it is free.
    fn free_key(&self, config: &Config, wanted: Option<u32>) -> Option<u32> {
        let taken = |key: u32| {
            let mut held = self.held.values().map(|held| &held.connection);
            config.connections.iter().any(|it| it.key == Some(key))
                || held.any(|it| it.key == Some(key))
        };
        // Nobody may guess those of others: they are all that strangers would need to know besides addresses.
        let random = std::iter::from_fn(|| getrandom::u32().ok());
        let mut keys = wanted.into_iter().chain(random);
        // Of 2^32 keys, a few thousand are taken.
        keys.find(|&key| !taken(key))
    }
}

fn client_of<'a>(
    config: &'a Config,
    key: &PublicKey,
) -> Result<&'a config::Client, SessionFailure> {
    config.clients.iter().find(|client| client.public_key == *key).ok_or_else(unknown_client)
}

fn granted_networks(
    client: &config::Client,
    request: &Create,
) -> Result<Vec<IpNet>, SessionFailure> {
    if request.networks.is_empty() {
        return Ok(client.networks.clone());
    }
    let networks: Vec<IpNet> = request.networks.iter().map(IpNet::trunc).collect();
    let allowed = |net: &IpNet| client.networks.iter().any(|allowed| allowed.contains(net));
    match networks.iter().find(|net| !allowed(net)) {
        Some(net) => {
            let message = format!("{net} is not among the networks behind {}", client.name);
            Err(SessionFailure::new(SessionCode::Denied, message))
        }
        None => Ok(networks),
    }
}

fn granted_paths(
    config: &Config,
    client: &config::Client,
    specs: &[PathSpec],
) -> Result<Vec<Path>, SessionFailure> {
    if specs.len() > usize::from(client.max_paths) {
        return Err(too_many_paths(client));
    }
    if specs.is_empty() {
        return Err(SessionFailure::new(SessionCode::BadRequest, "a connection needs a path"));
    }
    specs.iter().try_for_each(check_mtu)?;
    Ok(specs.iter().map(|spec| path(config, client, spec)).collect())
}

/// Refuses an MTU that no link has. A larger one than that of Ethernet counts as that.
fn check_mtu(spec: &PathSpec) -> Result<(), SessionFailure> {
    match spec.mtu {
        Some(mtu) if mtu < config::MIN_MTU => {
            let message = format!(
                "path \"{}\": an MTU of {mtu} is below the {} bytes that every path carries; give what the path carries, or no MTU",
                spec.name,
                config::MIN_MTU
            );
            Err(SessionFailure::new(SessionCode::BadRequest, message))
        }
        _ => Ok(()),
    }
}

/// A path as the client describes it, seen from here: what it sends is what we receive.
fn path(config: &Config, client: &config::Client, spec: &PathSpec) -> Path {
    // Until it is heard: then it belongs to the address at which it arrives.
    let local = config.daemon.listen.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    Path {
        name: spec.name.clone(),
        local: Some(local),
        public: None,
        interface: None,
        remote: match local {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        },
        remote_name: None,
        learn: true,
        local_port: config.daemon.port,
        source_port: SourcePort::Fixed(config.daemon.port),
        remote_port: config.daemon.port,
        remote_source_port: None,
        weight: spec.weight_in.clamp(1, client.max_weight),
        weight_in: spec.weight.clamp(1, client.max_weight),
        tier: spec.tier,
        mtu: Some(spec.mtu.unwrap_or(USUAL_MTU).clamp(config::MIN_MTU, USUAL_MTU)),
        rate: None,
        up: true,
        nat: true,
    }
}

/// The connection but for its networks, selectors, key and paths.
fn connection(client: &config::Client, name: &str, request: &Create) -> Connection {
    let window = request.window.unwrap_or(client.reorder.window).min(client.reorder.window);
    let asked = request.max_delay_ms.map(|ms| std::time::Duration::from_millis(ms.into()));
    let max_delay = asked.unwrap_or(client.reorder.max_delay).min(client.reorder.max_delay);
    Connection {
        name: name.to_owned(),
        device: client.device.clone(),
        networks: Vec::new(),
        selectors: Vec::new(),
        key: None,
        requested_key: None,
        sequence: request.sequence,
        checksum: request.checksum,
        // All clients share the sockets of `daemon.listen`: a second socket on the same address and port, without the checksum,
        // would take the packets of the others.
        udp_checksum: true,
        direction: Direction::Both,
        mapping: request.mapping,
        reorder: config::Reorder { window, max_delay, ..client.reorder },
        multicast: false,
        copy_dscp: false,
        ecn: mpt_api::Ecn::default(),
        routes: true,
        fallback: config::Fallback::default(),
        peer: Some(config::Peer {
            public_key: client.public_key,
            psk: client.psk.clone(),
            psk_file: None,
            initiate: false,
            create: false,
            timing: client.timing,
            follow_weights: true,
        }),
        compat: None,
        paths: Vec::new(),
    }
}

/// An inner address with the prefix length of the device's network it lies in, so that the client reaches the server by it.
fn in_network_of(address: IpNet, own: &[IpNet]) -> IpNet {
    let network = own.iter().find(|own| own.contains(&address.addr()));
    let length = network.map_or(address.prefix_len(), IpNet::prefix_len);
    IpNet::new(address.addr(), length).unwrap_or(address)
}

fn is_host(net: &IpNet) -> bool {
    net.prefix_len() == net.max_prefix_len()
}

fn unknown_client() -> SessionFailure {
    SessionFailure::new(SessionCode::Denied, "no client with this key may connect")
}

fn no_key() -> SessionFailure {
    SessionFailure::new(SessionCode::Failed, "no random numbers for a GRE key")
}

fn no_connection() -> SessionFailure {
    SessionFailure::new(SessionCode::NotFound, "this session has no connection")
}

fn too_many_paths(client: &config::Client) -> SessionFailure {
    let message = format!("max_paths of this client is {}", client.max_paths);
    SessionFailure::new(SessionCode::Denied, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mtu_that_no_link_has_is_refused_by_name() {
        let spec = |mtu| PathSpec { name: "dsl".into(), mtu, ..PathSpec::default() };
        for absurd in [0, 1, 68, 575] {
            let refused = check_mtu(&spec(Some(absurd))).unwrap_err();
            assert_eq!(refused.code, SessionCode::BadRequest);
            assert!(refused.message.contains("\"dsl\""), "{}", refused.message);
            assert!(refused.message.contains(&absurd.to_string()), "{}", refused.message);
        }
        for fine in [None, Some(576), Some(1400), Some(u16::MAX)] {
            assert!(check_mtu(&spec(fine)).is_ok(), "{fine:?}");
        }
    }
}
