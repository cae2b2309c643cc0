//! Sockets that two paths would have to share although they differ in the UDP checksum: whether it is sent belongs to a socket, and of
//! two sockets on one address and port only the later one receives.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::parse::draft::{ConnectionDraft, Draft};
use crate::syntax::reader::{Context, Located};
use crate::types::{Connection, Path, SourcePort};

/// Address and interface of a socket and its port.
type Place<'d> = (Option<IpAddr>, Option<&'d str>, u16);

/// The first user of a socket.
struct Owner<'d> {
    /// "path "dsl" of connection "office"".
    name: String,
    /// Line of its `udp_checksum`, or of its connection or key.
    line: usize,
    /// The connection; `None`: `daemon.listen`.
    connection: Option<&'d Connection>,
    /// True if the UDP checksum is sent.
    checksum: bool,
}

/// Reports paths that need a socket of another one with the other checksum.
pub(crate) fn check(context: &Context<'_>, draft: &Draft) {
    let mut owners: HashMap<Place<'_>, Owner<'_>> = HashMap::new();
    for &address in &draft.daemon.listen {
        let name = format!("daemon.listen = \"{address}\"");
        let owner = Owner { name, line: 0, connection: None, checksum: true };
        owners.insert((Some(address), None, draft.daemon.port), owner);
    }
    for ConnectionDraft { connection, lines, paths, .. } in &draft.connections {
        let line = match lines.has("udp_checksum") {
            true => lines.of("udp_checksum"),
            false => lines.header(),
        };
        for Located { value: path, .. } in paths {
            for (port, checksum) in ports(connection, path) {
                let place = (path.local, path.interface.as_deref(), port);
                let name = format!("path \"{}\" of connection \"{}\"", path.name, connection.name);
                match owners.get(&place) {
                    Some(owner) if owner.checksum != checksum => {
                        report(context, (line, connection), &name, owner, port);
                    }
                    Some(_) => {}
                    None => {
                        let connection = Some(connection);
                        owners.insert(place, Owner { name, line, connection, checksum });
                    }
                }
            }
        }
    }
}

fn report(
    context: &Context<'_>,
    (line, connection): (usize, &Connection),
    name: &str,
    owner: &Owner<'_>,
    port: u16,
) {
    let place = match owner.line {
        0 => String::new(),
        line => format!(", line {line}"),
    };
    let how = match owner.connection {
        Some(_) => "the same udp_checksum in both connections",
        None => "udp_checksum = true",
    };
    let message = format!(
        "{}, but {name} and {} ({}{place}) have one local address and port {port}, and the checksum belongs to the socket; \
         write {how}, or another local_port for one of them",
        connection.udp_checksum, owner.name, owner.checksum
    );
    context.error(line, "connection.udp_checksum", message);
}

/// The fixed ports of a path, and whether their sockets send the checksum.
fn ports(connection: &Connection, path: &Path) -> Vec<(u16, bool)> {
    let checksum = connection.udp_checksum || path.is_ipv6();
    match path.source_port {
        SourcePort::Fixed(port) if port == path.local_port => vec![(port, checksum)],
        // Nothing is sent from the port on which it listens.
        SourcePort::Fixed(port) => vec![(path.local_port, true), (port, checksum)],
        SourcePort::Random | SourcePort::Entropy => vec![(path.local_port, true)],
    }
}
