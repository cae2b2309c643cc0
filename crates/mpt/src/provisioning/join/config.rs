//! The configuration of a client.

use std::path::Path;

use ipnet::IpNet;

use super::line::Line;
use crate::client::Failed;
use crate::command_line::args::{Daemon, quoted};
use crate::provisioning::setup::args::{Fallback, Join};
use crate::provisioning::setup::host::uplinks::Uplink;
use crate::provisioning::setup::purpose::DEVICE;
use crate::provisioning::setup::server::where_things_are;

/// Name of the connection.
pub(super) const CONNECTION: &str = "server";

/// The text of it: one path over each uplink. `offered` are the networks of the server.
pub(super) fn text(
    wanted: &Join,
    fallback: Fallback,
    daemon: &Daemon,
    line: &Line,
    uplinks: &[Uplink],
    offered: &[IpNet],
    key: &Path,
) -> Result<String, Failed> {
    let networks = if wanted.networks.is_empty() { offered } else { &wanted.networks };
    let networks: Vec<_> = networks.iter().map(|network| format!("\"{network}\"")).collect();
    let fallback = match fallback {
        Fallback::Direct => "direct",
        Fallback::Block => "block",
    };
    let own = where_things_are(daemon, key)?;
    let own = if own.is_empty() { own } else { format!("[daemon]\n{own}\n") };
    let mut text = format!(
        "# Made by mpt join. docs/operations.md and man mpt.toml explain the keys.\n\
         {own}\
         [[device]]\n\
         name = \"{DEVICE}\"\n\
         addresses = \"assigned\"\n\n\
         [[connection]]\n\
         name = \"{CONNECTION}\"\n\
         networks = [{}]\n\
         mapping = \"adaptive\"\n\
         seal = \"require\"\n\
         fallback = \"{fallback}\"\n\n\
         [connection.peer]\n\
         public_key = \"{}\"\n\
         create = true\n",
        networks.join(", "),
        line.key(),
    );
    for uplink in uplinks {
        let name = quoted(&uplink.name);
        text += &format!(
            "\n[[connection.path]]\nname = {name}\ninterface = {name}\nremote = {}\nremote_port = {}\n",
            quoted(&line.host),
            line.port
        );
    }
    Ok(text)
}
