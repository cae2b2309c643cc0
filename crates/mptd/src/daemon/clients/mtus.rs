//! The MTUs of routes to networks of clients: such a route has an MTU of its own while less fits the client's connection than the
//! device takes. So the host refuses packets where they come from, and no other client's packets become smaller.

use std::collections::{BTreeMap, HashMap, HashSet};

use ipnet::IpNet;
use mpt_config::Connection;
use mpt_linux::netlink;

use crate::daemon::Daemon;
use crate::data::{DataPath, InnerMtus};

impl Daemon {
    /// Gives the routes to the networks of a connection the MTU that fits it, if it is one of a client. To be called whenever its paths or
    /// routes may have changed.
    pub(in crate::daemon) async fn follow_client_mtu(&mut self, connection: &str) {
        match self.client_connection(connection) {
            Some(held) => self.follow_mtus_of(vec![held]).await,
            None => complain(connection, self.system.forget_route_mtus(connection).await),
        }
    }

    fn client_connection(&self, name: &str) -> Option<Connection> {
        Some(self.clients.get(self.clients.find_shown(name)?)?.connection.clone())
    }

    /// Gives the routes of all clients the MTU that fits them: a device has another MTU, or routes were made anew.
    pub(in crate::daemon) async fn follow_client_mtus(&mut self) {
        let held: Vec<Connection> =
            self.clients.iter().map(|(_, held)| held.connection.clone()).collect();
        let names: HashSet<&String> = held.iter().map(|it| &it.name).collect();
        let is_gone = |name: &&String| !names.contains(*name);
        let gone: Vec<String> = self.system.narrow_connections().filter(is_gone).cloned().collect();
        for connection in gone {
            complain(&connection, self.system.forget_route_mtus(&connection).await);
        }
        self.follow_mtus_of(held).await;
    }

    async fn follow_mtus_of(&mut self, connections: Vec<Connection>) {
        let names: Vec<String> = connections.iter().map(|it| it.name.clone()).collect();
        let devices: HashSet<&String> = connections.iter().map(|it| &it.device).collect();
        let ask = |data: &mut DataPath, names: Vec<String>| data.inner_mtus(names);
        // It is told elsewhere when the data thread has ended.
        let Ok(fits) = self.shards.split(names, String::as_str, ask).await else { return };
        let fits: HashMap<String, InnerMtus> = fits.flatten().collect();
        let mut limits: HashMap<&String, u16> = HashMap::new();
        for device in devices {
            let Ok(inner) = self.inner_mtu(device).await else { return };
            let config = self.running.device(device);
            let limit = config.and_then(|config| self.running.device_mtu(config, inner));
            limits.extend(limit.map(|limit| (device, limit)));
        }
        for connection in &connections {
            let (fits, limit) = (fits.get(&connection.name), limits.get(&connection.device));
            let Some((fits, limit)) = fits.zip(limit) else { continue };
            let narrow = narrow(connection, *fits, *limit);
            let set = self.system.set_route_mtus(&self.running, connection, narrow).await;
            complain(&connection.name, set);
        }
    }
}

/// The networks of a connection whose packets have to be smaller than `limit`, what the device takes, and how large they may be in bytes.
fn narrow(connection: &Connection, fits: InnerMtus, limit: u16) -> BTreeMap<IpNet, u16> {
    let smaller = |network: &IpNet| {
        let fits = if network.addr().is_ipv4() { Some(fits.ipv4) } else { fits.ipv6 };
        Some((*network, fits.filter(|fits| *fits < limit)?))
    };
    connection.networks.iter().filter_map(smaller).collect()
}

fn complain(connection: &str, result: Result<(), netlink::Error>) {
    if let Err(error) = result {
        tracing::warn!(connection, %error, "the routes of a client do not have its MTU");
    }
}
