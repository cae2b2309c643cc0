//! `[connection.mptsrv]`: what a connection needs to know of the other end when that is the papers' prototype
//! (docs/compat.md).

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use mpt_api::{Ecn, Mapping};
use mpt_core::compat::{Authentication, Key, MAX_CREATE_PATHS};

use super::parse::{ConnectionDraft, Located};
use super::peers::parse::absolute;
use super::reader::{Context, Lines, Table};
use super::types::{Device, SourcePort};
use super::values;

/// Default of both command ports: that of the prototype's sample configuration.
pub const DEFAULT_COMMAND_PORT: u16 = 60_456;
/// Default of `keepalive`: the prototype counts whole seconds.
pub const DEFAULT_COMPAT_KEEPALIVE: Duration = Duration::from_secs(1);
/// `dead` is this many keepalives unless the file says otherwise, as it is in the prototype.
const DEAD_KEEPALIVES: u32 = 3;
/// What `keepalive` may be, besides 0: the prototype's field has 8 bits.
const KEEPALIVE_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(255);
/// What `dead` may be, besides 0.
const DEAD_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(200)..=Duration::from_secs(3600);
/// The word for the key that is built into the prototype.
const BUILT_IN: &str = "default";
const KEY_FILE: &str = "the whole path of a file that holds the other end's auth_key, such as \
                        \"/etc/mpt/office.auth\"";

/// `compat = "mptsrv"` with its `[connection.mptsrv]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compat {
    /// Address of this end in the tunnel: one of the device's.
    pub local: IpAddr,
    /// Address of the other end in the tunnel, of the same family.
    pub remote: IpAddr,
    /// UDP port on which we take commands, at the local addresses of the paths.
    pub command_port: u16,
    /// UDP port on which the other end does.
    pub remote_command_port: u16,
    /// How commands are authenticated, both ways.
    pub authentication: Authentication,
    /// Where the key comes from.
    pub auth_key_file: Option<AuthKeyFile>,
    /// Distance of the keepalives; zero: none.
    pub keepalive: Duration,
    /// A path on which nothing is heard so long is down; zero: never.
    pub dead: Duration,
    /// Whether it takes part in creations.
    pub create: Option<Create>,
}

/// How a connection takes part in creations (0xA3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Whether we ask the other end; else we answer it.
    pub ask: bool,
    /// Digests with the key of creations.
    pub authentication: Authentication,
    /// Where that key comes from.
    pub key_file: AuthKeyFile,
}

/// Where the key of commands comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthKeyFile {
    /// It is built into the prototype, and known to everybody.
    BuiltIn,
    /// This file.
    File(PathBuf),
}

impl Compat {
    /// What `dead` is unless the file says otherwise.
    pub(super) fn usual_dead(&self) -> Duration {
        self.keepalive * DEAD_KEEPALIVES
    }

    /// The word for how commands are authenticated.
    #[must_use]
    pub fn authentication_word(&self) -> &'static str {
        match self.authentication {
            Authentication::None => "none",
            Authentication::Nonce => "nonce",
            Authentication::Digest(_) => "sha256",
        }
    }
}

impl std::fmt::Display for AuthKeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str(BUILT_IN),
            Self::File(file) => write!(f, "{}", file.display()),
        }
    }
}

impl Create {
    /// The word for who asks.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.ask { "ask" } else { "answer" }
    }
}

/// How commands are authenticated, as the file has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Nonce,
    Digest,
}

/// Reads `compat` and `[connection.mptsrv]`; [`check`] does the rest. `local` is unspecified where the file leaves it out.
pub(super) fn compat(context: &Context<'_>, connection: &mut Table<'_>) -> Option<Located<Compat>> {
    let on = connection.parsed("compat", "\"mptsrv\"", |text| match text {
        "mptsrv" => Ok(()),
        _ => Err("is not known".into()),
    });
    let on = on.is_some();
    let line = connection.line("mptsrv");
    let table = connection.table("mptsrv");
    if !on {
        if table.is_some() && !connection.has("compat") {
            let message =
                "has no effect without compat; write compat = \"mptsrv\" in the [[connection]]";
            context.error(line, "connection.mptsrv", message);
        }
        table.map(|table| parse(context, table));
        return None;
    }
    let Some(table) = table else {
        let message = "missing; write [connection.mptsrv] with remote = \"...\", the other end's address in the tunnel";
        context.error(connection.line("compat"), "connection.mptsrv", message);
        return None;
    };
    parse(context, table)
}

