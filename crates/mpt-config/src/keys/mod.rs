//! The table of keys: for each table of the file its keys, in the order of the example. Each key stands here once; whatever has to do with keys goes
//! through this table (see [`super::key`]).

mod client;
mod compat;
mod connection;
mod controller;
mod daemon;
mod device;
mod path;
mod peer;
mod pool;
mod reorder;
mod select;
mod timing;

use std::path::{Path, PathBuf};

use mpt_core::session::PublicKey;

use super::syntax::form::{Text, text};
use super::syntax::values;

/// The remedy where a public key is expected.
const PUBLIC_KEY: &str = "the 44 characters that `mpt pubkey` prints at the peer";
/// The remedy where a public key is missing.
const PUBLIC_KEY_MISSING: &str =
    "public_key = \"...\" with the 44 characters that `mpt pubkey` prints at the peer";
const PSK_FILE: &str = "This file holds a pre-shared key (`mpt genpsk -o FILE`), which both hosts have besides their key pairs. It protects what is \
                        recorded today from the computers of the future. By default there is none.";
/// The remedy where there are several devices and none is named.
pub(super) const ONE_DEVICE: &str = "device = \"...\" with the name of one [[device]]";

/// The form of names of connections, paths, pools and controllers.
const NAME: Text<String> =
    text("letters, digits, \".\", \"_\", \"-\"", values::name, String::clone);
/// The form of a name of a [[device]].
const DEVICE: Text<String> = text("the name of a [[device]]", values::interface, String::clone);
/// The form of the name of a file with a key.
const KEY_FILE: Text<PathBuf> = text(
    "the whole path of a key file, such as \"/etc/mpt/office.psk\"",
    values::absolute,
    path_text,
);
/// The form of a public key.
const KEY: Text<PublicKey> = text(PUBLIC_KEY, values::public_key, ToString::to_string);

fn path_text<P: AsRef<Path>>(path: &P) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// A public key that stands for none.
fn no_key() -> PublicKey {
    PublicKey::from([0; 32])
}
