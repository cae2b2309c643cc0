//! Changes at run time: each takes effect with the next packet, and touches nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use mpt_config::{self as config, SourcePort};
use mpt_core::path::BadBounds;
use mpt_core::{ConnectionConfig, DeviceId, DownReason, PathId, RateBounds, SocketId, check};

use super::wanted::{ChangeError, LinkFacts, PathLink, Wanted};
use crate::convert;
use crate::data::DataPath;
use crate::data::paths::{PathIo, Wiring};
use crate::data::sockets::SocketKey;
use crate::data::system::device::Device;
use crate::data::system::token::Token;
use crate::data::system::{SuperPacketDevice, System};

/// Source ports of an entropy path. Routers that balance by flow need a few to choose from, not one for each flow.
const ENTROPY_POOL: usize = 16;

/// Sockets of a path on the way from one set of connections to the next.
pub(in crate::data) enum Plugged {
    /// The path goes on with what it has.
    Kept(PathId),
    /// Opened for it.
    Opened(Box<PathIo>),
}

impl<S: System> DataPath<S> {
    /// Takes over an open TUN device.
    pub(crate) fn add_device(&mut self, tun: S::Device) -> Result<(), ChangeError> {
        let free = self.devices.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.devices.push(None);
            self.devices.len() - 1
        });
        let id = DeviceId(index as u16);
        self.system.watch_device(&tun, Token::Device(id.0))?;
        self.devices[index] = Some(Device::new(tun));
        Ok(())
    }

    /// Closes a device, which removes it from the system. Its connections have to be gone.
    pub(crate) fn remove_device(&mut self, name: &str) -> Result<(), ChangeError> {
        let id = self.find_device(name)?;
        if let Some(device) = self.devices[usize::from(id.0)].take() {
            self.system.forget_device(&device.tun);
        }
        Ok(())
    }

    /// Makes the connections what this list says. A connection that has not changed is not touched: sequence numbers go on, sockets and their random
    /// ports stay. On an error nothing is changed at all.
    pub(crate) fn set_connections(&mut self, wanted: &[Wanted]) -> Result<(), ChangeError> {
        let now = self.system.now();
        self.count_carried();
        let commands = self.prototypes.open(&self.system, wanted)?;
        let mut plugged = Vec::new();
        let configs = self.plug(wanted, &mut plugged);
        let exchanged: Vec<bool> = wanted.iter().map(|it| self.has_other_peer(it)).collect();
        let result = configs.and_then(|mut configs| {
            check(&configs)?;
            for (config, wanted) in configs.iter_mut().zip(wanted) {
                self.keep_wishes_of_client(wanted, config);
            }
            // While there are the paths on which their peers are told.
            self.end_sessions(now, wanted);
            let (node, devices) = (&mut self.node, &mut self.devices);
            Ok(self.ingress.deliver(devices, |sink| node.reconfigure(now, configs, sink))?)
        });
        let ids = match result {
            Ok(ids) => ids,
            Err(error) => {
                for io in plugged.iter().filter_map(Plugged::opened) {
                    self.unplug(io);
                }
                self.prototypes.close(&self.system, commands);
                return Err(error);
            }
        };

        for (id, _) in ids.iter().zip(exchanged).filter(|(_, exchanged)| *exchanged) {
            self.node.bar(*id);
        }
        let mut plugged = plugged.into_iter();
        let (mut now_used, mut reset) = (Vec::new(), Vec::new());
        for (wanted, id) in wanted.iter().zip(ids) {
            for (path, link) in wanted.config.paths.iter().zip(&wanted.links) {
                let (Some(path), Some(io)) =
                    (self.node.tunnels().find_path(id, &path.name), plugged.next())
                else {
                    continue;
                };
                let io = match io {
                    Plugged::Kept(old) => self.paths.remove(old),
                    Plugged::Opened(io) => Some(*io),
                };
                if let Some(io) = io {
                    now_used.push((path, io));
                }
                self.set_link_state(now, path, link);
                reset.push(path);
            }
        }
        for io in self.paths.drain() {
            self.unplug(&io);
        }
        for (id, io) in now_used {
            self.paths.insert(id, io);
        }
        let paths = &self.paths;
        self.waiting.retain(|stuck| {
            let io = paths.get(stuck.path);
            io.is_some_and(|io| stuck.channel < io.channels.len())
        });
        let endpoint = self.node.tunnels();
        self.ingress.shares_mut().retain(|id| endpoint.connection(id).is_some());
        self.free_queues();
        self.follow_connections(now, wanted);
        self.follow_caps(now, wanted);
        reset.into_iter().for_each(|path| self.forget_reported_mtu(path));
        self.follow_prototypes(now, wanted, commands);
        Ok(())
    }

    /// True if a connection of the configuration has a session with somebody else than it is to have.
    fn has_other_peer(&self, wanted: &Wanted) -> bool {
        wanted.client.is_none() && self.is_exchanged(&wanted.config)
    }

    /// Keeps what a client has wished for the paths of its connection since it was created, within its limits.
    fn keep_wishes_of_client(&self, wanted: &Wanted, config: &mut ConnectionConfig) {
        let Some(client) = &wanted.client else { return };
        let Some(id) = self.node.tunnels().find_connection(&config.name) else { return };
        for path in &mut config.paths {
            if let Some(id) = self.node.tunnels().find_path(id, &path.name) {
                self.keep_wishes(id, path, client.max_weight);
            }
        }
    }

    /// Changes weights, bounds of the rate, tier or the administrative state of a path; nothing where one of them is wrong.
    pub(crate) fn change_path(
        &mut self,
        connection: &str,
        path: &str,
        change: &mpt_api::PathChange,
    ) -> Result<(), ChangeError> {
        let id = self.find_path(connection, path)?;
        let now = self.system.now();
        if let Some(config) = self.node.tunnels().path(id).map(mpt_core::path::Path::config) {
            let out = change.weight.map_or(config.weight_out, u16::from);
            let weight_in = change.weight_in.map_or(config.weight_in, u16::from);
            let has_new_weights = (out, weight_in) != (config.weight_out, config.weight_in);
            let before = config.rates;
            let rates = changed_rates(before, change).map_err(|error| {
                let (connection, path) = (connection.to_owned(), path.to_owned());
                ChangeError::Rates { connection, path, error }
            })?;
            if rates != before {
                self.node.set_rates(now, id, rates)?;
            }
            if has_new_weights {
                self.node.set_weights(now, id, out, weight_in)?;
            }
        }
        if let Some(tier) = change.tier {
            self.node.set_tier(now, id, tier);
        }
        if let Some(up) = change.up {
            self.node.set_path_state(now, id, DownReason::Administrative, !up);
        }
        Ok(())
    }

    /// Applies what the system says of the links. Gives connection and path of those whose state or MTU changed.
    pub(crate) fn update_links(&mut self, links: &[PathLink]) -> Vec<(String, String)> {
        let now = self.system.now();
        let mut changed = Vec::new();
        for PathLink { connection, path, fixed_mtu, facts } in links {
            let Ok(id) = self.find_path(connection, path) else { continue };
            // Not only whether it is up: a path whose carrier comes back has still to be proved by its session.
            let facts_of = |it: &mpt_core::path::Path| (it.down_reasons(), it.mtu());
            let Some(before) = self.node.tunnels().path(id).map(facts_of) else { continue };
            self.set_link_state(now, id, facts);
            if !fixed_mtu
                && let Some(io) = self.paths.get_mut(id)
                && io.wiring.mtu != facts.mtu
            {
                io.wiring.mtu = facts.mtu;
                self.node.set_path_mtu(now, id, facts.mtu);
                self.forget_reported_mtu(id);
            }
            if !facts.carrier {
                // It may come back in another network.
                self.forget_reported_mtu(id);
            }
            if self.node.tunnels().path(id).map(facts_of) != Some(before) {
                changed.push((connection.clone(), path.clone()));
            }
        }
        changed
    }

    /// An interface came back under its old name: sockets bound to it are opened anew.
    pub(crate) fn reopen_sockets(&mut self, interface: &str) -> Result<(), ChangeError> {
        let commands = self.prototypes.reopen(&self.system, interface);
        Ok(self.sockets.reopen(&self.system, interface).and(commands)?)
    }

    /// Gives all outer packets from now on this mark.
    pub(crate) fn set_mark(&mut self, mark: Option<u32>) -> Result<(), ChangeError> {
        let commands = self.prototypes.set_mark(mark);
        self.sockets.set_mark(mark).and(commands).map_err(ChangeError::Mark)
    }

    /// The largest inner packet of a device in bytes: the smallest over the connections of the configuration; `None` without any. Connections
    /// of clients do not count: no client makes the packets of the others smaller.
    pub(crate) fn inner_mtu(&self, device: &str) -> Option<u16> {
        let id = self.find_device(device).ok()?;
        let mut connections = self.node.tunnels().connections();
        let limits = |it: &mpt_core::Connection<_>| it.device() == id && it.config().limits_device;
        let has_any = connections.any(|(_, connection)| limits(connection));
        has_any.then(|| self.node.tunnels().inner_mtu(id))
    }

    /// Takes over what is known of the link of a path.
    fn set_link_state(&mut self, now: Instant, id: PathId, facts: &LinkFacts) {
        self.node.set_path_state(now, id, DownReason::Unresolved, !facts.resolved);
        self.node.set_path_state(now, id, DownReason::Interface, !facts.carrier);
    }

    fn find_device(&self, name: &str) -> Result<DeviceId, ChangeError> {
        let named = |device: &Option<Device<S::Device>>| {
            device.as_ref().is_some_and(|it| it.tun.name() == name)
        };
        let index = self.devices.iter().position(named);
        index.map(|index| DeviceId(index as u16)).ok_or_else(|| ChangeError::NoDevice(name.into()))
    }

    pub(in crate::data) fn find_path(
        &self,
        connection: &str,
        path: &str,
    ) -> Result<PathId, ChangeError> {
        let missing = || ChangeError::NoConnection(connection.into());
        let id = self.node.tunnels().find_connection(connection).ok_or_else(missing)?;
        let missing = || ChangeError::NoPath { connection: connection.into(), path: path.into() };
        self.node.tunnels().find_path(id, path).ok_or_else(missing)
    }

    /// Finds or opens the sockets of every path, noting them in `plugged` in the order of the list, and puts it all in the endpoint's words.
    pub(super) fn plug(
        &mut self,
        wanted: &[Wanted],
        plugged: &mut Vec<Plugged>,
    ) -> Result<Vec<ConnectionConfig>, ChangeError> {
        let mut taken = BTreeSet::new();
        let mut listening = BTreeMap::new();
        let mut configs = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let Wanted { config, links, client } = wanted;
            let exchanged = self.has_other_peer(wanted);
            let device = self.find_device(&config.device)?;
            let mut paths = Vec::with_capacity(config.paths.len());
            for (path, link) in config.paths.iter().zip(links) {
                let mut wiring = wiring(config, path, link);
                // If one of two sockets on an address is bound to an interface, the other one would not get what arrives there.
                let key = &wiring.key;
                let interface = listening
                    .entry((key.local, wiring.local_port))
                    .or_insert_with(|| key.interface.clone());
                if interface.is_some() != key.interface.is_some() {
                    return Err(ChangeError::Bind {
                        connection: config.name.clone(),
                        path: path.name.clone(),
                        local: SocketAddr::new(key.local, wiring.local_port),
                        source: io::ErrorKind::AddrInUse.into(),
                    });
                }
                let before =
                    self.find_path(&config.name, &path.name).ok().filter(|id| !taken.contains(id));
                // The address at which another peer was found says nothing about the new one.
                let before = before.filter(|_| !exchanged);
                let before = before.and_then(|id| Some((id, self.paths.get_mut(id)?)));
                if path.remote == config::Remote::Sought
                    && let Some((_, io)) = &before
                {
                    // The path goes on to the address at which the session found the peer.
                    wiring.remote = io.wiring.remote;
                }
                let mtu = wiring.mtu;
                // The path that replaces this one sends from the same ports if it can: NATs and firewalls know them.
                let former: Vec<SocketId> = match &before {
                    Some((_, io)) if io.wiring.source_port == wiring.source_port => {
                        io.channels.iter().map(|channel| channel.socket).collect()
                    }
                    _ => Vec::new(),
                };
                let sockets = match before {
                    Some((id, io)) if io.wiring.same_sockets(&wiring) => {
                        io.wiring = wiring;
                        taken.insert(id);
                        plugged.push(Plugged::Kept(id));
                        io.sockets()
                    }
                    _ => {
                        let io = self.open(config, path, wiring, &former)?;
                        let sockets = io.sockets();
                        plugged.push(Plugged::Opened(Box::new(io)));
                        sockets
                    }
                };
                paths.push(convert::path(path, mtu, sockets));
            }
            let limits_device = client.is_none();
            configs.push(ConnectionConfig {
                limits_device,
                ..convert::connection(config, device, paths)
            });
        }
        Ok(configs)
    }

    /// Opens what a path needs: where it listens and where it sends from, on the ports of the sockets `former` as far as they can be
    /// had.
    fn open(
        &mut self,
        connection: &config::Connection,
        path: &config::Path,
        wiring: Wiring,
        former: &[SocketId],
    ) -> Result<PathIo, ChangeError> {
        let key = &wiring.key;
        let mut opened: Vec<SocketId> = Vec::new();
        let mut open = |key: &SocketKey, port: Option<u16>, former: Option<&SocketId>| {
            let again = former.filter(|_| port.is_none());
            let again = again.and_then(|&id| self.sockets.open_after(&self.system, key, id));
            let result = match (port, again) {
                (_, Some(again)) => Ok(again),
                (Some(port), None) => self.sockets.open(&self.system, key, port),
                (None, None) => self.sockets.open_random(&self.system, key),
            };
            let id = result.map_err(|source| ChangeError::Bind {
                connection: connection.name.clone(),
                path: path.name.clone(),
                local: SocketAddr::new(key.local, port.unwrap_or(0)),
                source,
            })?;
            opened.push(id);
            Ok(id)
        };
        let listening_key = match wiring.source_port {
            SourcePort::Fixed(port) if port == wiring.local_port => key.clone(),
            // Nothing is sent there, so connections that differ in their outgoing checksums can share it.
            _ => SocketKey { checksum: true, ..key.clone() },
        };
        let sockets = open(&listening_key, Some(wiring.local_port), None).and_then(|listening| {
            let sources = match wiring.source_port {
                SourcePort::Fixed(port) => vec![open(key, Some(port), None)?],
                SourcePort::Random => vec![open(key, None, former.first())?],
                SourcePort::Entropy => {
                    let ports = (0..ENTROPY_POOL).map(|index| open(key, None, former.get(index)));
                    ports.collect::<Result<_, _>>()?
                }
            };
            Ok((listening, sources))
        });
        match sockets {
            Ok((listening, sources)) => Ok(PathIo::new(wiring, listening, &sources)),
            Err(error) => {
                opened.into_iter().for_each(|id| self.sockets.close(&self.system, id));
                Err(error)
            }
        }
    }

    pub(super) fn unplug(&mut self, io: &PathIo) {
        self.egress.room += io.waiting();
        for socket in io.sockets() {
            self.sockets.close(&self.system, socket);
        }
    }
}

impl Plugged {
    pub(in crate::data) fn opened(&self) -> Option<&PathIo> {
        match self {
            Plugged::Kept(_) => None,
            Plugged::Opened(io) => Some(io),
        }
    }
}

fn wiring(connection: &config::Connection, path: &config::Path, link: &LinkFacts) -> Wiring {
    // Nothing is sent before the session has found the peer.
    let remote = path.remote.address().unwrap_or_else(|| path.any());
    Wiring {
        key: SocketKey {
            local: path.bound(),
            interface: path.interface.clone(),
            checksum: connection.udp_checksum || path.is_ipv6(),
        },
        local_port: path.local_port,
        source_port: path.source_port,
        remote: SocketAddr::new(remote, path.remote_port),
        mtu: path.mtu.unwrap_or(link.mtu),
    }
}

/// The bounds of a rate after a change, in which 0 takes a bound away.
fn changed_rates(
    before: RateBounds,
    change: &mpt_api::PathChange,
) -> Result<RateBounds, BadBounds> {
    let bound =
        |change: Option<u64>, before| change.map_or(before, |rate| Some(rate).filter(|&it| it > 0));
    let least = bound(change.min_rate, before.least());
    RateBounds::new(least, bound(change.max_rate, before.greatest()))
}
