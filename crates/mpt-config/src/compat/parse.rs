//! `compat` and `[connection.mptsrv]`, from the file to drafts.

use mpt_core::compat::{Authentication, Key};

use super::super::key::{self, Around};
use super::{AuthKeyFile, Compat, Create, KEY_FILE, Kind};
use crate::syntax::reader::{Context, Located, Table};

/// The remedy where a file does not hold the key that its name promises.
const REMEDY: &str =
    "write the value of the peer's auth_key into it, one line of letters and digits";

/// Reads `[connection.mptsrv]` of a connection, whose `compat` is `on` if it is good; [`super::check`] does the rest. `local` is unspecified where
/// the file leaves it out.
pub(in super::super) fn compat(
    context: &Context<'_>,
    connection: &mut Table<'_>,
    on: bool,
    around: &Around<'_>,
) -> Option<Located<Compat>> {
    let line = connection.line("mptsrv");
    let table = connection.table("mptsrv");
    if !on {
        if table.is_some() && !connection.has("compat") {
            let message =
                "has no effect without compat; write compat = \"mptsrv\" in the [[connection]]";
            context.error(line, "connection.mptsrv", message);
        }
        table.map(|table| parse(context, table, around));
        return None;
    }
    let Some(table) = table else {
        let message = "missing; write [connection.mptsrv] with remote = \"...\", the peer's address in the tunnel";
        context.error(connection.line("compat"), "connection.mptsrv", message);
        return None;
    };
    parse(context, table, around)
}

fn parse(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<Located<Compat>> {
    let (compat, whole) = key::read::<Compat>(&mut table, around);
    let authentication = authentication(context, &table, &compat);
    let create = creation(context, &table, compat.create.clone());
    let lines = table.finish();
    // No good one is unspecified.
    let known = whole && !compat.remote.is_unspecified();
    let value = Compat { authentication: authentication?, create, ..compat };
    known.then_some(Located { value, lines })
}

/// Returns how commands are authenticated, with the key that the file names.
fn authentication(
    context: &Context<'_>,
    table: &Table<'_>,
    compat: &Compat,
) -> Option<Authentication> {
    let key = "auth_key_file";
    let error = |at: &str, message: &str| {
        context.error(table.line(at), &table.path(key), message);
        None
    };
    match (compat.kind(), &compat.auth_key_file) {
        (Kind::Digest, Some(file)) => {
            read_key(context, table, key, file).map(Authentication::Digest)
        }
        (Kind::Digest, None) if table.has(key) => None,
        (Kind::Digest, None) => error(
            "authentication",
            &format!("missing; write auth_key_file = \"...\" with {KEY_FILE}"),
        ),
        (Kind::None | Kind::Nonce, Some(_)) => error(
            key,
            "has no effect without digests; write authentication = \"sha256\", or leave it out",
        ),
        (Kind::None | Kind::Nonce, None) => Some(compat.authentication.clone()),
    }
}

/// `create` and `create_key_file`, both or neither, with the key that the file names.
fn creation(context: &Context<'_>, table: &Table<'_>, create: Option<Create>) -> Option<Create> {
    let error = |key: &str, message: &str| {
        context.error(table.line(key), &table.path(key), message);
    };
    match (table.has("create"), table.has("create_key_file")) {
        (true, true) => {}
        (false, false) => return None,
        (true, false) => {
            let message = format!(
                "missing: creations are always authenticated; write create_key_file = \"...\" with {KEY_FILE} (in its conf.template)"
            );
            error("create_key_file", &message);
            return None;
        }
        (false, true) => {
            error("create_key_file", "has no effect without create; leave it out");
            return None;
        }
    }
    let create = create?;
    let key = read_key(context, table, "create_key_file", &create.key_file)?;
    Some(Create { authentication: Authentication::Digest(key), ..create })
}

/// Returns the key that a file holds, or the built-in one.
fn read_key(
    context: &Context<'_>,
    table: &Table<'_>,
    key: &str,
    file: &AuthKeyFile,
) -> Option<Key> {
    let AuthKeyFile::File(file) = file else { return Some(Key::built_in()) };
    let shown = file.display().to_string();
    let shown = shown.escape_debug();
    let error = |message: String| context.error(table.line(key), &table.path(key), message);
    match context.read_key(file) {
        Ok(text) => {
            let key = Key::from_text(text.trim_end_matches(['\n', '\r']));
            if key.is_none() {
                error(format!("\"{shown}\" holds no key; {REMEDY}"));
            }
            key
        }
        Err(fault) => {
            error(format!("\"{shown}\" {}", fault.describe(REMEDY)));
            None
        }
    }
}
