//! Changes at run time: what the control socket asks for is put into effect as a whole or not at all, as a reload is, and stays until the file says otherwise.

use std::time::Duration;

use mpt_api::{Changed, Code, Failure, Mapping, PathChange};
use mpt_config::{self as config, Config, ConfigErrors, diff, read_key_file};

use crate::control::command::Change;
use crate::daemon::{Daemon, Error};

impl Daemon {
    /// Does what a client asks for; nothing when it cannot be done.
    pub(in crate::daemon) async fn change(&mut self, change: Change) -> Result<Changed, Failure> {
        match change {
            Change::AddPath { connection, toml } => {
                self.find(&connection)?;
                let amended = config::add_path(&self.running, &connection, &toml, &read_key_file);
                self.take(amended).await
            }
            Change::CreateConnection { toml } => {
                let amended = config::add_connection(&self.running, &toml, &read_key_file);
                self.take(amended).await
            }
            Change::DeletePath { connection, path } => self.delete_path(&connection, &path).await,
            Change::DisconnectClient { client } => self.disconnect_client(&client).await,
            Change::RevokeToken { token } => self.revoke_token(&token).await,
            Change::DeleteConnection { connection } => {
                if let Some(session) = self.clients.find_shown(&connection) {
                    return self.delete_of_client(session).await;
                }
                self.find(&connection)?;
                let mut next = self.running.clone();
                next.connections.retain(|it| it.name != connection);
                self.go_on_with(next).await
            }
            Change::SetInterface { interface, up } => self.set_interface(&interface, up).await,
            Change::SetKeepalive { connection, path, keepalive } => {
                self.set_keepalive(&connection, path.as_deref(), keepalive).await
            }
            Change::SaveConnection { connection } => self.save_connection(&connection),
        }
    }

    /// Goes over to a configuration with something added.
    async fn take(
        &mut self,
        amended: Result<config::Amended, ConfigErrors>,
    ) -> Result<Changed, Failure> {
        let amended = amended.map_err(|errors| Failure::new(Code::Config, errors.to_string()))?;
        let mut done = self.go_on_with(amended.config).await?;
        done.warnings = amended.warnings.iter().map(ToString::to_string).collect();
        Ok(done)
    }

    /// Goes over to another configuration, which the file knows nothing of.
    async fn go_on_with(&mut self, next: Config) -> Result<Changed, Failure> {
        let plan = diff(&self.running, &next);
        self.put_into_effect(next).await.map_err(failed)?;
        for change in &plan.changes {
            self.tell_change(change);
        }
        let changes = plan.changes.iter().map(ToString::to_string).collect();
        Ok(Changed { changes, warnings: Vec::new() })
    }

    async fn delete_path(&mut self, connection: &str, path: &str) -> Result<Changed, Failure> {
        let found = self.find(connection)?;
        if found.path(path).is_none() {
            return Err(no_path(connection, path));
        }
        if found.paths.len() == 1 {
            let message = format!(
                "path \"{path}\" is the last of connection \"{connection}\"; delete the connection"
            );
            return Err(Failure::new(Code::BadRequest, message));
        }
        let mut next = self.running.clone();
        for it in next.connections.iter_mut().filter(|it| it.name == connection) {
            it.paths.retain(|it| it.name != path);
        }
        self.go_on_with(next).await
    }

    /// Sets all paths on an interface up or down, whether they name it or have its address.
    async fn set_interface(&mut self, interface: &str, up: bool) -> Result<Changed, Failure> {
        let links = self.network.links();
        let on_it = |path: &config::Path| {
            path.interface.as_deref() == Some(interface)
                || links.of(path).is_some_and(|link| link.name == interface)
        };
        let mut paths = Vec::new();
        for connection in &self.running.connections {
            let of_it = connection.paths.iter().filter(|path| on_it(path));
            paths.extend(of_it.map(|path| (connection.name.clone(), path.name.clone())));
        }
        if paths.is_empty() {
            return Err(Failure::new(Code::NotFound, format!("no path runs over {interface}")));
        }
        let before = self.running.clone();
        for (connection, path) in &paths {
            let change = PathChange { up: Some(up), ..PathChange::default() };
            self.set_path(connection, path, change).await?;
        }
        let changes = diff(&before, &self.running).changes;
        Ok(Changed {
            changes: changes.iter().map(ToString::to_string).collect(),
            ..Changed::default()
        })
    }

