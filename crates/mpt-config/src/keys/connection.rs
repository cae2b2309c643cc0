//! `[[connection]]`

use mpt_api::{Direction, Ecn, Mapping, Repair, Seal};

use super::super::compat::Compat;
use super::super::key::{Keys, Part, Reload, Shown, Within, field, key};
use super::super::types::{Connection, Fallback, usual_ecn, usual_mapping, usual_seal};
use super::{DEVICE, NAME};
use crate::syntax::form::{Boolean, Choice, Integer, List, text};
use crate::syntax::values;
use crate::types::reorder::Reorder;

/// The words for mappings.
pub(super) const MAPPINGS: [(&str, Mapping); 4] = [
    ("packet", Mapping::Packet),
    ("adaptive", Mapping::Adaptive),
    ("flow", Mapping::Flow),
    ("duplicate", Mapping::Duplicate),
];
/// The words for what becomes of lost packets.
pub(super) const REPAIRS: [(&str, Repair); 3] =
    [("auto", Repair::Auto), ("off", Repair::Off), ("all", Repair::All)];
const DIRECTIONS: [(&str, Direction); 3] =
    [("both", Direction::Both), ("send", Direction::Send), ("receive", Direction::Receive)];
const ECN: [(&str, Ecn); 2] = [("compatibility", Ecn::Compatibility), ("normal", Ecn::Normal)];
/// The words for what is sealed.
pub(super) const SEALS: [(&str, Seal); 3] =
    [("off", Seal::Off), ("on", Seal::On), ("require", Seal::Require)];
const FALLBACKS: [(&str, Fallback); 2] = [("block", Fallback::Block), ("direct", Fallback::Direct)];

