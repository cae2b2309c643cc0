//! Connections that clients had created here: what the policy of the configuration grants them, what they hold, and the tokens by which they join.
//!
//! Only decisions are made here; the daemon puts them into effect.

mod addresses;
mod creations;
mod name;
mod review;
pub mod tokens;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Instant;

use ipnet::IpNet;
use mpt_api::session::{Create, Created, PathSpec, SessionCode, SessionFailure};
use mpt_api::{AtCap, CapCounts, Direction, Mapping};
use mpt_config::{
    self as config, Config, Connection, Path, Remote, Selector, SourcePort, USUAL_MTU,
};
use mpt_core::path::mtu;
use mpt_core::session::{PresharedKey, PublicKey, SessionId};

use addresses::Addresses;
use creations::Creations;
pub(crate) use name::ClientConnection;
pub(crate) use review::{Ending, Review};

/// Everything that clients hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    held: BTreeMap<SessionId, Held>,
    by_name: BTreeMap<ClientConnection, SessionId>,
    creations: Creations,
}

/// A connection that a client had created.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Public key of the client. Its holder is the owner, whatever names say.
    pub(crate) owner: PublicKey,
    /// The pre-shared key that the client had when the connection was created.
    psk: Option<PresharedKey>,
    /// The client to which it belongs, and the client's name for it.
    pub(crate) name: ClientConnection,
    /// The time at which it was created.
    pub(crate) since: Instant,
    /// Inner addresses of the client, as hosts.
    pub(crate) addresses: Vec<IpNet>,
    /// The connection, named as `name` is shown.
    pub(crate) connection: Connection,
    /// The largest weight of its paths.
    pub(crate) max_weight: u16,
    /// The request of the client, with the paths that it has by now.
    request: Create,
}

impl Held {
    /// The numbers of its paths in the session, with their names.
    pub(crate) fn path_numbers(&self) -> BTreeMap<u16, String> {
        self.request.paths.iter().map(|path| (path.id, path.name.clone())).collect()
    }
}

/// The work that is left until a client has its connection.
#[derive(Debug)]
pub(crate) struct Granted {
    /// The answer for the client.
    pub(crate) created: Created,
    /// The session that had it before: the client was started again, or its old session was lost.
    pub(crate) replaces: Option<SessionId>,
}

impl Clients {
    /// Returns what this session holds.
    pub(crate) fn get(&self, session: SessionId) -> Option<&Held> {
        self.held.get(&session)
    }

