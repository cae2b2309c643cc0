//! The announcement of this end in a handshake.

use mpt_wire::control::hello::{Hello, MAX_NAME_LEN, Name, Welcome};
use mpt_wire::control::{Capabilities, Capability, Challenge, Sealing};

use crate::session::engine::lifecycle::session::Session;

impl Session {
    /// Returns what we say of ourselves in an initiation.
    pub(crate) fn hello(&self, challenge: Option<Challenge>, sealing: Option<Sealing>) -> Hello {
        let capabilities = Capabilities::from_slice(Capability::ANNOUNCED).unwrap_or_default();
        let name = hello_name(&self.identity.name);
        Hello {
            kind: self.identity.kind,
            key: self.identity.key,
            capabilities,
            name,
            challenge,
            sealing,
        }
    }

    /// Returns what we say of ourselves in a response.
    pub(crate) fn welcome(&self, sealing: Option<Sealing>) -> Welcome {
        let capabilities = Capabilities::from_slice(Capability::ANNOUNCED).unwrap_or_default();
        Welcome { attached: self.link.connection().is_some(), capabilities, sealing }
    }
}

/// Returns as much of a name as a Hello has room for.
pub(crate) fn hello_name(name: &str) -> Name {
    let mut end = name.len().min(MAX_NAME_LEN);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).and_then(|name| Name::new(name).ok()).unwrap_or_default()
}
