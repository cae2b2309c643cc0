//! A configuration that is read, but not yet checked as a whole.

use ipnet::IpNet;

use crate::peers::{Client, Controller, Peer, Pool};
use crate::syntax::reader::{Lines, Located};
use crate::types::{Connection, Daemon, Device, Fec, Late, Path, PortRange, Selector};

/// The file, read but not yet checked as a whole.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) daemon: Daemon,
    pub(crate) devices: Vec<Located<Device>>,
    pub(crate) connections: Vec<ConnectionDraft>,
    pub(crate) clients: Vec<Located<Client>>,
    pub(crate) pools: Vec<Located<Pool>>,
    pub(crate) controllers: Vec<Located<Controller>>,
}

/// A connection; its `selectors` and `paths` are still empty.
pub(crate) struct ConnectionDraft {
    pub(crate) connection: Connection,
    pub(crate) lines: Lines,
    pub(crate) selects: Vec<Located<Select>>,
    /// The key and the line that each of the selectors comes from.
    pub(crate) origins: Vec<(&'static str, usize)>,
    pub(crate) paths: Vec<Located<Path>>,
    /// The place of `connection.peer`, if it is there and good.
    pub(crate) peer: Option<Lines>,
    /// The place of `connection.mptsrv`, if the peer is the prototype.
    pub(crate) compat: Option<Lines>,
    /// True if it was checked before, and its selectors are there: a change at run time adds to it.
    pub(crate) is_running: bool,
}

/// `[[connection.select]]`
#[derive(Debug, Default)]
pub(crate) struct Select {
    pub(crate) destination: Option<IpNet>,
    pub(crate) source: Option<IpNet>,
    pub(crate) protocol: Option<u8>,
    pub(crate) source_port: Option<PortRange>,
    pub(crate) destination_port: Option<PortRange>,
    pub(crate) dscp: Option<u8>,
    pub(crate) late: Late,
    pub(crate) fec: Fec,
}

impl ConnectionDraft {
    /// Returns the peer, and where it stands.
    pub(crate) fn peer(&self) -> Option<(&Peer, &Lines)> {
        self.connection.peer.as_ref().zip(self.peer.as_ref())
    }
}

impl Select {
    /// Returns the table that says one of the selectors of a connection.
    pub(crate) fn of(selector: &Selector, connection: &Connection) -> Self {
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
