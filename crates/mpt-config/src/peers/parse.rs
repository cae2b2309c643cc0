//! The tables that name peers, clients and controllers, from the file to drafts.

use std::path::Path;

use mpt_client::KeyKind;
use mpt_core::session::{PresharedKey, PrivateKey};

use super::super::key::{self, Around};
use super::super::keys::ONE_DEVICE;
use super::{Addresses, Client, Controller, Peer, Timing};
use crate::syntax::reader::{Context, Located, Table};
use crate::syntax::values;

/// `[connection.peer]`
pub(in super::super) fn peer(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<Located<Peer>> {
    let (peer, whole): (Peer, _) = key::read(&mut table, around);
    timing(context, &table, peer.timing);
    let value = Peer { psk: psk(context, &table, peer.psk_file.as_deref()), ..peer };
    let lines = table.finish();
    whole.then_some(Located { value, lines })
}

/// `[[client]]`
pub(in super::super) fn client(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<Located<Client>> {
    let (client, whole): (Client, _) = key::read(&mut table, around);
    if around.several_devices {
        table.require("device", ONE_DEVICE);
    }
    let error = |key: &str, message: &str| {
        context.error(table.line(key), &table.path(key), message);
    };
    match (table.has("addresses"), table.has("pool")) {
        (true, true) => error("pool", "is set, and addresses, too; write only one of them"),
        (false, false) => error(
            "pool",
            "missing; write pool = \"...\" with the name of a [[pool]], or addresses = [\"10.8.0.7/24\"]",
        ),
        _ => {}
    }
    let is_empty = matches!(&client.addresses, Addresses::Fixed(all) if all.is_empty());
    if is_empty && table.has("addresses") && !context.has_errors() {
        error("addresses", "is empty; write addresses = [\"10.8.0.7/24\"], or pool = \"...\"");
    }
    if client.mappings.is_empty() && !context.has_errors() {
        error(
            "mappings",
            "is empty, so that the client could have no connection; write [\"packet\", \"flow\"]",
        );
    }
    timing(context, &table, client.timing);
    let value = Client { psk: psk(context, &table, client.psk_file.as_deref()), ..client };
    let lines = table.finish();
    whole.then_some(Located { value, lines })
}

/// `[[controller]]`
pub(in super::super) fn controller(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<Located<Controller>> {
    let (controller, whole): (Controller, _) = key::read(&mut table, around);
    let value =
        Controller { psk: psk(context, &table, controller.psk_file.as_deref()), ..controller };
    let lines = table.finish();
    whole.then_some(Located { value, lines })
}

/// `private_key_file` of the daemon: read only when there is anybody to talk to.
pub(in super::super) fn private_key(
    context: &Context<'_>,
    file: &Path,
    line: usize,
) -> Option<PrivateKey> {
    read_key(context, file, KeyKind::Private, line, "daemon.private_key_file")
}

/// Returns the pre-shared key that the file holds.
fn psk(context: &Context<'_>, table: &Table<'_>, file: Option<&Path>) -> Option<PresharedKey> {
    let key = "psk_file";
    read_key(context, file?, KeyKind::Preshared, table.line(key), &table.path(key))
}

fn read_key<K: std::str::FromStr<Err: std::fmt::Display>>(
    context: &Context<'_>,
    file: &Path,
    kind: KeyKind,
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
                    "\"{shown}\" holds no key ({error}); write what `{}` prints into it",
                    kind.command()
                );
                context.error(line, name, message);
            })
            .ok(),
        Err(error) => {
            let why = error.describe(&kind.remedy_if_missing(file));
            context.error(line, name, format!("\"{shown}\" {why}"));
            None
        }
    }
}

/// Checks what the keys of the probes have to do with one another.
fn timing(context: &Context<'_>, table: &Table<'_>, timing: Timing) {
    let Timing { keepalive, idle_keepalive: idle, dead } = timing;
    let error = |key: &str, message: String| {
        context.error(table.line(key), &table.path(key), message);
    };
    if idle < keepalive {
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
}