    async fn set_keepalive(
        &mut self,
        connection: &str,
        path: Option<&str>,
        keepalive: Duration,
    ) -> Result<Changed, Failure> {
        let bad = |message: String| Err(Failure::new(Code::BadRequest, message));
        let found = self.find(connection)?;
        let Some(peer) = &found.peer else {
            return bad(format!("connection \"{connection}\" has no session: nothing is probed"));
        };
        if path.is_some_and(|path| found.path(path).is_none()) {
            return Err(no_path(connection, path.unwrap_or_default()));
        }
        if path.is_some() && found.paths.len() > 1 {
            return bad("the keepalive is that of all paths of a connection; name no path".into());
        }
        if peer.timing.dead.is_some_and(|dead| keepalive >= dead) {
            return bad(format!(
                "a path of connection \"{connection}\" is dead after {}; the keepalive has to be shorter",
                config::time_text(peer.timing.dead.unwrap_or_default())
            ));
        }
        let mut next = self.running.clone();
        for it in next.connections.iter_mut().filter(|it| it.name == connection) {
            if let Some(peer) = &mut it.peer {
                peer.timing.keepalive = keepalive;
                peer.timing.idle_keepalive = peer.timing.idle_keepalive.max(keepalive);
            }
        }
        self.go_on_with(next).await
    }

    /// Writes a connection into the file, or takes out one that was deleted.
    fn save_connection(&mut self, connection: &str) -> Result<Changed, Failure> {
        if self.loaded.connection(connection).is_none() {
            self.find(connection)?;
        }
        let name = self.file.display().to_string();
        let io = |error: std::io::Error| Failure::new(Code::Failed, format!("{name}: {error}"));
        let bad = |errors: ConfigErrors| Failure::new(Code::Config, errors.to_string());
        let text = std::fs::read_to_string(&self.file).map_err(io)?;
        let saved = config::save(&name, &text, &self.running, connection, &read_key_file);
        let Some(text) = saved.map_err(bad)? else { return Ok(Changed::default()) };
        config::write_file(&self.file, &text).map_err(io)?;
        // The file now says of this connection what runs. Other changes in the file wait for a reload.
        let written = config::load(&self.file).map_err(bad)?.config;
        self.loaded.connections.retain(|it| it.name != connection);
        self.loaded.connections.extend(written.connection(connection).cloned());
        tracing::info!(connection, file = name, "saved");
        let change = format!("connection {connection}: saved in {name}");
        Ok(Changed { changes: vec![change], warnings: Vec::new() })
    }

    fn find(&self, connection: &str) -> Result<&config::Connection, Failure> {
        self.running.connection(connection).ok_or_else(|| {
            let held = self.clients.find_shown(connection).and_then(|it| self.clients.get(it));
            match held {
                Some(held) => {
                    let client = &held.name.client;
                    let message = format!(
                        "connection \"{connection}\" is made by client {client}: only its weights and tiers can be changed here; \
                         delete it, or change [[client]] {client} and reload"
                    );
                    Failure::new(Code::BadRequest, message)
                }
                None => {
                    let message = format!("there is no connection \"{connection}\"");
                    Failure::new(Code::NotFound, message)
                }
            }
        })
    }
}

