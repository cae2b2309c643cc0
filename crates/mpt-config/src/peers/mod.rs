//! The tables of those that may hold a session with this host: peers of connections, clients whose connections are created on
//! demand, and controllers.

pub(super) mod check;
pub(super) mod parse;

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use mpt_api::{Mapping, Permission, Repair, Seal};
use mpt_core::session::{PresharedKey, PublicKey};

use super::types::reorder::Reorder;

/// `[connection.peer]`: the peer of a connection, known by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its public key. Never the one of this host.
    pub public_key: PublicKey,
    /// The pre-shared key, if there is one.
    pub psk: Option<PresharedKey>,
    /// The file that holds the pre-shared key.
    pub psk_file: Option<PathBuf>,
    /// True if this host initiates the session. Then every path has a remote address or name.
    pub initiate: bool,
    /// True if the peer is asked to create the connection. Then this host initiates.
    pub create: bool,
    /// Intervals of the probes.
    pub timing: Timing,
    /// True if the weights that the peer wishes (its `weight_in`) are taken over.
    pub follow_weights: bool,
}

/// The intervals of the probes, and the time after which a path is declared dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Probe interval while packets flow; zero: no probes, so that only carrier and administrator decide.
    pub keepalive: Duration,
    /// Probe interval while no packets flow. Not shorter than `keepalive`.
    pub idle_keepalive: Duration,
    /// Time without confirmation after which a path is dead; `None`: as its round-trip time suggests. Longer than `keepalive`.
    pub dead: Option<Duration>,
}

/// `[[client]]`: a peer that may have connections created here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Unique name.
    pub name: String,
    /// Its public key. Differs from those of all other clients.
    pub public_key: PublicKey,
    /// The pre-shared key, if there is one.
    pub psk: Option<PresharedKey>,
    /// The file that holds the pre-shared key.
    pub psk_file: Option<PathBuf>,
    /// Name of the TUN device of its connections.
    pub device: String,
    /// The source of its inner addresses.
    pub addresses: Addresses,
    /// Networks behind it. Host bits are zero.
    pub networks: Vec<IpNet>,
    /// The most connections at one time, from 1.
    pub max_connections: u16,
    /// The most paths of a connection, from 1 to 128.
    pub max_paths: u16,
    /// The largest weight it may give a path.
    pub max_weight: u16,
    /// Sealing of the data of its connections.
    pub seal: Seal,
    /// The mappings it may ask for. Not empty.
    pub mappings: Vec<Mapping>,
    /// Treatment of lost packets to it, with adaptive mapping.
    pub repair: Repair,
    /// Time of silence on all its paths after which a connection is removed.
    pub silent: Duration,
    /// Intervals of the probes from this host.
    pub timing: Timing,
    /// The receive window of its connections.
    pub reorder: Reorder,
}

/// Inner addresses of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// These, with the prefix length of their network. Not empty; only with a single connection.
    Fixed(Vec<IpNet>),
    /// One of each network of the `[[pool]]` of this name.
    Pool(String),
}

/// `[[pool]]`: inner addresses for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Unique name.
    pub name: String,
    /// The networks from which a client gets one address each; at most one of each family. Host bits are zero; no two
    /// pools overlap. The addresses of the devices and the fixed ones of clients are not given away.
    pub networks: Vec<IpNet>,
}

/// `[[controller]]`: a program elsewhere that may steer this daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Unique name.
    pub name: String,
    /// Its public key. Differs from those of all other controllers.
    pub public_key: PublicKey,
    /// The pre-shared key, if there is one.
    pub psk: Option<PresharedKey>,
    /// The file that holds the pre-shared key.
    pub psk_file: Option<PathBuf>,
    /// The requests that it may make, sorted.
    pub allow: Vec<Permission>,
}

impl Peer {
    /// Says whether a session with this peer can go on as one with the other.
    #[must_use]
    pub fn has_same_session(&self, other: &Peer) -> bool {
        let identity = |it: &Peer| (it.public_key, it.psk.clone(), it.initiate, it.create);
        identity(self) == identity(other)
    }
}