fn parse(context: &Context<'_>, mut table: Table<'_>) -> Option<Located<Compat>> {
    const INNER: &str = "an address in the tunnel, such as \"10.9.0.2\"";
    let local = table.parsed("local", INNER, values::endpoint);
    table.require("remote", "remote = \"...\" with the other end's address in the tunnel");
    let remote = table.parsed("remote", INNER, values::endpoint);
    let command_port = table.integer("command_port", "a port", 1..=65_535);
    let remote_command_port = table.integer("remote_command_port", "a port", 1..=65_535);
    let kind = table.choice(
        "authentication",
        &[("none", Kind::None), ("nonce", Kind::Nonce), ("sha256", Kind::Digest)],
    );
    let kind = kind.unwrap_or(Kind::None);
    let file = key_file(&mut table, "auth_key_file");
    let path = |key: &str| format!("connection.mptsrv.{key}");
    let error = |line: usize, key: &str, message: String| context.error(line, &path(key), message);
    let authentication = match (kind, &file) {
        (Kind::Digest, Some(file)) => {
            key(context, file, table.line("auth_key_file"), &path("auth_key_file"))
                .map(Authentication::Digest)
        }
        (Kind::Digest, None) => {
            if !table.has("auth_key_file") {
                error(
                    table.line("authentication"),
                    "auth_key_file",
                    format!("missing; write auth_key_file = \"...\" with {KEY_FILE}"),
                );
            }
            None
        }
        (Kind::None | Kind::Nonce, Some(_)) => {
            error(
                table.line("auth_key_file"),
                "auth_key_file",
                "has no effect without digests; write authentication = \"sha256\", or leave it out"
                    .into(),
            );
            None
        }
        (Kind::None, None) => Some(Authentication::None),
        (Kind::Nonce, None) => Some(Authentication::Nonce),
    };
    let time = |range: std::ops::RangeInclusive<Duration>| {
        move |text: &str| -> Result<Duration, values::Fault> {
            if text.trim() == "0" {
                return Ok(Duration::ZERO);
            }
            let time = values::duration(text)?;
            range.contains(&time).then_some(time).ok_or_else(|| "is out of range".into())
        }
    };
    let keepalive = table.scalar(
        "keepalive",
        "a time from \"100 ms\" to \"255 s\", or \"0\"",
        time(KEEPALIVE_RANGE),
    );
    let dead =
        table.scalar("dead", "a time from \"200 ms\" to \"60 min\", or \"0\"", time(DEAD_RANGE));
    let create = create(context, &mut table);
    let lines = table.finish();
    let remote = remote?;
    let keepalive = keepalive.unwrap_or(DEFAULT_COMPAT_KEEPALIVE);
    let compat = Compat {
        local: local.unwrap_or(super::types::unspecified(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
        remote,
        command_port: command_port.unwrap_or(DEFAULT_COMMAND_PORT),
        remote_command_port: remote_command_port.unwrap_or(DEFAULT_COMMAND_PORT),
        authentication: authentication?,
        auth_key_file: file,
        keepalive,
        dead: Duration::ZERO,
        create,
    };
    let dead = dead.unwrap_or(compat.usual_dead());
    Some(Located { value: Compat { dead, ..compat }, lines })
}

/// A key that names the file of another.
fn key_file(table: &mut Table<'_>, key: &'static str) -> Option<AuthKeyFile> {
    table.parsed(key, KEY_FILE, |text| match text {
        BUILT_IN => Ok(AuthKeyFile::BuiltIn),
        _ => absolute(text).map(AuthKeyFile::File),
    })
}

/// `create` and `create_key_file`: both or neither.
fn create(context: &Context<'_>, table: &mut Table<'_>) -> Option<Create> {
    let ask = table.choice("create", &[("ask", true), ("answer", false)]);
    let file = key_file(table, "create_key_file");
    let error = |key: &str, message: &str| {
        context.error(table.line(key), &table.path(key), message);
    };
    match (table.has("create"), table.has("create_key_file")) {
        (true, false) => {
            let message = format!(
                "missing: creations are always authenticated; write create_key_file = \"...\" with {KEY_FILE} (in its conf.template)"
            );
            error("create_key_file", &message);
        }
        (false, true) => error("create_key_file", "has no effect without create; leave it out"),
        _ => {}
    }
    let (ask, key_file) = (ask?, file?);
    let name = table.path("create_key_file");
    let key = key(context, &key_file, table.line("create_key_file"), &name)?;
    Some(Create { ask, authentication: Authentication::Digest(key), key_file })
}

/// The key that a file holds, or the built-in one.
fn key(context: &Context<'_>, file: &AuthKeyFile, line: usize, name: &str) -> Option<Key> {
    let AuthKeyFile::File(file) = file else { return Some(Key::built_in()) };
    let shown = file.display().to_string();
    let shown = shown.escape_debug();
    match context.read_key(file) {
        Ok(text) => {
            let key = Key::from_text(text.trim_end_matches(['\n', '\r']));
            if key.is_none() {
                let message = format!(
                    "\"{shown}\" holds no key; write the value of the other end's auth_key into it, one line of letters and digits"
                );
                context.error(line, name, message);
            }
            key
        }
        Err(error) => {
            context.error(
                line,
                name,
                format!("\"{shown}\" {}; write {}", error.fault, error.instead),
            );
            None
        }
    }
}

/// Fills in the local address, and checks what the rest of the connection has to be.
pub(super) fn check(
    context: &Context<'_>,
    draft: &mut ConnectionDraft,
    devices: &[Located<Device>],
) {
    let ConnectionDraft { connection, lines, compat: compat_lines, paths, peer, .. } = draft;
    let (Some(compat), Some(compat_lines)) = (&mut connection.compat, compat_lines) else {
        for Located { value: path, lines } in
            paths.iter().filter(|path| path.value.public.is_some())
        {
            let message = format!(
                "{} has no effect without compat = \"mptsrv\"; leave it out",
                path.public.unwrap_or(path.remote)
            );
            context.error(lines.of("public"), "connection.path.public", message);
        }
        return;
    };
    local(context, compat, compat_lines, devices, &connection.device);
    creation(context, compat, compat_lines, paths);
    let error = |key: &str, message: &str| {
        context.error(lines.of(key), &format!("connection.{key}"), message);
    };
    if peer.is_some() {
        error("peer", "the prototype knows no sessions; leave [connection.peer] or compat out");
    }
    if connection.key.is_some() {
        error("key", "the prototype takes a GRE key for data; leave it out");
    }
    if connection.checksum {
        error("checksum", "the prototype takes a GRE checksum for data; write false");
    }
    if connection.mapping == Mapping::Duplicate {
        error(
            "mapping",
            "\"duplicate\": the prototype delivers copies, or takes them for a restart; write \"packet\" or \"flow\"",
        );
    }
    if connection.ecn == Ecn::Normal {
        error(
            "ecn",
            "\"normal\": the prototype drops the marks of congested routers; write \"compatibility\"",
        );
    }
    for Located { value: path, lines } in paths.iter() {
        let error = |key: &str, message: String| {
            context.error(lines.of(key), &format!("connection.path.{key}"), message);
        };
        if path.remote_name.is_some() {
            error("remote", "is a name; with compat = \"mptsrv\" write the address".into());
        }
        let family = |address: IpAddr| address.is_ipv4() == path.remote.is_ipv4();
        match (path.public, path.local) {
            (None, None) => error(
                "local",
                "missing: the other end knows paths by their addresses; write local = \"...\", or public = \"...\"".into(),
            ),
            (Some(public), _) if !family(public) => error(
                "public",
                format!("{public} is not of the family of remote {}; write the address that the other end has as its remote_ipaddr", path.remote),
            ),
            _ => {}
        }
        if path.source_port == SourcePort::Entropy {
            error(
                "source_port",
                "\"entropy\": the prototype expects one port; leave it out".into(),
            );
        }
    }
}

/// What a connection has to be that is created, or makes the other end be.
fn creation(context: &Context<'_>, compat: &Compat, lines: &Lines, paths: &[Located<super::Path>]) {
    if compat.create.is_none() {
        return;
    }
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.mptsrv.{key}"), message);
    };
    if paths.len() > MAX_CREATE_PATHS {
        error(
            "create",
            format!(
                "{} paths do not fit the message that describes the connection; leave create out, or write at most {MAX_CREATE_PATHS} paths",
                paths.len()
            ),
        );
    }
    let ports = |path: &Located<super::Path>| (path.value.local_port, path.value.remote_port);
    if paths.iter().any(|path| ports(path) != ports(&paths[0])) {
        error(
            "create",
            "the prototype has one data port for all paths; write the same local_port and remote_port in each".into(),
        );
    }
    // What a prototype does after a creation.
    if matches!(&compat.authentication, Authentication::Digest(key) if *key != Key::built_in()) {
        error(
            "auth_key_file",
            "after a creation the prototype authenticates by the key built into it; write \"default\", or leave create out".into(),
        );
    }
}

/// Fills in the address of this end in the tunnel.
fn local(
    context: &Context<'_>,
    compat: &mut Compat,
    lines: &Lines,
    devices: &[Located<Device>],
    device: &str,
) {
    let Some(device) = devices.iter().find(|it| it.value.name == device) else { return };
    let mut addresses = device.value.addresses.iter().map(IpNet::addr);
    let family = |address: IpAddr| address.is_ipv4() == compat.remote.is_ipv4();
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.mptsrv.{key}"), message);
    };
    if compat.local.is_unspecified() {
        match addresses.find(|&address| family(address)) {
            Some(address) => compat.local = address,
            None => error(
                "remote",
                format!(
                    "device \"{}\" has no address of the family of {}; write one into its addresses",
                    device.value.name, compat.remote
                ),
            ),
        }
    } else if !family(compat.local) {
        error(
            "local",
            format!(
                "{} and remote {} are of different families; write two of one",
                compat.local, compat.remote
            ),
        );
    } else if !addresses.any(|address| address == compat.local) {
        error(
            "local",
            format!(
                "{} is not an address of device \"{}\"; write one that is, or leave it out",
                compat.local, device.value.name
            ),
        );
    }
}

