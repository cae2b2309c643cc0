//! Tokens, with which hosts join a server as its clients.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// All tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Valid tokens, and used ones whose time is not over, in the order in which they were made.
    pub tokens: Vec<Token>,
}

/// One token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name: 16 hexadecimal digits.
    pub id: String,
    /// Its secret, in base64. Only in the answer that makes the token: the daemon tells it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The public key of this daemon, in base64.
    pub public_key: String,
    /// The UDP port on which this daemon listens.
    pub port: u16,
    /// Name of the `[[client]]` that its owner becomes, or has become; `None`: as the host calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Name of the `[[pool]]` that gives the client its addresses.
    pub pool: String,
    /// Networks that the client is told to route into the tunnel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
    /// Whole seconds for which it is still good.
    pub seconds_left: u64,
    /// The public key of the host that has used it, in base64; `None`: nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

/// Shows no secret.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}
