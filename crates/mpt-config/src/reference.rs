//! The reference of the configuration: every table of the file with its keys, from the table of keys. The commented example and the manual page
//! mpt.toml(5) are made from it.

use mpt_text::roff::Page;

use super::compat::Compat;
use super::key::{self, KeyDoc, Keys, Reload, Shown};
use super::load::DEFAULT_FILE;
use super::parse::draft::Select;
use super::peers::{Client, Controller, Peer, Pool};
use super::types::{Connection, Daemon, Device, Path};

/// The documentation of a table of the file.
#[derive(Clone, Debug)]
pub struct TableDoc {
    /// Its name with those of the tables around it: "connection.path".
    pub name: &'static str,
    /// Its header: "[[connection.path]]".
    pub header: String,
    /// Its purpose.
    pub text: &'static str,
    /// Its keys, in the order of the example.
    pub keys: Vec<KeyDoc>,
    /// True if the example has the whole table only as an example, commented.
    is_example: bool,
}

/// The number of tables of one name that may exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    One,
    Several,
}

/// The form of a table in the example.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    Table,
    Example,
}

/// A part of the example.
enum Piece {
    Table(TableDoc),
    /// A key that its table shows apart.
    Key(&'static str, &'static str),
    Text(&'static str),
}

const INTRODUCTION: &str = "\
# Configuration of mptd, the multipath tunnel daemon: every key there is. Made by `make example`.
#
# A commented key shows its default; \"e.g.\" marks an example of a key or table that is not set by default (within such a
# table \"# the default\" marks the keys that may be left out); keys without a comment sign have to be written. Check a file
# with
#
#     mptd --config FILE --check
#
# and apply a changed one with `mpt reload` or SIGHUP: only what differs is touched, and a bad file changes nothing.
# Addresses here are those of this host (\"local\") and of its peer (\"remote\"); the peer's file is the same with the two
# exchanged.
";
const SECOND_PATH: &str = "

# A second path makes the tunnel worth its while.
[[connection.path]]
name = \"lte\"
local = \"203.0.113.1\"
remote = \"198.51.100.1\"
";
const LEARNING: &str = "

# Another connection, whose paths are measured. What is learnt of a path may have bounds.
# e.g. [[connection]]
# e.g. name = \"learning\"
# e.g. key = 2
# e.g. networks = [\"10.9.0.7\"]
# e.g. mapping = \"adaptive\"
# e.g. [connection.peer]
# e.g. public_key = \"hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=\"
# e.g. [[connection.path]]
# e.g. name = \"dsl\"
# e.g. local = \"192.0.2.1\"
# e.g. remote = \"198.51.100.17\"
";
const PROTOTYPE: &str = "

# Another connection, whose peer is mptsrv, the prototype of the papers: compat and the table make it so (docs/compat.md).
# Neither its data nor its keepalives are authenticated: go over to [connection.peer] as soon as both hosts have mptd.
# `mpt import` writes such connections from the prototype's own files.
# e.g. [[connection]]
# e.g. name = \"prototype\"
# e.g. networks = [\"10.9.0.6\"]
";
const PROTOTYPE_PATH: &str = "
# With compat a path sends from the port it listens on, and accepts packets from the peer's port only, unless there is a
# NAT (nat = true).
# e.g. [[connection.path]]
# e.g. name = \"dsl\"
# e.g. local = \"192.0.2.1\"
# e.g. remote = \"198.51.100.9\"
# e.g. local_port = 23456
# e.g. remote_port = 23456
";
const SECOND_CLIENT: &str = "
# Another client, with addresses of its own.
# e.g. [[client]]
# e.g. name = \"sensor\"
# e.g. public_key = \"D1mZT9kB9VZdUL3hrS1tQYvLyBzFcGL8k8XBTzu0Dws=\"
";

/// Returns every table of the file with its keys, in the order of the example.
#[must_use]
pub fn tables() -> Vec<TableDoc> {
    let tables = pieces().into_iter().filter_map(|piece| match piece {
        Piece::Table(table) => Some(table),
        Piece::Key(..) | Piece::Text(_) => None,
    });
    tables.collect()
}

fn pieces() -> Vec<Piece> {
    use {As::*, Number::*};
    vec![
        Piece::Text(INTRODUCTION),
        table::<Daemon>(
            "daemon",
            One,
            Table,
            "The daemon itself. The whole table may be left out.",
        ),
        table::<Device>("device", Several, Table, "A TUN device; there may be several."),
        table::<Connection>(
            "connection",
            Several,
            Table,
            "A tunnel to one peer over one or more paths; there may be several on one device.",
        ),
        table::<Select>(
            "connection.select",
            Several,
            Example,
            "Selects packets for this connection, if it does not simply take all those to its networks: for instance to give VoIP and bulk traffic \
             between the same two hosts connections with different weights. There may be several such tables; a packet has to match all keys of one, \
             and a key that is left out matches everything. Of several connections that match, the longest destination wins, then the longest source, \
             then the protocol, the ports, the DSCP. Fragments match no ports.",
        ),
        table::<Peer>(
            "connection.peer",
            One,
            Example,
            "The peer of the connection, known by its key. With this table there is a session between the two hosts: paths are probed and left when \
             they are broken, in either direction, and the peer may be behind a NAT. Such a connection has at most 128 paths. It needs \
             daemon.private_key_file.",
        ),
        table::<Path>(
            "connection.path",
            Several,
            Table,
            "A path of the connection above; there may be many.",
        ),
        Piece::Text(SECOND_PATH),
        Piece::Text(LEARNING),
        Piece::Key("connection.path", "max_rate"),
        Piece::Key("connection.path", "min_rate"),
        Piece::Text(PROTOTYPE),
        Piece::Key("connection", "compat"),
        table::<Compat>(
            "connection.mptsrv",
            One,
            Example,
            "What the connection needs to know of a peer that is the prototype (compat = \"mptsrv\").",
        ),
        Piece::Text(PROTOTYPE_PATH),
        Piece::Key("connection.path", "public"),
        table::<Client>(
            "client",
            Several,
            Example,
            "Clients make this host a concentrator: they ask for connections, which are created as these tables allow and removed when they are silent. \
             There may be several.",
        ),
        Piece::Text(SECOND_CLIENT),
        Piece::Key("client", "addresses"),
        table::<Pool>(
            "pool",
            Several,
            Example,
            "Inner addresses for clients; there may be several pools.",
        ),
        table::<Controller>(
            "controller",
            Several,
            Example,
            "A program elsewhere that may steer this daemon: `mpt --remote`, or one of your own. There may be several.",
        ),
    ]
}

fn table<T: Keys>(name: &'static str, number: Number, shown: As, text: &'static str) -> Piece {
    let header = match number {
        Number::One => format!("[{name}]"),
        Number::Several => format!("[[{name}]]"),
    };
    let keys = key::describe::<T>();
    Piece::Table(TableDoc { name, header, text, keys, is_example: shown == As::Example })
}

impl KeyDoc {
    /// Returns what it does, and when a change of it takes effect.
    fn sentences(&self) -> String {
        let restart = match self.reload {
            Reload::Restart => " A change takes effect when the daemon is started again.",
            Reload::InFlight | Reload::Replaced | Reload::Elsewhere => "",
        };
        format!("{}{restart}", self.text)
    }

