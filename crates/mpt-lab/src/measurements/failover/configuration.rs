//! Configuration files of the daemons.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::network::Network;
use crate::processes::daemon::Tunnel;
use crate::topology::End;

/// The key of an end, and the key of the peer that it expects.
#[derive(Debug)]
pub(super) struct Identity {
    /// File of its private key.
    pub(super) file: PathBuf,
    /// Public key of the peer, in base64.
    pub(super) peer: String,
}

/// The configuration of the peer at an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The peer's addresses, which stay.
    Peer,
    /// The peer's addresses, while the own ones may change.
    Client,
    /// Only the peer's key.
    Server,
}

/// Returns the configuration of one connection over all lines, with every key that is not named
/// here at its default.
pub(super) fn text(
    network: &Network,
    end: End,
    role: Role,
    identity: Option<&Identity>,
    socket: &Path,
) -> String {
    let name = Tunnel::NAME;
    let (here, there) = (Tunnel::address(end), Tunnel::address(end.other()));
    let mut text = format!("[daemon]\ncontrol_socket = {socket:?}\n");
    // Writing to a String cannot fail.
    if let Some(identity) = identity {
        let _ = writeln!(text, "private_key_file = {:?}", identity.file);
    }
    let _ = write!(
        text,
        "\n[[device]]\nname = \"{name}\"\naddresses = [\"{here}/24\"]\n\n\
         [[connection]]\nname = \"{name}\"\ndevice = \"{name}\"\nnetworks = [\"{there}/32\"]\n"
    );
    if let Some(identity) = identity {
        // The captures are searched for the numbers of the packets inside.
        let _ = write!(
            text,
            "seal = \"off\"\n\n[connection.peer]\npublic_key = \"{}\"\n",
            identity.peer
        );
    }
    for line in 0..network.lines() {
        let interface = Network::interface(line);
        let _ = write!(text, "\n[[connection.path]]\nname = \"{interface}\"\n");
        let (local, remote) = (network.address(line, end), network.remote(line, end));
        let _ = match role {
            Role::Peer => writeln!(text, "local = \"{local}\"\nremote = \"{remote}\""),
            Role::Client => {
                writeln!(text, "interface = \"{interface}\"\nremote = \"{remote}\"\nnat = true")
            }
            Role::Server => writeln!(text, "local = \"{local}\""),
        };
    }
    text
}
