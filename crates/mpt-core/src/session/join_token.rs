//! The one-time token by which a host that is not known yet registers its key (docs/protocol.md, section 20.1).

use std::fmt;

use blake2::Blake2s256;
use blake2::digest::Digest;
use zeroize::Zeroizing;

use super::PresharedKey;

/// The length of the secret of a token, bytes.
pub const JOIN_SECRET_LEN: usize = 16;

/// The length of the part of the hash that names a token, bytes.
const ID_LEN: usize = 8;
/// The label from which, with its secret, the name of a token is derived.
const ID_LABEL: &[u8] = b"mpt join id";
/// The label from which, with its secret, the pre-shared key of a token is derived.
const KEY_LABEL: &[u8] = b"mpt join key";

/// A token, as both ends derive it from its secret. The name goes into the sealed Hello of the
/// initiation; the pre-shared key takes part in the handshake.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    id: String,
    psk: PresharedKey,
}

impl JoinToken {
    /// Derives the token from its secret, which has to be random.
    #[must_use]
    pub fn from_secret(secret: &[u8; JOIN_SECRET_LEN]) -> Self {
        let hash = labelled(ID_LABEL, secret);
        let id = hash.iter().take(ID_LEN).map(|byte| format!("{byte:02x}")).collect();
        Self { id, psk: PresharedKey::from_seed(*labelled(KEY_LABEL, secret)) }
    }

    /// Returns the name of the token: 16 hexadecimal digits, from which the secret does not follow.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the pre-shared key of sessions that this token opens.
    #[must_use]
    pub fn psk(&self) -> &PresharedKey {
        &self.psk
    }
}

/// Shows the name only.
impl fmt::Debug for JoinToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JoinToken").field("id", &self.id).finish_non_exhaustive()
    }
}

fn labelled(label: &[u8], secret: &[u8; JOIN_SECRET_LEN]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(Blake2s256::new().chain_update(label).chain_update(secret).finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's hashlib.blake2s: `blake2s(b"mpt join id" + bytes([7]*16))` and the same with `b"mpt join key"`.
    #[test]
    fn a_token_stays_what_it_is() {
        let token = JoinToken::from_secret(&[7; JOIN_SECRET_LEN]);
        assert_eq!(token.id(), "cccbc0edf3ce2700");
        assert_eq!(*token.psk().to_base64(), "L5ci+vQTJDIH4tv51UgXT+ys6ySVtBZcJEHXUKP5HKY=");
        assert!(!format!("{token:?}").contains(token.psk().to_base64().as_str()));
    }
}
