//! Connections whose peer is the papers' prototype, on the data thread: keepalives among the data, commands on sockets of their own.

use std::collections::BTreeMap;
use std::time::Instant;

use mpt_api::snapshot as api;
use mpt_config as config;
use mpt_core::SocketId;
use mpt_core::compat::{Config, Create, PathConfig};
use mpt_wire::compat::MAX_DATAGRAM_LEN;

use crate::data::reporting::snapshot;
use crate::data::sockets::command_sockets::{CommandSockets, Prototypes};
use crate::data::system::{BatchSocket, System};
use crate::data::{DataPath, Wanted};

/// Reads from one command socket in a round: a flood of commands must not hold up the packets.
const READS_PER_ROUND: usize = 16;
/// Errors taken from a command socket in a round.
const ERRORS_PER_ROUND: usize = 16;
/// Room for what the kernel has joined of equal datagrams.
const READ_LEN: usize = 16 * MAX_DATAGRAM_LEN;

impl<S: System> DataPath<S> {
    /// Makes the connections to prototypes those of the list; `sockets` were opened for it.
    pub(in crate::data) fn follow_prototypes(
        &mut self,
        now: Instant,
        wanted: &[Wanted],
        sockets: CommandSockets,
    ) {
        let mut by_path = BTreeMap::new();
        let mut configs = Vec::new();
        for Wanted { config: connection, .. } in wanted {
            let Some(compat) = &connection.compat else { continue };
            let mut paths = Vec::new();
            for path in &connection.paths {
                let Ok(id) = self.find_path(&connection.name, &path.name) else { continue };
                // With the prototype there is no name and no session: checked.
                let Some(remote) = path.remote.address() else { continue };
                let names = (connection.name.clone(), path.name.clone());
                by_path.extend(sockets.0.get(&names).map(|&socket| (id, socket)));
                paths.push(PathConfig {
                    id,
                    name: path.name.clone(),
                    // One of the two is there: checked.
                    public: path.public.or(path.local).unwrap_or(compat.local),
                    remote,
                    usable: self.node.is_usable(id),
                });
            }
            configs.push(Config {
                name: connection.name.clone(),
                local: compat.local,
                remote: compat.remote,
                command_port: compat.remote_command_port,
                authentication: compat.authentication.clone(),
                keepalive: compat.keepalive,
                dead: compat.dead,
                create: compat.create.as_ref().map(|it| create(connection, compat, it)),
                paths,
            });
        }
        let before = std::mem::replace(&mut self.prototypes.by_path, by_path);
        before.into_values().for_each(|id| self.prototypes.sockets.close(&self.system, id));
        self.node.set_prototypes(now, configs);
    }

    /// Reads what came to a command socket.
    pub(in crate::data) fn read_commands(&mut self, now: Instant, id: SocketId, error: bool) {
        let Prototypes { sockets, buffer, .. } = &mut self.prototypes;
        let Some(socket) = sockets.socket(id) else { return };
        if error {
            // The answer that does not come says as much.
            for _ in 0..ERRORS_PER_ROUND {
                if !matches!(socket.take_error(&mut []), Ok(Some(_))) {
                    break;
                }
            }
        }
        buffer.resize(READ_LEN, 0);
        for _ in 0..READS_PER_ROUND {
            let Ok(read) = socket.receive(buffer) else { return };
            let whole = &buffer[..read.len.min(READ_LEN)];
            for datagram in whole.chunks(read.datagram_len.max(1)) {
                self.node.handle_command(now, id, read.source, datagram);
            }
        }
    }

    /// Returns what is known of the peer of a connection that is the prototype.
    pub(in crate::data) fn show_prototype(
        &self,
        config: &config::Connection,
    ) -> Option<api::Compat> {
        let compat = config.compat.as_ref()?;
        let view = self.node.prototypes().view(self.system.now(), &config.name)?;
        let milliseconds =
            |age: std::time::Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Some(api::Compat {
            protocol: "mptsrv".into(),
            authentication: compat.authentication_word().into(),
            telling: view.busy,
            heard_ms: view.heard.into_iter().map(|(path, age)| (path, milliseconds(age))).collect(),
            counters: snapshot::counters(view.counters.iter()),
        })
    }

    /// Commands that belong to no connection.
    pub(in crate::data) fn prototype_drops(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let counters = self.node.prototypes().counters().iter();
        counters.map(|(name, value)| (format!("mptsrv_{name}"), value))
    }
}

/// Returns what a connection says of itself when it is created.
fn create(
    connection: &config::Connection,
    compat: &config::Compat,
    create: &config::Create,
) -> Create {
    // All paths have the same: checked.
    let ports = connection.paths.first().map_or((0, 0), |it| (it.local_port, it.remote_port));
    Create {
        authentication: create.authentication.clone(),
        ask: create.ask,
        data_port: ports.0,
        remote_data_port: ports.1,
        command_port: compat.command_port,
        window: connection.reorder.window(),
        max_delay: connection.reorder.max_delay(),
        weights: connection.paths.iter().map(|path| (path.weight, path.weight_in)).collect(),
    }
}
