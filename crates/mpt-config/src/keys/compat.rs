//! `[connection.mptsrv]`

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use mpt_core::compat::{Authentication, Key};

use super::super::compat::{AuthKeyFile, BUILT_IN, Compat, Create, KEY_FILE, KINDS, Kind};
use super::super::key::{Keys, Part, Shown, field, key};
use crate::syntax::form::{Choice, PORT, Text, text, time_or_zero};
use crate::syntax::values::{self, Fault};

/// Command port of the prototype's sample configuration.
const COMMAND_PORT: u16 = 60_456;
const INNER: Text<IpAddr> =
    text("an address in the tunnel, such as \"10.9.0.2\"", values::endpoint, ToString::to_string);
const FILE: Text<AuthKeyFile> = text(KEY_FILE, key_file, ToString::to_string);
const CREATE: [(&str, bool); 2] = [("ask", true), ("answer", false)];

fn key_file(text: &str) -> Result<AuthKeyFile, Fault> {
    match text {
        BUILT_IN => Ok(AuthKeyFile::BuiltIn),
        _ => values::absolute(text).map(|file: PathBuf| AuthKeyFile::File(file)),
    }
}

/// Returns what takes part in creations, made when there is none.
fn create(compat: &mut Compat) -> &mut Create {
    compat.create.get_or_insert_with(|| Create {
        ask: false,
        authentication: Authentication::Digest(Key::built_in()),
        key_file: AuthKeyFile::BuiltIn,
    })
}

impl Keys for Compat {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Compat.remote,
            INNER,
            "Address of the peer in the tunnel (its ip_local)."
        )
        .required("remote = \"...\" with the peer's address in the tunnel")
        .shown(Shown::Set("\"10.9.0.6\"")),
        &key(
            "local",
            INNER,
            |it: &Compat| Some(it.local).filter(|local| !local.is_unspecified()),
            |it, value| it.local = value,
            "Address of this host in the tunnel. By default it is the device's first of the family of remote."
        )
        .shown(Shown::Example("\"10.9.0.1\"")),
        &field!(
            Compat.command_port,
            PORT,
            "Commands arrive on this UDP port, at the local addresses of the paths."
        ),
        &field!(
            Compat.remote_command_port,
            PORT,
            "Commands are sent to this UDP port of the peer (its cmdport_local)."
        ),
        &key(
            "authentication",
            Choice(&KINDS),
            |it: &Compat| Some(it.kind()),
            |it, value| {
                it.authentication = match value {
                    Kind::None => Authentication::None,
                    Kind::Nonce => Authentication::Nonce,
                    // Until the file is read.
                    Kind::Digest => Authentication::Digest(Key::built_in()),
                };
            },
            "Commands are authenticated by nothing (\"none\", the default), by \"nonce\" or by \"sha256\" (its auth_type 0, 1, 2)."
        )
        .shown(Shown::Example("\"sha256\"")),
        &field!(
            Compat.auth_key_file?,
            FILE,
            "With \"sha256\", this file holds the peer's auth_key, such as \"/etc/mpt/office.auth\"; nobody but root and the user of the daemon may be able \
             to open it. \"default\" is the key built into the prototype, which is known to everybody."
        )
        .shown(Shown::Example("\"default\"")),
        &field!(
            Compat.keepalive,
            // The prototype's field has 8 bits.
            time_or_zero(Duration::from_millis(100)..=Duration::from_secs(255)),
            "The peer is told at this interval that a path is there; \"0\" stands for never. It is less than the peer's dead_time."
        ),
        &field!(
            Compat.dead,
            time_or_zero(Duration::from_millis(200)..=Duration::from_secs(3600)),
            "A path is declared dead after this long without a keepalive of the peer; \"0\" stands for never. By default it is three keepalives."
        )
        .follows(|it, _| Some(it.usual_dead())),
        &key(
            "create",
            Choice(&CREATE),
            |it: &Compat| it.create.as_ref().map(|create| create.ask),
            |it, ask| create(it).ask = ask,
            "The prototype's way to have a connection made by the peer (its `mpt create`): \"ask\" the peer to make its end of this one, or \"answer\" it, \
             which has to describe this one as it stands here. By default neither. Such a connection has at most 3 paths."
        )
        .shown(Shown::Example("\"answer\"")),
        &key(
            "create_key_file",
            FILE,
            |it: &Compat| it.create.as_ref().map(|create| create.key_file.clone()),
            |it, file| create(it).key_file = file,
            "Messages of creations always have a digest, whose key is the auth_key of the server's conf.template; this file holds it. Afterwards the \
             prototype authenticates by the built-in key, so with \"sha256\" auth_key_file has to be \"default\" as well."
        )
        .shown(Shown::Example("\"/etc/mpt/template.auth\"")),
    ];

    fn usual() -> Self {
        let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let usual = Compat {
            local: unknown,
            remote: unknown,
            command_port: COMMAND_PORT,
            remote_command_port: COMMAND_PORT,
            authentication: Authentication::None,
            auth_key_file: None,
            // The prototype counts whole seconds.
            keepalive: Duration::from_secs(1),
            dead: Duration::ZERO,
            create: None,
        };
        Compat { dead: usual.usual_dead(), ..usual }
    }
}
