//! The tables that name other ends, from the file to drafts.

use std::path::PathBuf;
use std::time::Duration;

use mpt_api::{KEEPALIVE_US, Permission};
use mpt_core::session::{PresharedKey, PrivateKey};

use super::super::parse::{Located, MAPPINGS, reorder};
use super::super::reader::{Context, Table};
use super::super::values;
use super::{
    Addresses, Client, Controller, DEFAULT_MAPPINGS, DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_PATHS,
    DEFAULT_MAX_WEIGHT, DEFAULT_SILENT, Peer, Pool, Timing,
};

/// What `keepalive` may be, besides 0.
const KEEPALIVE_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(*KEEPALIVE_US.start())..=Duration::from_micros(*KEEPALIVE_US.end());
/// What `idle_keepalive` may be.
const IDLE_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(600);
/// What `dead` may be.
const DEAD_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_secs(600);
/// What `silent` may be: shorter than an idle client's keepalives would remove clients that are well.
const SILENT_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(30)..=Duration::from_secs(86_400);
/// What to write where a public key is wanted.
const PUBLIC_KEY: &str = "the 44 characters that `mpt pubkey` prints at the other end";
/// What to write where a key file is wanted.
const KEY_FILE: &str = "the whole path of a key file, such as \"/etc/mpt/office.psk\"";

/// `[connection.peer]`; `initiate` is `None` where the file leaves it out.
pub(in super::super) struct PeerDraft {
    pub(in super::super) peer: Peer,
    pub(in super::super) initiate: Option<bool>,
}

pub(in super::super) fn peer(
    context: &Context<'_>,
    mut table: Table<'_>,
) -> Option<Located<PeerDraft>> {
    table.require("public_key", &format!("public_key = \"...\" with {PUBLIC_KEY}"));
    let public_key = table.parsed("public_key", PUBLIC_KEY, values::public_key);
    let (psk, psk_file) = psk(context, &mut table);
    let initiate = table.boolean("initiate");
    let create = table.boolean("create").unwrap_or(false);
    let timing = timing(context, &mut table);
    let follow_weights = table.boolean("follow_weights").unwrap_or(true);
    let lines = table.finish();
    let peer = Peer {
        public_key: public_key?,
        psk,
        psk_file,
        initiate: initiate.unwrap_or(false),
        create,
        timing,
        follow_weights,
    };
    Some(Located { value: PeerDraft { peer, initiate }, lines })
}

pub(in super::super) fn client(
    context: &Context<'_>,
    mut table: Table<'_>,
    several_devices: bool,
    only_device: Option<&str>,
) -> Option<Located<Client>> {
    table.require("name", "name = \"anna\"");
    let name = table.parsed("name", "letters, digits, \"_\", \"-\"", values::client_name);
    table.require("public_key", &format!("public_key = \"...\" with {PUBLIC_KEY}"));
    let public_key = table.parsed("public_key", PUBLIC_KEY, values::public_key);
    let (psk, _) = psk(context, &mut table);
    let device = table.parsed("device", "the name of a [[device]]", values::interface);
    if several_devices {
        table.require("device", "device = \"...\" with the name of one [[device]]");
    }
    let fixed = table.list("addresses", "\"10.8.0.7/24\"", values::interface_address);
    let pool = table.parsed("pool", "the name of a [[pool]]", values::name);
    let path = |key: &str| format!("client.{key}");
    if fixed.is_some() && pool.is_some() {
        let message = "is set, and addresses, too; write only one of them";
        context.error(table.line("pool"), &path("pool"), message);
    } else if !table.has("addresses") && !table.has("pool") {
        let message = "missing; write pool = \"...\" with the name of a [[pool]], or addresses = [\"10.8.0.7/24\"]";
        context.error(table.line("pool"), &path("pool"), message);
    }
    if fixed.as_ref().is_some_and(Vec::is_empty) && !context.has_errors() {
        let message = "is empty; write addresses = [\"10.8.0.7/24\"], or pool = \"...\"";
        context.error(table.line("addresses"), &path("addresses"), message);
    }
    let networks = table.list("networks", "\"192.168.7.0/24\"", values::routed_network);
    let max_connections = table.integer("max_connections", "a number", 1..=65_535);
    let max_paths = table.integer("max_paths", "a number", 1..=mpt_api::session::MAX_PATHS as u64);
    let max_weight = table.integer("max_weight", "a weight", 1..=65_535);
    let mappings = table.list("mappings", "\"packet\", \"flow\", \"duplicate\"", |text| {
        let found = MAPPINGS.iter().find(|(word, _)| *word == text);
        found.map(|&(_, mapping)| mapping).ok_or_else(|| "is not a mapping".into())
    });
    if mappings.as_ref().is_some_and(Vec::is_empty) && !context.has_errors() {
        let message =
            "is empty, so that the client could have no connection; write [\"packet\", \"flow\"]";
        context.error(table.line("mappings"), &path("mappings"), message);
    }
    let silent =
        table.scalar("silent", "a time from \"30 s\" to \"1440 min\"", within(SILENT_RANGE));
    let timing = timing(context, &mut table);
    let reorder = reorder(&mut table);
    let lines = table.finish();
    let addresses = fixed.map(Addresses::Fixed).or(pool.map(Addresses::Pool));
    let client = Client {
        name: name?,
        public_key: public_key?,
        psk,
        device: device.or_else(|| only_device.map(str::to_owned)).unwrap_or_default(),
        addresses: addresses?,
        networks: networks.unwrap_or_default(),
        max_connections: max_connections.unwrap_or(DEFAULT_MAX_CONNECTIONS),
        max_paths: max_paths.unwrap_or(DEFAULT_MAX_PATHS),
        max_weight: max_weight.unwrap_or(DEFAULT_MAX_WEIGHT),
        mappings: mappings.unwrap_or_else(|| DEFAULT_MAPPINGS.into()),
        silent: silent.unwrap_or(DEFAULT_SILENT),
        timing,
        reorder,
    };
    Some(Located { value: client, lines })
}

