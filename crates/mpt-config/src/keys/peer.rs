//! `[connection.peer]`

use super::super::key::{Keys, Part, Reload, Shown, Within, field};
use super::super::peers::{Peer, Timing};
use super::{KEY, KEY_FILE, PSK_FILE, PUBLIC_KEY_MISSING, no_key};
use crate::syntax::form::Boolean;

impl Keys for Peer {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Peer.public_key,
            KEY,
            "Public key of the peer: what `mpt pubkey` prints there."
        )
        .vital(PUBLIC_KEY_MISSING)
        .at_reload(Reload::Replaced)
        .shown(Shown::Set("\"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"")),
        &field!(
            Peer.psk_file?,
            KEY_FILE,
            PSK_FILE
        )
        .differing_by(|old, new| old.psk != new.psk)
        .shown(Shown::Example("\"/etc/mpt/office.psk\"")),
        &field!(
            Peer.initiate,
            Boolean,
            "If true, this host initiates the session. By default it does when every path has a remote; one of the two hosts has to."
        )
        .follows(|_, around| Some(around.knows_remotes)),
        &field!(
            Peer.create,
            Boolean,
            "If true, the peer is asked to create the connection, as the policy of its [[client]] allows: it assigns the GRE key, and the device's addresses \
             where they are \"assigned\". Otherwise the connection is in the files of both hosts."
        )
        .at_reload(Reload::Replaced),
        &Within { get: |it: &Peer| &it.timing, get_mut: |it| &mut it.timing, note: None },
        &field!(
            Peer.follow_weights,
            Boolean,
            "If true, the weights that the peer asks for (its weight_in) take the place of ours for what we send."
        ),
    ];

    fn usual() -> Self {
        Peer {
            public_key: no_key(),
            psk: None,
            psk_file: None,
            initiate: false,
            create: false,
            timing: Timing::default(),
            follow_weights: true,
        }
    }
}
