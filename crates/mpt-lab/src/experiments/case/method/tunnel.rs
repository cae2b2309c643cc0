//! A tunnel of mpt: a daemon at either end.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpt_api::{ConnectionState, PathChange};
use toml::{Table, Value};

use crate::console::interrupt::Interrupt;
use crate::experiments::case::TunnelSpec;
use crate::experiments::case::network::{self, Network};
use crate::experiments::case::observation::cpu::Watched;
use crate::processes::daemon::{self, Daemon};
use crate::topology::End;

/// Name of connection and device.
const NAME: &str = daemon::Tunnel::NAME;
/// Second byte of the inner addresses.
const INSIDE: u8 = 72;
/// Second byte of the inner addresses of a second connection, its name and that of its device, and the GRE key that distinguishes its packets from
/// those of the first.
const SECOND_INSIDE: u8 = 74;
const SECOND_NAME: &str = "mpt1";
const SECOND_KEY: i64 = 1;

/// Two daemons; they end when this is dropped.
#[derive(Debug)]
pub(in crate::experiments::case) struct Tunnel {
    daemons: [Daemon; 2],
    inner: u8,
    second_connection: bool,
}

impl Tunnel {
    /// Starts both daemons and waits until they say that every path is up.
    pub(super) fn start(
        spec: &TunnelSpec,
        network: &Network,
        program: &Path,
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        for version in [spec.inner, spec.outer] {
            ensure!(matches!(version, 4 | 6), "there is no IP version {version}");
        }
        let start = |end: End| {
            let key = if spec.session { Some(daemon::private_key(directory, end)?) } else { None };
            // A map of strings and values always has a text.
            let text = |socket: &Path| {
                configuration(spec, network.names(), end, key.as_deref(), socket).to_string()
            };
            Daemon::start(program, network.host(end), &end.to_string(), directory, text)
        };
        let TunnelSpec { inner, second_connection, .. } = *spec;
        let daemons = [start(End::A)?, start(End::B)?];
        let mut tunnel = Self { daemons, inner, second_connection };
        for daemon in &mut tunnel.daemons {
            daemon.wait_until("not every path is up", interrupt, |snapshot| {
                snapshot.connections.iter().all(|it| it.state == ConnectionState::Up)
            })?;
        }
        Ok(tunnel)
    }

    /// Returns the inner address of an end.
    pub(super) fn address(&self, end: End) -> IpAddr {
        network::inside(INSIDE, 0, end, self.inner)
    }

    /// Returns the inner address of an end on the second connection, if there is one.
    pub(super) fn second_address(&self, end: End) -> Option<IpAddr> {
        let address = || network::inside(SECOND_INSIDE, 0, end, self.inner);
        self.second_connection.then(address)
    }

    /// Returns the daemon at one end.
    pub(super) fn daemon(&self, end: End) -> &Daemon {
        match end {
            End::A => &self.daemons[0],
            End::B => &self.daemons[1],
        }
    }

    pub(super) fn processes(&self) -> Vec<Watched> {
        let watched = |end| Watched::daemon("mptd", end, self.daemon(end).id());
        [End::A, End::B].map(watched).into()
    }

    /// Takes the path over a link down, or up, as the administrator of host a does.
    pub(super) fn set_path(&self, link: usize, up: bool, network: &Network) -> Result<()> {
        let path = network.names().get(link).with_context(|| format!("there is no link {link}"))?;
        let change = PathChange { up: Some(up), ..PathChange::default() };
        let command =
            mpt_api::Command::SetPath { connection: NAME.into(), path: path.clone(), change };
        self.daemon(End::A).request(command).map(drop)
    }

    pub(super) fn logs(&self) -> String {
        let log = |end| format!("mptd {end}:\n{}\n", self.daemon(end).log_tail());
        [End::A, End::B].map(log).concat()
    }
}

/// Returns the configuration of the daemon at one end; `key` is the file of its private key, with which there is a session.
fn configuration(
    spec: &TunnelSpec,
    links: &[String],
    end: End,
    key: Option<&Path>,
    socket: &Path,
) -> Table {
    let string = |value: &dyn ToString| Value::String(value.to_string());
    let mut daemon = Table::new();
    daemon.insert("control_socket".into(), string(&socket.display()));
    if let Some(key) = key {
        daemon.insert("private_key_file".into(), string(&key.display()));
    }
    let (mut devices, mut connections) = (Vec::new(), Vec::new());
    let all = [(NAME, INSIDE, None), (SECOND_NAME, SECOND_INSIDE, Some(SECOND_KEY))];
    for (name, block, gre_key) in all.into_iter().take(1 + usize::from(spec.second_connection)) {
        let inside = |end| network::inside(block, 0, end, spec.inner);
        let prefix = if spec.inner == 6 { 64 } else { 24 };
        let mut device = Table::new();
        device.insert("name".into(), string(&name));
        device.insert("addresses".into(), vec![format!("{}/{prefix}", inside(end))].into());
        devices.push(Value::Table(device));

        let mut connection = Table::new();
        connection.insert("name".into(), string(&name));
        connection.insert("device".into(), string(&name));
        connection.insert("networks".into(), vec![inside(end.other()).to_string()].into());
        connection.extend(own(&spec.connection));
        connection.extend(gre_key.map(|key| ("key".into(), Value::Integer(key))));
        if key.is_some() {
            let peer = connection.entry("peer").or_insert_with(|| Table::new().into());
            if let Value::Table(peer) = peer {
                peer.insert("public_key".into(), string(&daemon::key(end.other()).public()));
            }
        }
        connection.insert("path".into(), paths(spec, links, end).into());
        connections.push(Value::Table(connection));
    }

    let mut file = Table::new();
    file.insert("daemon".into(), daemon.into());
    file.insert("device".into(), devices.into());
    file.insert("connection".into(), connections.into());
    file
}

