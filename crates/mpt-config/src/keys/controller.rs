//! `[[controller]]`

use mpt_api::Permission;

use super::super::key::{Keys, Part, Shown, field, key};
use super::super::peers::Controller;
use super::{KEY, KEY_FILE, NAME, PSK_FILE, PUBLIC_KEY_MISSING, no_key};
use crate::syntax::form::Choices;

const PERMISSIONS: Choices<Permission> = Choices {
    words: || Permission::ALL.map(|it| (it.word(), it)).to_vec(),
    fault: "is nothing that can be allowed",
};

impl Keys for Controller {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Controller.name,
            NAME,
            "The log calls the controller by this name, which no other one has."
        )
        .vital("name = \"noc\"")
        .shown(Shown::Set("\"noc\"")),
        &field!(
            Controller.public_key,
            KEY,
            "Public key of the controller, which no other one has."
        )
        .vital(PUBLIC_KEY_MISSING)
        .shown(Shown::Set("\"9f6iBNhI6TFyuMYUSs5SB5V/Hm0jW2bSjtXVS/qkRCw=\"")),
        &field!(Controller.psk_file?, KEY_FILE, PSK_FILE,)
            .differing_by(|old, new| old.psk != new.psk)
            .shown(Shown::Example("\"/etc/mpt/noc.psk\"")),
        &key(
            "allow",
            PERMISSIONS,
            |it: &Controller| Some(it.allow.clone()),
            |it, mut value| {
                value.sort_unstable();
                value.dedup();
                it.allow = value;
            },
            "The controller may ask for these: \"show\", \"monitor\", \"path\" (paths, interfaces, keepalives, measurements), \"connection\" (create, \
             delete, save) and \"reload\".",
        ),
    ];

    fn usual() -> Self {
        Controller {
            name: String::new(),
            public_key: no_key(),
            psk: None,
            psk_file: None,
            allow: vec![Permission::Show, Permission::Monitor],
        }
    }
}