    /// Writes the description as a comment of the example, with the limits of its values.
    fn comment(&self, text: &mut String) {
        let limits = self.limits.as_ref().map(|limits| format!(" From {limits}."));
        comment(&(self.sentences() + &limits.unwrap_or_default()), text);
    }

    /// The key as the example has it.
    fn line(&self, in_example: bool) -> String {
        let usual = || self.usual.as_deref().unwrap_or_default().trim();
        let (value, is_usual) = match self.shown {
            Shown::Usual => (usual(), true),
            Shown::UsualAs(value) => (value, true),
            Shown::Example(value) | Shown::Set(value) | Shown::Apart(value) => (value, false),
        };
        let line = format!("{} = {value}", self.name);
        match (is_usual, in_example) {
            (true, false) => format!("# {line}\n"),
            (true, true) => format!("# e.g. {line}  # the default\n"),
            (false, false) if matches!(self.shown, Shown::Set(_)) => format!("{line}\n"),
            (false, _) => format!("# e.g. {line}\n"),
        }
    }
}

/// Returns the commented example of a file: `examples/mpt.toml`.
#[must_use]
pub fn example() -> String {
    let mut text = String::new();
    for piece in pieces() {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Table(table) => example_of(&table, &mut text),
            Piece::Key(table, name) => {
                let tables = tables();
                let table = tables.iter().find(|it| it.name == table);
                let keys = table.iter().flat_map(|table| &table.keys);
                for key in keys.filter(|key| key.name == name) {
                    text.push('\n');
                    key.comment(&mut text);
                    text.push_str(&key.line(true));
                }
            }
        }
    }
    text
}

fn example_of(table: &TableDoc, text: &mut String) {
    text.push_str("\n\n");
    comment(table.text, text);
    let sign = if table.is_example { "# e.g. " } else { "" };
    text.push_str(&format!("{sign}{}\n", table.header));
    let mut note = None;
    for key in table.keys.iter().filter(|key| !matches!(key.shown, Shown::Apart(_))) {
        match key.note {
            None => {
                text.push('\n');
                key.comment(text);
            }
            Some(of_group) if note != Some(of_group) => {
                text.push('\n');
                comment(of_group, text);
            }
            Some(_) => {}
        }
        note = key.note;
        text.push_str(&key.line(table.is_example));
    }
}

/// Adds a comment, in lines of a readable length.
fn comment(sentences: &str, text: &mut String) {
    const WIDTH: usize = 120;
    let mut line = String::from("#");
    for word in words(sentences) {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "#".into();
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// The words between which a line may end: not within quotes.
fn words(sentences: &str) -> Vec<&str> {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= matches!(c, '"' | '`');
        c == ' ' && !quoted
    };
    sentences.split(ends).collect()
}

/// Returns the manual page mpt.toml(5).
#[must_use]
pub fn manual_page() -> String {
    let program = concat!("mptd ", env!("CARGO_PKG_VERSION"));
    let mut page = Page::new("mpt.toml", 5, program);
    page.heading("NAME");
    page.paragraph("mpt.toml - configuration of mptd, the multipath tunnel daemon");
    page.heading("DESCRIPTION");
    page.paragraph(&format!(
        "The file is TOML, and read from {} unless mptd gets another one with --config. `mptd --check` says what is wrong with it, by line and key. \
         `mpt reload` or SIGHUP applies a changed file: only what differs is touched, and a bad file changes nothing. `mpt connection save` writes \
         a connection as it runs into the file.",
        DEFAULT_FILE
    ));
    page.paragraph(
        "/usr/share/doc/mpt/examples has complete files; mpt.toml there shows every key.",
    );
    for table in tables() {
        page.heading(&table.header);
        page.paragraph(table.text);
        for key in &table.keys {
            let default = match (&key.usual, key.required) {
                (_, true) => "Required.".to_owned(),
                (Some(usual), _) => format!("Default: {}.", usual.trim()),
                (None, _) => String::new(),
            };
            let form = format!("Value: {}. {default}", key.form);
            page.entry(key.name, &[&key.sentences(), form.trim_end()]);
        }
    }
    page.heading("SEE ALSO");
    page.paragraph("mptd(8), mpt(1)");
    page.finish()
}