/// Returns the paths of each connection at one end.
fn paths(spec: &TunnelSpec, links: &[String], end: End) -> Vec<Value> {
    let keys = match end {
        End::A => &spec.paths_a,
        End::B => &spec.paths_b,
    };
    let path = |(number, name): (usize, &String)| {
        let mut path = Table::new();
        path.insert("name".into(), Value::String(name.clone()));
        for (key, end) in [("local", end), ("remote", end.other())] {
            let address = network::address(number, end, spec.outer);
            path.insert(key.into(), Value::String(address.to_string()));
        }
        path.extend(keys.get(number).map(own).unwrap_or_default());
        Value::Table(path)
    };
    links.iter().enumerate().map(path).collect()
}

fn own(keys: &BTreeMap<String, Value>) -> Table {
    keys.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::case::Method;
    use crate::experiments::definition::Mode;

    #[test]
    fn a_configuration_has_the_keys_of_the_specification() {
        let spec = TunnelSpec {
            inner: 4,
            outer: 6,
            session: true,
            second_connection: false,
            connection: [
                ("window".into(), Value::from(800)),
                (
                    "peer".into(),
                    Value::Table(
                        [("keepalive".into(), Value::from("50 ms"))].into_iter().collect(),
                    ),
                ),
            ]
            .into(),
            paths_a: vec![[("weight".into(), Value::from(10))].into()],
            paths_b: Vec::new(),
        };
        let links = ["slow".to_owned(), "fast".to_owned()];
        let file = Path::new("/k");
        let a = configuration(&spec, &links, End::A, Some(file), Path::new("/s"));
        let connection = &a["connection"][0];
        assert_eq!(connection["window"].as_integer(), Some(800));
        assert_eq!(connection["networks"][0].as_str(), Some("10.72.0.2"));
        assert_eq!(connection["peer"]["keepalive"].as_str(), Some("50 ms"));
        assert_eq!(
            connection["peer"]["public_key"].as_str(),
            Some(&*daemon::key(End::B).public().to_string())
        );
        assert_eq!(connection["path"][0]["weight"].as_integer(), Some(10));
        assert_eq!(connection["path"][1]["local"].as_str(), Some("fd47:0:0:2::1"));
        assert!(connection["path"][1].get("weight").is_none());
        let b = configuration(
            &TunnelSpec { session: false, ..spec },
            &links,
            End::B,
            None,
            Path::new("/s"),
        );
        assert!(b["daemon"].get("private_key_file").is_none());
        assert!(b["connection"][0]["path"][0].get("weight").is_none());
        assert_eq!(b["device"][0]["addresses"][0].as_str(), Some("10.72.0.2/24"));
        assert_eq!(b["connection"].as_array().map(Vec::len), Some(1));
    }

    /// The row that has to find out everything gets only addresses and keys, in the experiments that fail when a demand is missed.
    #[test]
    fn where_nothing_is_configured_there_are_addresses_and_keys() {
        let mut configurations = 0;
        for name in crate::experiments::definition::names() {
            let plan = crate::experiments::definition::load(name, &[], Mode::default()).unwrap();
            for case in plan.cases.iter().filter(|case| plan.strict && case.row == "adaptive") {
                let Method::Tunnel(spec) = &case.spec.method else { panic!("{name}: no tunnel") };
                let links = case.spec.network.links.iter().map(|link| link.name.clone());
                let links: Vec<String> = links.collect();
                for end in [End::A, End::B] {
                    let key = Some(Path::new("/k"));
                    let file = configuration(spec, &links, end, key, Path::new("/s"));
                    for connection in file["connection"].as_array().unwrap() {
                        // A GRE key tells two connections apart.
                        let known = ["name", "device", "networks", "peer", "path", "key"];
                        assert_keys(name, connection, &known);
                        assert_keys(name, &connection["peer"], &["public_key"]);
                        for path in connection["path"].as_array().unwrap() {
                            assert_keys(name, path, &["name", "local", "remote"]);
                        }
                    }
                    configurations += 1;
                }
            }
        }
        assert!(configurations > 400, "{configurations}");
    }

    fn assert_keys(experiment: &str, table: &Value, known: &[&str]) {
        for key in table.as_table().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{experiment}: {key} in {table}");
        }
    }

    #[test]
    fn a_second_connection_has_the_same_paths_and_a_key_of_its_own() {
        let spec = TunnelSpec {
            inner: 4,
            outer: 4,
            session: true,
            second_connection: true,
            connection: BTreeMap::new(),
            paths_a: Vec::new(),
            paths_b: Vec::new(),
        };
        let (links, key) = (["path1".to_owned()], Path::new("/k"));
        let file = configuration(&spec, &links, End::A, Some(key), Path::new("/s"));
        let [first, second] = [0, 1].map(|number| &file["connection"][number]);
        assert_eq!(first["path"], second["path"]);
        assert_eq!(first["peer"], second["peer"]);
        assert_eq!((first.get("key"), second["key"].as_integer()), (None, Some(1)));
        assert_eq!(second["networks"][0].as_str(), Some("10.74.0.2"));
        assert_eq!(file["device"][1]["addresses"][0].as_str(), Some("10.74.0.1/24"));
        assert_eq!(file["device"][1]["name"], second["device"]);
    }
}