impl Keys for Connection {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Connection.name,
            NAME,
            "The command line and the log call the connection by this name, which no other one has."
        )
        .vital("name = \"office\"")
        .at_reload(Reload::Replaced)
        .shown(Shown::Set("\"office\"")),
        &field!(
            Connection.device,
            DEVICE,
            "The connection uses this [[device]]. By default it uses the only one there is."
        )
        .follows(|_, around| around.device.map(str::to_owned))
        .at_reload(Reload::Replaced),
        &field!(
            Connection.networks,
            List {
                example: "\"192.168.2.0/24\"",
                parse: values::routed_network,
                show: ToString::to_string,
            },
            "The networks behind the peer, its own address in the tunnel included. They are routed into the tunnel, select this connection for \
             packets from the device, and are the only source addresses accepted from the peer. 0.0.0.0/0 and ::/0 lead everything through the \
             tunnel but the outer packets themselves."
        )
        .required("networks = [\"192.168.2.0/24\"], the networks behind the peer")
        .shown(Shown::Set("[\"10.9.0.2\", \"fd00:9::2\", \"192.168.2.0/24\"]")),
        &field!(
            Connection.routes,
            Boolean,
            "If true, routes to the networks are installed, and removed on exit."
        ),
        &field!(
            Connection.fallback,
            Choice(&FALLBACKS),
            "What becomes of packets to the networks while they cannot go through the tunnel. With \"block\" they go nowhere, also while routes and \
             rules are put back that somebody removed, and after a crash, until mptd runs again or `mptd --unblock`; a stop of mptd opens the way. \
             With \"direct\" they take another route while that into the tunnel is missing and while mptd does not run; those of a default route \
             (0.0.0.0/0 or ::/0) also while no path works."
        ),
        &field!(
            Connection.direction,
            Choice(&DIRECTIONS),
            "Packets travel in both directions (\"both\"), or are only sent (\"send\") or received (\"receive\")."
        ),
        &field!(
            Connection.mapping,
            Choice(&MAPPINGS),
            "How packets are spread over the paths: \"adaptive\" (each by itself, over the paths that are measured to have room for it, without weights or \
             rates to be configured; what no path has room for waits here, fairly among the flows; needs a session), \"packet\" (each by itself, in \
             proportion to the weights), \"flow\" (each flow stays on one path, without sequence numbers), or \"duplicate\" (a copy on every path: \
             nothing is lost while one path works). With \"adaptive\" and \"packet\" the rates of the paths add up for a single TCP connection. By default it \
             is \"adaptive\" with [connection.peer] and sequence numbers, \"packet\" without."
        )
        .follows(|it, around| Some(usual_mapping(around.peer_kind, it.sequence))),
        &key(
            "seal",
            Choice(&SEALS),
            // Without a session nothing is sealed, and the file has no reason to say so.
            |it: &Connection| it.peer.is_some().then_some(it.seal),
            |it, value| it.seal = value,
            "Whether data is encrypted and authenticated under the keys of the session: \"on\" (if the peer does so, too; with one that does not, data is \
             plain, and mptd warns of it; a peer that has done so once is not accepted without it), \"require\" (without it there is no data), or \"off\". \
             By default it is \"on\" with [connection.peer]; without, nothing is sealed. It takes 20 bytes of each packet more than a sequence number does. \
             A change ends the session, which begins anew."
        )
        .follows(|_, around| usual_seal(around.peer_kind))
        .shown(Shown::Example("\"require\"")),
        &field!(
            Connection.repair,
            Choice(&REPAIRS),
            "What becomes of packets that are lost, with mapping = \"adaptive\" at the end that sends them: \"auto\" (they are sent again as soon as \
             they are known to be lost, so that a TCP connection does not slow down; repairs take 1.3 times the bytes that were lost at most, and 0.2 % \
             of those that were sent; at the end that receives, bulk flows wait for them, and voice, other sparse flows, ICMP and classes with late = \
             \"deliver\" do not), \"all\" (the same, but every packet waits for those before it), or \"off\" (they are lost). Nothing is kept for it \
             while no path loses packets. Mappings \"flow\" and \"duplicate\" have no repair."
        ),
        &key(
            "key",
            Integer { noun: "a GRE key", range: 0..=u32::MAX as u64 },
            |it: &Connection| it.key,
            |it, value| (it.key, it.requested_key) = (Some(value), Some(value)),
            "GRE key (RFC 2890). Connections between the same addresses and ports need different keys. By default there is none."
        )
        .at_reload(Reload::Replaced)
        .shown(Shown::Example("1")),
        &field!(
            Connection.sequence,
            Boolean,
            "If true, packets carry GRE sequence numbers (RFC 2890), which the peer needs to put them back in order. Without them, and without a key, a \
             connection with one path is plain RFC 8086."
        ),
        &field!(
            Connection.checksum,
            Boolean,
            "If true, each packet carries a GRE checksum (RFC 2784). It is seldom useful, since the UDP checksum covers the same bytes, and takes seal = \
             \"off\" where there is a session."
        ),
        &field!(
            Connection.udp_checksum,
            Boolean,
            "If true, the outer UDP header carries a checksum. Over IPv6 it cannot be switched off. Connections whose paths send from one local address and \
             port have the same setting."
        ),
        &Within { get: |it: &Connection| &it.reorder, get_mut: |it| &mut it.reorder, note: None },
        &field!(
            Connection.multicast,
            Boolean,
            "If true, the connection carries link-local and multicast packets (routing protocols). One connection of a device can."
        ),
        &field!(
            Connection.copy_dscp,
            Boolean,
            "If true, the DSCP of each packet is copied to the outer header, for paths whose networks honour it."
        ),
        &field!(
            Connection.ecn,
            Choice(&ECN),
            "Mode of explicit congestion notification (RFC 6040): \"normal\" only if the peer is known to comply, else \"compatibility\". With mapping = \
             \"adaptive\" the default is \"normal\", since the peer is mpt then."
        )
        .follows(|it, _| Some(usual_ecn(it.mapping))),
        &key(
            "compat",
            text("\"mptsrv\"", compat, |()| "mptsrv".to_owned()),
            |it: &Connection| it.compat.as_ref().map(|_| ()),
            |it, ()| it.compat = Some(Compat::usual()),
            "The peer is mptsrv, the prototype of the papers (docs/compat.md). The connection then has a table [connection.mptsrv]."
        )
        .at_reload(Reload::Replaced)
        .shown(Shown::Apart("\"mptsrv\"")),
    ];

    fn usual() -> Self {
        Connection {
            name: String::new(),
            device: String::new(),
            networks: Vec::new(),
            selectors: Vec::new(),
            prompt: Vec::new(),
            protected: Vec::new(),
            unprotected: Vec::new(),
            key: None,
            requested_key: None,
            sequence: true,
            checksum: false,
            udp_checksum: true,
            seal: Seal::Off,
            direction: Direction::default(),
            mapping: Mapping::default(),
            repair: Repair::default(),
            reorder: Reorder::default(),
            multicast: false,
            copy_dscp: false,
            ecn: Ecn::default(),
            routes: true,
            fallback: Fallback::default(),
            peer: None,
            compat: None,
            paths: Vec::new(),
        }
    }
}

fn compat(text: &str) -> Result<(), values::Fault> {
    if text == "mptsrv" { Ok(()) } else { Err("is not known".into()) }
}
