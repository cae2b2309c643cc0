//! A configuration file in the making.

use std::path::Path;

use toml::{Table, Value};

/// Sections are made when they are first named, and changed when they are named again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config(Table);

/// One table of the file.
pub(crate) struct Section<'a>(&'a mut Table);

impl Section<'_> {
    /// Sets a key, or changes it.
    pub(crate) fn set(self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Leaves a key to its default.
    pub(crate) fn unset(self, key: &str) -> Self {
        self.0.remove(key);
        self
    }

    /// Adds a `[[connection.select]]`, written in TOML: `select("protocol = 'udp'")`.
    pub(crate) fn select(self, toml: &str) -> Self {
        let selector: Table = toml.parse().unwrap();
        array(self.0, "select").push(selector.into());
        self
    }
}

impl Config {
    /// `[daemon]`
    pub(crate) fn daemon(&mut self) -> Section<'_> {
        let daemon = self.0.entry("daemon").or_insert_with(|| Table::new().into());
        Section(daemon.as_table_mut().unwrap())
    }

    /// The `[[device]]` of this name.
    pub(crate) fn device(&mut self, name: &str) -> Section<'_> {
        Section(named(&mut self.0, "device", name))
    }

    /// The `[[connection]]` of this name.
    pub(crate) fn connection(&mut self, name: &str) -> Section<'_> {
        Section(named(&mut self.0, "connection", name))
    }

    /// The `[[connection.path]]` of these names.
    pub(crate) fn path(&mut self, connection: &str, name: &str) -> Section<'_> {
        let connection = named(&mut self.0, "connection", connection);
        Section(named(connection, "path", name))
    }

    /// The `[connection.peer]` of the connection of this name.
    pub(crate) fn peer(&mut self, connection: &str) -> Section<'_> {
        let connection = named(&mut self.0, "connection", connection);
        let peer = connection.entry("peer").or_insert_with(|| Table::new().into());
        Section(peer.as_table_mut().unwrap())
    }

    /// The `[connection.mptsrv]` of the connection of this name.
    pub(crate) fn compat(&mut self, connection: &str) -> Section<'_> {
        let connection = named(&mut self.0, "connection", connection);
        let compat = connection.entry("mptsrv").or_insert_with(|| Table::new().into());
        Section(compat.as_table_mut().unwrap())
    }

    /// The public key in the `[connection.peer]` of this name.
    pub(crate) fn peer_key(&mut self, connection: &str) -> String {
        let Section(peer) = self.peer(connection);
        peer["public_key"].as_str().unwrap().to_owned()
    }

    /// The `[[client]]` of this name.
    pub(crate) fn client(&mut self, name: &str) -> Section<'_> {
        Section(named(&mut self.0, "client", name))
    }

    /// The `[[pool]]` of this name.
    pub(crate) fn pool(&mut self, name: &str) -> Section<'_> {
        Section(named(&mut self.0, "pool", name))
    }

    /// The `[[controller]]` of this name.
    pub(crate) fn controller(&mut self, name: &str) -> Section<'_> {
        Section(named(&mut self.0, "controller", name))
    }

    /// Adds a path over a line of a [`super::Pair`], by IPv4; `end` is 1 at `a` and 2 at `b`.
    pub(crate) fn lay_path(&mut self, connection: &str, line: usize, end: u8) -> Section<'_> {
        self.path(connection, &format!("line{line}"))
            .set("local", format!("10.71.{line}.{end}"))
            .set("remote", format!("10.71.{line}.{}", 3 - end))
    }

    /// Adds a path like [`Self::lay_path`], by IPv6.
    pub(crate) fn lay_path_v6(&mut self, connection: &str, line: usize, end: u8) -> Section<'_> {
        self.path(connection, &format!("line{line}"))
            .set("local", format!("fd00:71:{line}::{end}"))
            .set("remote", format!("fd00:71:{line}::{}", 3 - end))
    }

    /// Removes a connection, or one of its paths.
    pub(crate) fn remove(&mut self, connection: &str, path: Option<&str>) {
        let is = |name: &str| {
            let name = name.to_owned();
            move |table: &Value| table["name"].as_str() == Some(&name)
        };
        match path {
            None => array(&mut self.0, "connection").retain(|it| !is(connection)(it)),
            Some(path) => {
                let connection = named(&mut self.0, "connection", connection);
                array(connection, "path").retain(|it| !is(path)(it));
            }
        }
    }

    /// Removes the `[connection.peer]` of a connection.
    pub(crate) fn remove_peer(&mut self, connection: &str) {
        named(&mut self.0, "connection", connection).remove("peer");
    }

    /// Removes a table of a kind ("client", "controller", "pool") by its name.
    pub(crate) fn remove_table(&mut self, kind: &str, name: &str) {
        array(&mut self.0, kind).retain(|it| it["name"].as_str() != Some(name));
    }

    /// Names of connections.
    pub(crate) fn connections(&self) -> Vec<String> {
        let connections = self.0.get("connection").and_then(Value::as_array);
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        connections.into_iter().flatten().map(name).collect()
    }

    /// The text of the file.
    pub(crate) fn text(&self, control_socket: &Path) -> String {
        let mut config = self.clone();
        config.daemon().set("control_socket", control_socket.to_str().unwrap());
        toml::to_string(&config.0).unwrap()
    }
}

fn array<'a>(table: &'a mut Table, key: &str) -> &'a mut Vec<Value> {
    let array = table.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    array.as_array_mut().unwrap()
}

fn named<'a>(table: &'a mut Table, key: &str, name: &str) -> &'a mut Table {
    let array = array(table, key);
    let index = array.iter().position(|it| it["name"].as_str() == Some(name));
    let index = index.unwrap_or_else(|| {
        let named = Table::from_iter([("name".to_owned(), Value::from(name))]);
        array.push(named.into());
        array.len() - 1
    });
    array[index].as_table_mut().unwrap()
}
