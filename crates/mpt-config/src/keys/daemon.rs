//! `[daemon]`

use std::path::PathBuf;

use mpt_text::quantity;
use tracing::level_filters::LevelFilter;

use super::super::key::{Keys, Part, Reload, Shown, field, key};
use super::super::types::{DEFAULT_PORT, DEFAULT_STATE_DIRECTORY, Daemon, LogFormat};
use super::path_text;
use crate::syntax::form::{Boolean, Choice, Integer, List, PORT, Text, scalar, text};
use crate::syntax::values::{self, Fault};

const MIN_BUFFER_LIMIT: u64 = 1 << 20;
const LEVELS: [(&str, LevelFilter); 5] = [
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];
const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
const SOCKET: Text<PathBuf> =
    text("the whole path, such as \"/run/mpt/mptd.sock\"", values::absolute, path_text);
const PRIVATE_KEY: Text<PathBuf> = text(
    "the whole path of a key file, such as \"/etc/mpt/private.key\"",
    values::absolute,
    path_text,
);
const STATE_DIRECTORY: Text<PathBuf> =
    text("the whole path of a directory, such as \"/var/lib/mpt\"", values::absolute, path_text);
const BUFFER_LIMIT: Text<u64> =
    scalar("a size from \"1 MiB\", such as \"64 MiB\"", buffer_limit, |&size| {
        quantity::memory(size)
    });

fn buffer_limit(text: &str) -> Result<u64, Fault> {
    let size = values::size(text)?;
    if size < MIN_BUFFER_LIMIT { Err("is too little".into()) } else { Ok(size) }
}

impl Keys for Daemon {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Daemon.user?,
            text("the name of a user, such as \"mpt\"", values::user, String::clone),
            "mptd becomes this user when root starts it, and keeps only CAP_NET_ADMIN of root's rights. By default it becomes \"mpt\" if that user \
             exists and the directory of this file belongs to it; otherwise it stays root, with that one right. The user must be able to read or \
             write what mptd has to read or write."
        )
        .at_reload(Reload::Restart)
        .shown(Shown::Example("\"mpt\"")),
        &field!(
            Daemon.control_socket,
            SOCKET,
            "The command line (mpt) reaches mptd by this UNIX socket."
        )
        .at_reload(Reload::Restart),
        &field!(
            Daemon.log,
            Choice(&LEVELS),
            "The least severe messages that are logged: \"error\", \"warn\", \"info\", \"debug\" or \"trace\"."
        ),
        &field!(
            Daemon.log_format,
            Choice(&LOG_FORMATS),
            "The lines of the log are \"text\" (a sentence and fields; entries with fields where systemd leads the log into its journal) or \
             \"json\" (one object on each line of standard error)."
        ),
        &field!(
            Daemon.buffer_limit,
            BUFFER_LIMIT,
            "Packets that wait, in reorder windows and for busy interfaces, take at most this much memory. When it is used up, packets are \
             delivered out of order rather than dropped. All connections of a client have one share of it, and each configured connection has \
             one; beside others, none takes more than half."
        )
        .at_reload(Reload::Restart),
        &field!(
            Daemon.port,
            PORT,
            "Paths that do not say otherwise listen on this UDP port. 4754 is the port of GRE in UDP (RFC 8086)."
        )
        .at_reload(Reload::Elsewhere),
        &key(
            "listen",
            List { example: "\"198.51.100.1\"", parse: values::endpoint, show: ToString::to_string },
            |it: &Daemon| Some(it.listen.clone()).filter(|listen| !listen.is_empty()),
            |it, value| it.listen = value,
            "[[client]]s and [[controller]]s send to these addresses of this host, on daemon.port. Required when there are clients."
        )
        .at_reload(Reload::Restart)
        .shown(Shown::Example("[\"192.0.2.1\"]")),
        &field!(
            Daemon.private_key_file,
            PRIVATE_KEY,
            "This file holds the private key of this host (`mpt genkey -o FILE`). Nobody but root and the user of the daemon may be able to \
             open it. It is read only when there is a [connection.peer], [[client]] or [[controller]]."
        )
        // The content of the file counts, not its name.
        .differing_by(|old, new| old.private_key != new.private_key),
        &field!(
            Daemon.aes,
            Boolean,
            "AES-256-GCM is offered for sealed data where the processor has instructions for it. With false, data is sealed with \
             ChaCha20-Poly1305, as it is where one of both processors has no such instructions."
        )
        .at_reload(Reload::Restart),
        &field!(
            Daemon.max_clients,
            Integer { noun: "a number", range: 1..=1_000_000 },
            "At most so many connections of clients exist at one time."
        ),
        &field!(
            Daemon.creations_per_second,
            Integer { noun: "a number", range: 1..=100_000 },
            "At most so many connections of clients are created in one second."
        ),
        &field!(
            Daemon.reports_per_second,
            Integer { noun: "a number", range: 100..=10_000_000 },
            "Connections with mapping = \"adaptive\" send at most so many frames in one second, all of them together, to tell their peers what has \
             left and what has come. Where they want more, each of them sends its frames less often. Probes and their echoes do not count."
        ),
        &field!(
            Daemon.state_directory,
            STATE_DIRECTORY,
            "mptd keeps here what is to outlast it: how much paths with a cap have carried. The directory must exist when mptd starts, or \
             the user of the daemon must be able to make it."
        )
        .at_reload(Reload::Restart),
        &field!(
            Daemon.mark,
            Integer { noun: "a mark", range: 1..=u32::MAX as u64 },
            "The sockets of outer packets have this mark (SO_MARK). When a network of 0.0.0.0/0 or ::/0 is routed into the tunnel, packets with \
             this mark are not."
        )
        .at_reload(Reload::Restart)
        .shown(Shown::UsualAs("0x6d7074")),
    ];

    fn usual() -> Self {
        Daemon {
            user: None,
            control_socket: mpt_api::DEFAULT_SOCKET.into(),
            log: LevelFilter::INFO,
            log_format: LogFormat::default(),
            buffer_limit: 64 << 20,
            port: DEFAULT_PORT,
            listen: Vec::new(),
            private_key_file: "/etc/mpt/private.key".into(),
            private_key: None,
            aes: true,
            max_clients: 1000,
            creations_per_second: 50,
            reports_per_second: 20_000,
            state_directory: DEFAULT_STATE_DIRECTORY.into(),
            // "mpt"
            mark: 0x006d_7074,
        }
    }
}

impl Default for Daemon {
    fn default() -> Self {
        Self::usual()
    }
}