pub(in super::super) fn pool(mut table: Table<'_>) -> Option<Located<Pool>> {
    table.require("name", "name = \"clients\"");
    let name = table.parsed("name", "letters, digits, \".\", \"_\", \"-\"", values::name);
    table.require("networks", "networks = [\"10.8.0.0/24\"], from which clients get an address");
    let networks = table.list("networks", "\"10.8.0.0/24\"", values::routed_network);
    let lines = table.finish();
    Some(Located { value: Pool { name: name?, networks: networks.unwrap_or_default() }, lines })
}

pub(in super::super) fn controller(
    context: &Context<'_>,
    mut table: Table<'_>,
) -> Option<Located<Controller>> {
    table.require("name", "name = \"noc\"");
    let name = table.parsed("name", "letters, digits, \".\", \"_\", \"-\"", values::name);
    table.require("public_key", &format!("public_key = \"...\" with {PUBLIC_KEY}"));
    let public_key = table.parsed("public_key", PUBLIC_KEY, values::public_key);
    let (psk, _) = psk(context, &mut table);
    let words: Vec<_> = Permission::ALL.iter().map(|it| format!("\"{}\"", it.word())).collect();
    let allow = table.list("allow", &words.join(", "), |text| {
        let found = Permission::ALL.iter().find(|it| it.word() == text);
        found.copied().ok_or_else(|| "is nothing that can be allowed".into())
    });
    let lines = table.finish();
    let mut allow = allow.unwrap_or_else(|| vec![Permission::Show, Permission::Monitor]);
    allow.sort_unstable();
    allow.dedup();
    Some(Located { value: Controller { name: name?, public_key: public_key?, psk, allow }, lines })
}

/// `private_key_file` of the daemon: read only when there is anybody to talk to.
pub(in super::super) fn private_key(
    context: &Context<'_>,
    file: &std::path::Path,
    line: usize,
) -> Option<PrivateKey> {
    key(context, file, line, "daemon.private_key_file")
}

/// The key that both ends have besides, and its file.
fn psk(context: &Context<'_>, table: &mut Table<'_>) -> (Option<PresharedKey>, Option<PathBuf>) {
    let Some(file) = table.parsed("psk_file", KEY_FILE, absolute) else { return (None, None) };
    let key = key(context, &file, table.line("psk_file"), &table.path("psk_file"));
    (key, Some(file))
}

fn key<K: std::str::FromStr<Err: std::fmt::Display>>(
    context: &Context<'_>,
    file: &std::path::Path,
    line: usize,
    name: &str,
) -> Option<K> {
    let shown = file.display().to_string();
    let shown = shown.escape_debug();
    match context.read_key(file) {
        Ok(text) => text
            .parse()
            .map_err(|error| {
                let message = format!(
                    "\"{shown}\" holds no key ({error}); write what `mpt genkey` or `mpt genpsk` prints into it"
                );
                context.error(line, name, message);
            })
            .ok(),
        Err(error) => {
            context.error(line, name, format!("\"{shown}\" {}; write {}", error.fault, error.instead));
            None
        }
    }
}

pub(in super::super) fn absolute(text: &str) -> Result<PathBuf, values::Fault> {
    let path = PathBuf::from(text);
    path.is_absolute().then_some(path).ok_or_else(|| "is not an absolute path".into())
}

fn timing(context: &Context<'_>, table: &mut Table<'_>) -> Timing {
    let defaults = Timing::default();
    let keepalive =
        table.scalar("keepalive", "a time from \"10 ms\" to \"60 s\", or \"0\"", |text| {
            if text.trim() == "0" { Ok(Duration::ZERO) } else { within(KEEPALIVE_RANGE)(text) }
        });
    let keepalive = keepalive.unwrap_or(defaults.keepalive);
    let idle =
        table.scalar("idle_keepalive", "a time from \"10 ms\" to \"10 min\"", within(IDLE_RANGE));
    let dead = table.scalar("dead", "a time from \"20 ms\" to \"10 min\"", within(DEAD_RANGE));
    let error = |key: &str, message: String| {
        context.error(table.line(key), &table.path(key), message);
    };
    if let Some(idle) = idle.filter(|&idle| idle < keepalive) {
        error(
            "idle_keepalive",
            format!(
                "{} is shorter than the keepalive of {} while packets flow; write at least that",
                values::time(idle),
                values::time(keepalive)
            ),
        );
    }
    if let Some(dead) = dead {
        if keepalive.is_zero() {
            error("dead", "has no effect with keepalive = \"0\"; leave it out".into());
        } else if dead < 2 * keepalive {
            error(
                "dead",
                format!(
                    "{} leaves no room for two keepalives of {}, so that one lost probe would take the path down; \
                     write at least \"{}\"",
                    values::time(dead),
                    values::time(keepalive),
                    values::time(2 * keepalive)
                ),
            );
        }
    }
    Timing {
        keepalive,
        idle_keepalive: idle.unwrap_or(defaults.idle_keepalive.max(keepalive)),
        dead,
    }
}

fn within(
    range: std::ops::RangeInclusive<Duration>,
) -> impl Fn(&str) -> Result<Duration, values::Fault> {
    move |text| {
        let time = values::duration(text)?;
        range.contains(&time).then_some(time).ok_or_else(|| "is out of range".into())
    }
}