    /// Everything held.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SessionId, &Held)> {
        self.held.iter().map(|(&session, held)| (session, held))
    }

    /// The session that holds a connection.
    pub(crate) fn find(&self, name: &ClientConnection) -> Option<SessionId> {
        self.by_name.get(name).copied()
    }

    /// The session that holds the connection shown under this name.
    pub(crate) fn find_shown(&self, shown: &str) -> Option<SessionId> {
        self.find(&ClientConnection::parse(shown)?)
    }

    /// Gives up what a session holds.
    pub(crate) fn remove(&mut self, session: SessionId) -> Option<Held> {
        let held = self.held.remove(&session)?;
        self.by_name.remove(&held.name);
        Some(held)
    }

    fn hold(&mut self, session: SessionId, held: Held) {
        self.by_name.insert(held.name.clone(), session);
        self.held.insert(session, held);
    }

    /// Judges a client's request for a connection, and holds it for the client if it is granted.
    ///
    /// A client that asks again for a connection of the same name gets the addresses and the key that it had.
    ///
    /// # Errors
    ///
    /// Returns what the policy has against it; nothing is held then that was not before.
    pub(crate) fn create(
        &mut self,
        now: Instant,
        config: &Config,
        session: SessionId,
        key: &PublicKey,
        request: &Create,
    ) -> Result<Granted, SessionFailure> {
        let client = client_of(config, key)?;
        let name = ClientConnection { client: client.name.clone(), request: request.name.clone() };
        let shown = name.to_string();
        if !mpt_api::is_name(&shown) || config.connection(&shown).is_some() {
            return Err(denied(format!(
                "\"{}\" cannot be the name of a connection here",
                request.name
            )));
        }
        if let Some(other) = self.held.get(&session).filter(|held| held.name != name) {
            let other = &other.name.request;
            return Err(denied(format!(
                "this session has the connection \"{other}\"; delete it first, or open another session"
            )));
        }
        let before = self.find(&name);
        let held = before.and_then(|session| self.held.get(&session));
        if held.is_some_and(|held| held.owner != *key) {
            return Err(denied(format!("\"{shown}\" belongs to another client")));
        }
        let held = held.cloned();
        if held.is_none() {
            self.admit(now, config, client)?;
        }
        let networks = granted_networks(client, request)?;
        let addresses = match &held {
            Some(held) => held.addresses.clone(),
            None => self.addresses(config, client, request)?,
        };
        let gre_key = held.as_ref().and_then(|held| held.connection.key);
        let gre_key = gre_key.or_else(|| self.free_key(config, request.key)).ok_or_else(no_key)?;
        let draft = Held {
            owner: *key,
            psk: client.psk.clone(),
            name,
            since: held.map_or(now, |held| held.since),
            addresses,
            connection: connection(client, &shown, gre_key, request),
            max_weight: client.max_weight,
            request: request.clone(),
        };
        let connection = agreed(config, client, &draft, networks.clone())?;

        let device = config.device(&client.device);
        let own = device.map_or(&[][..], |device| &device.addresses);
        let addresses = draft.addresses.iter();
        let created = Created {
            key: Some(gre_key),
            addresses: addresses.map(|address| in_network_of(*address, own)).collect(),
            server_addresses: own.iter().map(|own| IpNet::from(own.addr())).collect(),
            networks,
            max_paths: client.max_paths,
            max_weight: client.max_weight,
        };
        let replaces = before.filter(|&before| before != session);
        if let Some(before) = replaces {
            self.remove(before);
        }
        self.hold(session, Held { connection, ..draft });
        Ok(Granted { created, replaces })
    }

    /// Adds a path to the connection of a session, or changes the one of the same number.
    ///
    /// # Errors
    ///
    /// Returns what the policy has against it; nothing is changed then.
    pub(crate) fn add_path(
        &mut self,
        config: &Config,
        session: SessionId,
        spec: &PathSpec,
    ) -> Result<(), SessionFailure> {
        let held = self.held.get_mut(&session).ok_or_else(no_connection)?;
        let client = client_of(config, &held.owner)?;
        let specs = &mut held.request.paths;
        if specs.iter().any(|it| it.id != spec.id && it.name == spec.name) {
            let message = format!("another path is named {}", spec.name);
            return Err(SessionFailure::new(SessionCode::BadRequest, message));
        }
        let place = specs.iter().position(|it| it.id == spec.id);
        if place.is_none() && specs.len() >= usize::from(client.max_paths) {
            return Err(too_many_paths(client));
        }
        check_mtu(spec)?;
        let path = path(config, client, spec);
        // Both lists have the same order.
        match place {
            Some(place) => {
                specs[place] = spec.clone();
                held.connection.paths[place] = path;
            }
            None => {
                specs.push(spec.clone());
                held.connection.paths.push(path);
            }
        }
        Ok(())
    }

    /// Removes a path from the connection of a session. Says whether there was one of that number.
    ///
    /// # Errors
    ///
    /// Fails if it is the last one, or the session has no connection.
    pub(crate) fn delete_path(
        &mut self,
        session: SessionId,
        id: u16,
    ) -> Result<bool, SessionFailure> {
        let held = self.held.get_mut(&session).ok_or_else(no_connection)?;
        let place = held.request.paths.iter().position(|it| it.id == id);
        let Some(place) = place else { return Ok(false) };
        if held.connection.paths.len() == 1 {
            return Err(denied("the last path of a connection cannot be removed".into()));
        }
        held.request.paths.remove(place);
        held.connection.paths.remove(place);
        Ok(true)
    }

    fn admit(
        &mut self,
        now: Instant,
        config: &Config,
        client: &config::Client,
    ) -> Result<(), SessionFailure> {
        let of_client = self.held.values().filter(|held| held.owner == client.public_key).count();
        if of_client >= usize::from(client.max_connections) {
            let message = format!("max_connections of this client is {}", client.max_connections);
            return Err(denied(message));
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
        // The keys are random, so that nobody can guess those of others. A stranger would need to know them besides the addresses.
        let random = std::iter::from_fn(|| getrandom::u32().ok());
        let mut keys = wanted.into_iter().chain(random);
        // A few thousand of the 2^32 keys are taken at most, so a free one is found soon.
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
        Some(net) => Err(denied(format!("{net} is not among the networks behind {}", client.name))),
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
        Some(mtu) if mtu < mtu::IPV4_MINIMUM => {
            let message = format!(
                "path \"{}\": an MTU of {mtu} is below the {} bytes that every path carries; give what the path carries, or no MTU",
                spec.name,
                mtu::IPV4_MINIMUM
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
        remote: Remote::Sought,
        port_of_remote: None,
        local_port: config.daemon.port,
        source_port: SourcePort::Fixed(config.daemon.port),
        remote_port: config.daemon.port,
        remote_source_port: None,
        weight: spec.weight_in.clamp(1, client.max_weight),
        weight_in: spec.weight.clamp(1, client.max_weight),
        priority: None,
        tier: spec.tier,
        // The client has a say in these by its session.
        metered: false,
        cap: None,
        cap_day: 1,
        cap_counts: CapCounts::Both,
        at_cap: AtCap::Backup,
        mtu: Some(spec.mtu.unwrap_or(USUAL_MTU).clamp(mtu::IPV4_MINIMUM, USUAL_MTU)),
        rate: None,
        // They bound what the client sends, not what it is sent.
        max_rate: None,
        min_rate: None,
        up: true,
        nat: true,
    }
}

/// The connection of a client as its policy and its request make it, with the addresses, the name and the GRE key that it holds.
fn agreed(
    config: &Config,
    client: &config::Client,
    held: &Held,
    networks: Vec<IpNet>,
) -> Result<Connection, SessionFailure> {
    if !client.mappings.contains(&held.request.mapping) {
        let word = match held.request.mapping {
            Mapping::Packet => "packet",
            Mapping::Adaptive => "adaptive",
            Mapping::Flow => "flow",
            Mapping::Duplicate => "duplicate",
        };
        return Err(denied(format!("the mapping {word} is not allowed")));
    }
    let networks: Vec<IpNet> = held.addresses.iter().copied().chain(networks).collect();
    let key = held.connection.key.unwrap_or_default();
    Ok(Connection {
        selectors: networks.iter().copied().map(Selector::to).collect(),
        networks,
        paths: granted_paths(config, client, &held.request.paths)?,
        ..connection(client, &held.connection.name, key, &held.request)
    })
}

/// Returns the lower of what is asked for and what is allowed, of which each may be left open.
fn least<T: Ord>(asked: Option<T>, allowed: Option<T>) -> Option<T> {
    asked.into_iter().chain(allowed).min()
}

/// The connection but for its networks, selectors and paths.
fn connection(client: &config::Client, name: &str, key: u32, request: &Create) -> Connection {
    let window = least(request.window, client.reorder.window);
    let asked = request.max_delay_ms.map(|ms| std::time::Duration::from_millis(ms.into()));
    let max_delay = least(asked, client.reorder.max_delay);
    Connection {
        name: name.to_owned(),
        device: client.device.clone(),
        networks: Vec::new(),
        selectors: Vec::new(),
        prompt: Vec::new(),
        protected: Vec::new(),
        unprotected: Vec::new(),
        key: Some(key),
        requested_key: None,
        sequence: request.sequence,
        checksum: request.checksum,
        // All clients share the sockets of `daemon.listen`: a second socket on the same address and port, without the checksum,
        // would take the packets of the others.
        udp_checksum: true,
        seal: client.seal,
        direction: Direction::Both,
        mapping: request.mapping,
        repair: client.repair,
        reorder: config::Reorder { window, max_delay, ..client.reorder },
        multicast: false,
        copy_dscp: false,
        ecn: config::usual_ecn(request.mapping),
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
    denied(format!("max_paths of this client is {}", client.max_paths))
}

fn denied(message: String) -> SessionFailure {
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
