//! The changes of a reload: the shortest list of steps from one checked configuration to another, so that nothing the change does not concern is
//! touched.
//!
//! Things are known by their names: a device, a connection, a path within its connection. The difference is taken between
//! the two files, so what was changed by hand since (`mpt path set`) stays unless the file changes that very key.

use std::fmt;

use super::key::{self, Keys, Reload};
use super::peers::{Client, Controller, Pool};
use super::types::{Config, Connection, Daemon, Device, Path};

/// The prefix of the keys of `[connection.peer]` in [`Change::UpdateConnection`].
pub(super) const OF_PEER: &str = "peer.";
/// The name of `[[connection.select]]` in [`Change::UpdateConnection`].
pub(super) const SELECT: &str = "select";
/// The name of `[connection.mptsrv]` in [`Change::UpdateConnection`].
pub(super) const MPTSRV: &str = "mptsrv";

/// The steps from one configuration to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in the order in which they have to be made: removals free their names, addresses and tuples before additions.
    pub changes: Vec<Change>,
    /// Keys that changed but take effect only when the daemon is started again.
    pub restart: Vec<String>,
}

/// One step. Whatever holds an old thing finds it by its name; new things are given complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A path goes. When `replaced`, an [`Change::AddPath`] of the same names follows.
    RemovePath {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// True if it comes back with other addresses or ports; its random source port should be kept for it.
        replaced: bool,
    },
    /// A connection goes with its paths. When `replaced`, an [`Change::AddConnection`] of the same name follows.
    RemoveConnection {
        /// Its name.
        connection: String,
        /// True if it comes back with another device or key; the random source ports of its paths should be kept.
        replaced: bool,
    },
    /// A device goes; its connections went before.
    RemoveDevice {
        /// Its name.
        device: String,
    },
    /// The daemon's own values that can change in flight.
    UpdateDaemon {
        /// The new values.
        daemon: Box<Daemon>,
        /// The keys that differ.
        changed: Vec<&'static str>,
    },
    /// A client, pool or controller comes, goes or gets other values. Connections of clients that may go on do.
    Policy {
        /// "client", "pool" or "controller".
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its fate.
        step: Step,
    },
    /// A device gets other addresses or another MTU.
    UpdateDevice(Device),
    /// A device comes.
    AddDevice(Device),
    /// A connection gets other values, all of which can change in flight: everything but its name, device and key. Its
    /// paths have steps of their own; sequence numbers go on.
    UpdateConnection {
        /// The new values.
        connection: Box<Connection>,
        /// The keys that differ; those of its peer as "peer.keepalive", other tables by their names.
        changed: Vec<String>,
    },
    /// A connection comes with its paths.
    AddConnection(Box<Connection>),
    /// A path gets other values that can change in flight: weights, tier, MTU, administrative state.
    UpdatePath {
        /// Name of its connection.
        connection: String,
        /// The new values.
        path: Box<Path>,
        /// The keys that differ.
        changed: Vec<&'static str>,
    },
    /// A path comes.
    AddPath {
        /// Name of its connection.
        connection: String,
        /// The new path.
        path: Box<Path>,
    },
}

/// The fate of a client, pool or controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is added.
    Added,
    /// It is removed.
    Removed,
    /// These keys of it change.
    Changed(Vec<&'static str>),
}

/// The steps from `old` to `new`. Empty when they are equal.
pub fn diff(old: &Config, new: &Config) -> Plan {
    let mut plan = Plan::default();
    daemon(&old.daemon, &new.daemon, &mut plan);
    policy("pool", &old.pools, &new.pools, &mut plan);
    policy("client", &old.clients, &new.clients, &mut plan);
    policy("controller", &old.controllers, &new.controllers, &mut plan);
    // Gathered apart, since removals of any kind come before additions of any kind.
    let mut gone = Vec::new();
    let mut changed = Vec::new();
    let mut come = Vec::new();
    for before in &old.connections {
        let name = || before.name.clone();
        match new.connection(&before.name) {
            Some(after) if same_identity(before, after) => {
                connection(before, after, &mut gone, &mut changed, &mut come);
            }
            other => {
                gone.push(Change::RemoveConnection {
                    connection: name(),
                    replaced: other.is_some(),
                });
            }
        }
    }
    for before in old.devices.iter().filter(|device| new.device(&device.name).is_none()) {
        gone.push(Change::RemoveDevice { device: before.name.clone() });
    }
    let mut devices = Vec::new();
    for after in &new.devices {
        match old.device(&after.name) {
            Some(before) if before == after => {}
            Some(_) => devices.push(Change::UpdateDevice(after.clone())),
            None => devices.push(Change::AddDevice(after.clone())),
        }
    }
    for after in &new.connections {
        if old.connection(&after.name).is_none_or(|before| !same_identity(before, after)) {
            come.push(Change::AddConnection(Box::new(after.clone())));
        }
    }
    plan.changes.extend(gone.into_iter().chain(devices).chain(changed).chain(come));
    plan
}

fn daemon(old: &Daemon, new: &Daemon, plan: &mut Plan) {
    let restart = key::differing(Reload::Restart, old, new);
    plan.restart.extend(restart.into_iter().map(|key| format!("daemon.{key}")));
    let changed = key::differing(Reload::InFlight, old, new);
    if !changed.is_empty() {
        plan.changes.push(Change::UpdateDaemon { daemon: Box::new(new.clone()), changed });
    }
}

/// Clients, pools and controllers.
trait Policy: Keys {
    fn name(&self) -> &str;
}

