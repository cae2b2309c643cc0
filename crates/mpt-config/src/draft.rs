//! A configuration that is read, but not yet checked as a whole.

use ipnet::IpNet;

use super::peers::{Client, Controller, Peer, Pool};
use super::reader::{Lines, Located};
use super::types::{Connection, Daemon, Device, Fec, Late, Path, PortRange, Selector};

/// The file, read but not yet checked as a whole.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) daemon: Daemon,
    pub(super) devices: Vec<Located<Device>>,
    pub(super) connections: Vec<ConnectionDraft>,
    pub(super) clients: Vec<Located<Client>>,
    pub(super) pools: Vec<Located<Pool>>,
    pub(super) controllers: Vec<Located<Controller>>,
}

/// A connection; its `selectors` and `paths` are still empty.
pub(super) struct ConnectionDraft {
    pub(super) connection: Connection,
    pub(super) lines: Lines,
    pub(super) selects: Vec<Located<Select>>,
    /// For each of the selectors, the key and the line it comes from.
    pub(super) origins: Vec<(&'static str, usize)>,
    pub(super) paths: Vec<Located<Path>>,
    /// Where `connection.peer` stands, if it is there and good.
    pub(super) peer: Option<Lines>,
    /// Where `connection.mptsrv` stands, if the other end is the prototype.
    pub(super) compat: Option<Lines>,
    /// True if it was checked before, and its selectors are there: a change at run time adds to it.
    pub(super) is_running: bool,
}

/// `[[connection.select]]`
#[derive(Debug, Default)]
pub(super) struct Select {
    pub(super) destination: Option<IpNet>,
    pub(super) source: Option<IpNet>,
    pub(super) protocol: Option<u8>,
    pub(super) source_port: Option<PortRange>,
    pub(super) destination_port: Option<PortRange>,
    pub(super) dscp: Option<u8>,
    pub(super) late: Late,
    pub(super) fec: Fec,
}

impl ConnectionDraft {
    /// Returns the peer, and where it stands.
    pub(super) fn peer(&self) -> Option<(&Peer, &Lines)> {
        self.connection.peer.as_ref().zip(self.peer.as_ref())
    }
}

impl Select {
    /// Returns the table that says one of the selectors of a connection.
    pub(super) fn of(selector: &Selector, connection: &Connection) -> Self {
        let late = match connection.prompt.contains(selector) {
            true => Late::Deliver,
            false => Late::Wait,
        };
        let fec = if connection.protected.contains(selector) {
            Fec::On
        } else if connection.unprotected.contains(selector) {
            Fec::Off
        } else {
            Fec::Auto
        };
        let Selector { destination, source, protocol, source_port, destination_port, dscp } =
            *selector;
        let destination = Some(destination);
        Select { destination, source, protocol, source_port, destination_port, dscp, late, fec }
    }
}