/// Returns what a file says, with what was changed by hand since `loaded` was read: by hand it became `running`. Whatever the file changes, it decides.
/// A connection of the file that was deleted by hand comes back as the file has it.
pub(in crate::daemon) fn keep_changes_by_hand(
    loaded: &Config,
    running: &Config,
    file: &Config,
) -> Config {
    let mut next = file.clone();
    for connection in &mut next.connections {
        let (Some(loaded), Some(running)) =
            (loaded.connection(&connection.name), running.connection(&connection.name))
        else {
            continue;
        };
        keep_paths(loaded, running, connection);
        if let (Some(file), Some(loaded), Some(running)) =
            (&mut connection.peer, &loaded.peer, &running.peer)
        {
            keep(&mut file.timing, &loaded.timing, &running.timing);
        }
        // The server has assigned it.
        let peer = |it: &config::Connection| it.peer.as_ref().map(|peer| peer.public_key);
        if connection.is_created_on_demand()
            && running.is_created_on_demand()
            && peer(connection) == peer(running)
            && connection.requested_key == running.requested_key
        {
            connection.key = running.key;
        }
    }
    for device in next.devices.iter_mut().filter(|device| device.assigned) {
        if let Some(running) = running.device(&device.name) {
            device.addresses.clone_from(&running.addresses);
        }
    }
    // Created by hand; without its device it cannot go on.
    let created = running.connections.iter().filter(|it| {
        loaded.connection(&it.name).is_none()
            && file.connection(&it.name).is_none()
            && file.device(&it.device).is_some()
    });
    next.connections.extend(created.cloned());
    // It was read for a connection created by hand.
    let file_of = |config: &Config| config.daemon.private_key_file.clone();
    if next.daemon.private_key.is_none()
        && next.connections.iter().any(|it| it.peer.is_some())
        && file_of(&next) == file_of(running)
    {
        next.daemon.private_key.clone_from(&running.daemon.private_key);
    }
    next
}

fn keep_paths(
    loaded: &config::Connection,
    running: &config::Connection,
    file: &mut config::Connection,
) {
    let kept = |path: &config::Path| {
        running.path(&path.name).is_some() || loaded.path(&path.name) != Some(path)
    };
    let added = running
        .paths
        .iter()
        .filter(|path| loaded.path(&path.name).is_none() && file.path(&path.name).is_none());
    let added: Vec<_> = added.cloned().collect();
    // A connection has a path: the last one cannot have been meant.
    if !added.is_empty() || file.paths.iter().any(kept) {
        file.paths.retain(kept);
    }
    for path in &mut file.paths {
        let (Some(loaded), Some(running)) = (loaded.path(&path.name), running.path(&path.name))
        else {
            continue;
        };
        keep(&mut path.weight, &loaded.weight, &running.weight);
        keep(&mut path.weight_in, &loaded.weight_in, &running.weight_in);
        // Together, since one bounds the other; and only where they still mean something.
        if file.mapping == Mapping::Adaptive {
            let bounds = |path: &config::Path| (path.max_rate, path.min_rate);
            let mut rates = bounds(path);
            keep(&mut rates, &bounds(loaded), &bounds(running));
            (path.max_rate, path.min_rate) = rates;
        }
        keep(&mut path.tier, &loaded.tier, &running.tier);
        keep(&mut path.up, &loaded.up, &running.up);
    }
    // A name that was resolved before keeps its address.
    for path in file.paths.iter_mut().filter(|path| path.remote.name().is_some()) {
        if let Some(running) = running.path(&path.name)
            && running.remote.name() == path.remote.name()
            && running.local.map(|it| it.is_ipv4()) == path.local.map(|it| it.is_ipv4())
        {
            path.remote = running.remote.clone();
        }
    }
    file.paths.extend(added);
}

/// A value changed by hand stays unless the file changes it.
fn keep<T: PartialEq + Clone>(file: &mut T, loaded: &T, running: &T) {
    if file == loaded {
        file.clone_from(running);
    }
}

fn failed(error: Error) -> Failure {
    Failure::new(Code::Failed, error.to_string())
}

