//! The name of a client's connection: that of the client, and the client's name for the connection.

use std::fmt;

/// Identifies the connection of a client. Shown as `client.request`; client names have no dot, so it can be read in one way only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientConnection {
    /// Name of the `[[client]]`.
    pub(crate) client: String,
    /// The name that the client gave it.
    pub(crate) request: String,
}

impl ClientConnection {
    /// Reads a name as it is shown; `None` for one that is no client's.
    pub(crate) fn parse(shown: &str) -> Option<Self> {
        let (client, request) = shown.split_once('.')?;
        Some(Self { client: client.to_owned(), request: request.to_owned() })
    }
}

impl fmt::Display for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.client, self.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_name_is_read_in_one_way() {
        let name = ClientConnection { client: "anna".into(), request: "home.office".into() };
        assert_eq!(name.to_string(), "anna.home.office");
        assert_eq!(ClientConnection::parse("anna.home.office"), Some(name));
        assert_eq!(ClientConnection::parse("office"), None);
    }
}
