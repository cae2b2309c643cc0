//! `[connection.mptsrv]`: the settings of a connection whose peer is the papers' prototype (docs/compat.md).

pub(super) mod check;
pub(super) mod parse;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use mpt_core::compat::Authentication;

/// `dead` is this many keepalives unless the file says otherwise, as it is in the prototype.
const DEAD_KEEPALIVES: u32 = 3;
/// The word for the key that is built into the prototype.
pub(super) const BUILT_IN: &str = "default";
/// The remedy where the file of a key is expected.
pub(super) const KEY_FILE: &str = "the whole path of a file that holds the peer's auth_key, such as \
                        \"/etc/mpt/office.auth\"";

/// The authentication of commands, as the file has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Nonce,
    Digest,
}

/// The words for how commands are authenticated.
pub(super) const KINDS: [(&str, Kind); 3] =
    [("none", Kind::None), ("nonce", Kind::Nonce), ("sha256", Kind::Digest)];

/// `compat = "mptsrv"` with its `[connection.mptsrv]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compat {
    /// Address of this host in the tunnel: one of the device's.
    pub local: IpAddr,
    /// Address of the peer in the tunnel, of the same family.
    pub remote: IpAddr,
    /// UDP port on which this host takes commands, at the local addresses of the paths.
    pub command_port: u16,
    /// UDP port on which the peer takes commands.
    pub remote_command_port: u16,
    /// Authentication of commands, both ways.
    pub authentication: Authentication,
    /// The source of the key.
    pub auth_key_file: Option<AuthKeyFile>,
    /// Interval of the keepalives; zero for none.
    pub keepalive: Duration,
    /// Time without a packet after which a path is down; zero for never.
    pub dead: Duration,
    /// Its part in creations; `None`: it takes none.
    pub create: Option<Create>,
}

/// The part of a connection in creations (0xA3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// True if this host asks the peer to create; otherwise it answers when the peer asks.
    pub ask: bool,
    /// Digests with the key of creations.
    pub authentication: Authentication,
    /// The source of that key.
    pub key_file: AuthKeyFile,
}

/// The source of the key of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthKeyFile {
    /// The key that is built into the prototype, and known to everybody.
    BuiltIn,
    /// The key in this file.
    File(PathBuf),
}

impl Compat {
    /// Returns what `dead` is unless the file says otherwise.
    pub(super) fn usual_dead(&self) -> Duration {
        self.keepalive * DEAD_KEEPALIVES
    }

    /// Returns how commands are authenticated, without the key.
    pub(super) fn kind(&self) -> Kind {
        match self.authentication {
            Authentication::None => Kind::None,
            Authentication::Nonce => Kind::Nonce,
            Authentication::Digest(_) => Kind::Digest,
        }
    }

    /// The word for how commands are authenticated.
    #[must_use]
    pub fn authentication_word(&self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self.kind()).map_or("", |(word, _)| word)
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
