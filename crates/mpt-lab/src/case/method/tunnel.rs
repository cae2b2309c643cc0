//! A tunnel of ours: a daemon at either end.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpt_api::{ConnectionState, PathChange};
use toml::{Table, Value};

use crate::case::TunnelSpec;
use crate::case::cpu::Watched;
use crate::case::network::{self, Network};
use crate::daemon::{self, Daemon};
use crate::interrupt::Interrupt;
use crate::topology::End;

/// Name of connection and device.
const NAME: &str = daemon::Tunnel::NAME;
/// Second byte of the addresses inside.
const INSIDE: u8 = 72;

/// Two daemons; they end when this is dropped.
#[derive(Debug)]
pub(in crate::case) struct Tunnel {
    daemons: [Daemon; 2],
    inner: u8,
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
        let mut tunnel = Self { daemons: [start(End::A)?, start(End::B)?], inner: spec.inner };
        for daemon in &mut tunnel.daemons {
            daemon.wait_until("not every path is up", interrupt, |snapshot| {
                snapshot.connections.iter().all(|it| it.state == ConnectionState::Up)
            })?;
        }
        Ok(tunnel)
    }

    /// The address of an end inside.
    pub(super) fn address(&self, end: End) -> IpAddr {
        network::inside(INSIDE, 0, end, self.inner)
    }

    /// The daemon at one end.
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

/// The configuration of the daemon at one end; `key` is the file of its private key, with which there is a session.
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
    let (here, there) = (end, end.other());
    let inside = |end| network::inside(INSIDE, 0, end, spec.inner);
    let prefix = if spec.inner == 6 { 64 } else { 24 };
    let mut device = Table::new();
    device.insert("name".into(), string(&NAME));
    device.insert("addresses".into(), vec![format!("{}/{prefix}", inside(here))].into());

    let mut connection = Table::new();
    connection.insert("name".into(), string(&NAME));
    connection.insert("device".into(), string(&NAME));
    connection.insert("networks".into(), vec![inside(there).to_string()].into());
    connection.extend(own(&spec.connection));
    if key.is_some() {
        let peer = connection.entry("peer").or_insert_with(|| Table::new().into());
        if let Value::Table(peer) = peer {
            peer.insert("public_key".into(), string(&daemon::key(there).public()));
        }
    }
    let keys = match end {
        End::A => &spec.paths_a,
        End::B => &spec.paths_b,
    };
    let path = |(number, name): (usize, &String)| {
        let mut path = Table::new();
        path.insert("name".into(), string(name));
        for (key, end) in [("local", here), ("remote", there)] {
            path.insert(key.into(), string(&network::address(number, end, spec.outer)));
        }
        path.extend(keys.get(number).map(own).unwrap_or_default());
        Value::Table(path)
    };
    let paths: Vec<Value> = links.iter().enumerate().map(path).collect();
    connection.insert("path".into(), paths.into());

    let mut file = Table::new();
    file.insert("daemon".into(), daemon.into());
    file.insert("device".into(), vec![Value::Table(device)].into());
    file.insert("connection".into(), vec![Value::Table(connection)].into());
    file
}

fn own(keys: &BTreeMap<String, Value>) -> Table {
    keys.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_the_keys_of_the_specification() {
        let spec = TunnelSpec {
            inner: 4,
            outer: 6,
            session: true,
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
    }
}