/// Two connections that a command could be about, and command ports that are also data ports.
pub(super) fn conflicts(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    for (index, draft) in drafts.iter().enumerate() {
        let (Some(compat), Some(lines)) = (&draft.connection.compat, &draft.compat) else {
            continue;
        };
        let ends = |compat: &Compat| (compat.local, compat.remote);
        let same = drafts[..index].iter().find(|other| {
            other.connection.compat.as_ref().is_some_and(|other| ends(other) == ends(compat))
        });
        if let Some(other) = same {
            context.error(
                lines.of("remote"),
                "connection.mptsrv.remote",
                format!(
                    "connection \"{}\" has the same two ends, by which commands are told apart; write another address",
                    other.connection.name
                ),
            );
        }
        let mut paths = drafts.iter().flat_map(|it| &it.paths);
        if paths.any(|path| path.value.local_port == compat.command_port) {
            context.error(
                lines.of("command_port"),
                "connection.mptsrv.command_port",
                format!("{} is the port of a path; write another", compat.command_port),
            );
        }
    }
}

/// Warns of what keeps nobody out, and of what the other end cannot do.
pub(super) fn warn(context: &Context<'_>, draft: &ConnectionDraft) {
    let (Some(compat), Some(lines)) = (&draft.connection.compat, &draft.compat) else { return };
    if compat.auth_key_file == Some(AuthKeyFile::BuiltIn) {
        context.warn(
            lines.of("auth_key_file"),
            "connection.mptsrv.auth_key_file",
            "\"default\" is known to everybody and keeps nobody out; give both ends a key of their own",
        );
    }
    for (index, Located { value: path, lines }) in draft.paths.iter().enumerate() {
        let public = |path: &super::Path| path.public.or(path.local);
        let same = draft.paths[..index].iter().find(|other| public(&other.value) == public(path));
        if let Some(other) = same {
            context.warn(
                lines.header(),
                "connection.path",
                format!(
                    "paths \"{}\" and \"{}\" have one address at this end; the prototype routes by the address of the \
                     other end and would use one path only; write another local",
                    other.value.name, path.name
                ),
            );
        }
    }
}