impl Policy for Client {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Policy for Pool {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Policy for Controller {
    fn name(&self) -> &str {
        &self.name
    }
}

fn policy<T: Policy>(kind: &'static str, old: &[T], new: &[T], plan: &mut Plan) {
    let find = |all: &[T], name: &str| all.iter().position(|it| it.name() == name);
    let mut push = |it: &T, step: Step| {
        plan.changes.push(Change::Policy { kind, name: it.name().to_owned(), step });
    };
    for gone in old.iter().filter(|it| find(new, it.name()).is_none()) {
        push(gone, Step::Removed);
    }
    for after in new {
        let changed = |index: usize| key::differing(Reload::InFlight, &old[index], after);
        match find(old, after.name()).map(changed) {
            None => push(after, Step::Added),
            Some(changed) if changed.is_empty() => {}
            Some(changed) => push(after, Step::Changed(changed)),
        }
    }
}

/// True if the connection can go on as the one it was: it stays on its device, its peer still knows it by its key, and is
/// the same as before.
fn same_identity(old: &Connection, new: &Connection) -> bool {
    let same_peer = match (&old.peer, &new.peer) {
        (Some(old), Some(new)) => key::differing(Reload::Replaced, old, new).is_empty(),
        (old, new) => old.is_some() == new.is_some(),
    };
    same_peer && key::differing(Reload::Replaced, old, new).is_empty()
}

fn connection(
    old: &Connection,
    new: &Connection,
    gone: &mut Vec<Change>,
    changed: &mut Vec<Change>,
    come: &mut Vec<Change>,
) {
    // Either both have one or neither: else it is not the same connection.
    let peers = old.peer.as_ref().zip(new.peer.as_ref());
    let own = key::differing(Reload::InFlight, old, new).into_iter().map(str::to_owned);
    let of_peer = peers.map(|(old, new)| key::differing(Reload::InFlight, old, new));
    let of_peer = of_peer.into_iter().flatten().map(|key| format!("{OF_PEER}{key}"));
    let classes = |it: &Connection| {
        (it.selectors.clone(), it.prompt.clone(), it.protected.clone(), it.unprotected.clone())
    };
    let select = (classes(old) != classes(new)).then(|| SELECT.to_owned());
    let compat = (old.compat != new.compat).then(|| MPTSRV.to_owned());
    let keys: Vec<_> = own.chain(select).chain(compat).chain(of_peer).collect();
    if !keys.is_empty() {
        changed.push(Change::UpdateConnection { connection: Box::new(new.clone()), changed: keys });
    }
    let name = || new.name.clone();
    for before in &old.paths {
        let after = new.path(&before.name);
        if after.is_none_or(|after| !same_sockets(before, after)) {
            gone.push(Change::RemovePath {
                connection: name(),
                path: before.name.clone(),
                replaced: after.is_some(),
            });
        }
    }
    for after in &new.paths {
        let path = || Box::new(after.clone());
        match old.path(&after.name) {
            Some(before) if same_sockets(before, after) => {
                let keys = key::differing(Reload::InFlight, before, after);
                if !keys.is_empty() {
                    changed.push(Change::UpdatePath {
                        connection: name(),
                        path: path(),
                        changed: keys,
                    });
                }
            }
            _ => come.push(Change::AddPath { connection: name(), path: path() }),
        }
    }
}

/// True if the path can go on with the sockets it has.
fn same_sockets(old: &Path, new: &Path) -> bool {
    key::differing(Reload::Replaced, old, new).is_empty()
}

impl Change {
    /// Returns the names of the connection and the path that it is about.
    pub fn place(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Change::RemovePath { connection, path, .. } => (Some(connection), Some(path)),
            Change::UpdatePath { connection, path, .. } | Change::AddPath { connection, path } => {
                (Some(connection), Some(&path.name))
            }
            Change::RemoveConnection { connection, .. } => (Some(connection), None),
            Change::UpdateConnection { connection, .. } | Change::AddConnection(connection) => {
                (Some(&connection.name), None)
            }
            Change::RemoveDevice { .. }
            | Change::UpdateDaemon { .. }
            | Change::Policy { .. }
            | Change::UpdateDevice(_)
            | Change::AddDevice(_) => (None, None),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::RemovePath { connection, path, replaced: true } => {
                write!(f, "connection {connection}: path {path} taken down to be replaced")
            }
            Change::RemovePath { connection, path, replaced: false } => {
                write!(f, "connection {connection}: path {path} removed")
            }
            Change::RemoveConnection { connection, replaced: true } => {
                write!(f, "connection {connection} taken down to be replaced")
            }
            Change::RemoveConnection { connection, replaced: false } => {
                write!(f, "connection {connection} removed")
            }
            Change::RemoveDevice { device } => write!(f, "device {device} removed"),
            Change::UpdateDaemon { changed, .. } => {
                write!(f, "daemon: {} changed", changed.join(", "))
            }
            Change::Policy { kind, name, step: Step::Added } => write!(f, "{kind} {name} added"),
            Change::Policy { kind, name, step: Step::Removed } => {
                write!(f, "{kind} {name} removed")
            }
            Change::Policy { kind, name, step: Step::Changed(changed) } => {
                write!(f, "{kind} {name}: {} changed", changed.join(", "))
            }
            Change::UpdateDevice(device) => write!(f, "device {} changed", device.name),
            Change::AddDevice(device) => write!(f, "device {} added", device.name),
            Change::UpdateConnection { connection, changed } => {
                write!(f, "connection {}: {} changed", connection.name, changed.join(", "))
            }
            Change::AddConnection(connection) => write!(f, "connection {} added", connection.name),
            Change::UpdatePath { connection, path, changed } => {
                write!(
                    f,
                    "connection {connection}: path {}: {} changed",
                    path.name,
                    changed.join(", ")
                )
            }
            Change::AddPath { connection, path } => {
                write!(f, "connection {connection}: path {} added", path.name)
            }
        }
    }
}