fn no_path(connection: &str, path: &str) -> Failure {
    Failure::new(Code::NotFound, format!("connection \"{connection}\" has no path \"{path}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "[[device]]\nname = \"mpt0\"\naddresses = [\"10.9.0.1/30\"]\n";

    /// Connections with paths of these weights: `[("office", &[("dsl", 1)])]`.
    fn config(connections: &[(&str, &[(&str, u16)])]) -> Config {
        let mut text = DEVICE.to_owned();
        for (number, (name, paths)) in connections.iter().enumerate() {
            text += &format!(
                "[[connection]]\nname = \"{name}\"\nkey = {number}\nnetworks = [\"10.{number}.0.0/16\"]\n"
            );
            for (path, weight) in *paths {
                let host = path.len();
                text += &format!(
                    "[[connection.path]]\nname = \"{path}\"\nlocal = \"192.0.2.{host}\"\nremote = \"198.51.100.{host}\"\nweight = {weight}\n"
                );
            }
        }
        config::check_text("test", &text).unwrap().config
    }

    /// Returns what tells configurations apart in these tests, in one line.
    fn names(config: &Config) -> String {
        let mut names = String::new();
        for connection in &config.connections {
            names += &format!(" {}:", connection.name);
            for path in &connection.paths {
                names += &format!(" {}={}", path.name, path.weight);
            }
        }
        names
    }

    #[test]
    fn what_was_made_by_hand_stays() {
        let loaded = config(&[("a", &[("x", 1), ("xx", 1)]), ("b", &[("xxx", 1)])]);
        let running = config(&[("a", &[("x", 5), ("xxxx", 1)]), ("c", &[("xxxxx", 1)])]);
        let kept = keep_changes_by_hand(&loaded, &running, &loaded);
        // But for what the file has and was deleted.
        assert_eq!(
            names(&kept),
            " a: x=5 xxxx=1 b: xxx=1 c: xxxxx=1",
            "the file says what it said"
        );
    }

    #[test]
    fn what_a_server_assigned_stays_and_a_key_that_was_read_for_a_session_too() {
        let text = |key: &str| {
            format!(
                "[[device]]\nname = \"mpt0\"\naddresses = \"assigned\"\n[[connection]]\nname = \"a\"\n{key}\
                 networks = [\"10.9.0.0/24\"]\n[connection.peer]\ncreate = true\n\
                 public_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\n[[connection.path]]\nname = \"x\"\n\
                 local = \"192.0.2.1\"\nremote = \"198.51.100.1\"\n"
            )
        };
        let private = mpt_core::session::PrivateKey::from_seed([7; 32]);
        let read = |_: &std::path::Path| Ok(private.to_base64());
        let config = |key: &str| config::check_text_with("test", &text(key), &read).unwrap().config;
        let loaded = config("");
        let mut running = loaded.clone();
        running.connections[0].key = Some(77);
        let kept = keep_changes_by_hand(&loaded, &running, &loaded);
        assert_eq!(kept.connections[0].key, Some(77));
        let kept = keep_changes_by_hand(&loaded, &running, &config("key = 5\n"));
        assert_eq!(kept.connections[0].key, Some(5), "the file asks for another");

        // The connection with the only session was created by hand.
        let mut file = loaded;
        file.connections.clear();
        file.daemon.private_key = None;
        let kept = keep_changes_by_hand(&file, &running, &file);
        assert_eq!(kept.connections, running.connections);
        assert_eq!(kept.daemon.private_key, Some(private.clone()));
    }

    #[test]
    fn what_the_file_changes_it_decides() {
        let loaded = config(&[("a", &[("x", 1), ("xx", 1)]), ("b", &[("xxx", 1)])]);
        let running = config(&[("a", &[("x", 5)]), ("c", &[("xxxx", 1)])]);
        let file =
            config(&[("a", &[("x", 2), ("xx", 2)]), ("b", &[("xxx", 2)]), ("c", &[("xxxxx", 1)])]);
        assert_eq!(keep_changes_by_hand(&loaded, &running, &file), file);
    }

    #[test]
    fn a_connection_keeps_a_path() {
        let loaded = config(&[("a", &[("x", 1), ("xx", 1)])]);
        let running = config(&[("a", &[("xx", 1)])]);
        let file = config(&[("a", &[("x", 1)])]);
        assert_eq!(names(&keep_changes_by_hand(&loaded, &running, &file)), names(&file));
    }
}
