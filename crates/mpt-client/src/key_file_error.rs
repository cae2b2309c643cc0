//! The reasons why a key file is not used, and the remedy, which depends on the kind of key.

use std::path::Path;

/// The reason why a key file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFileError {
    /// There is no such file.
    Missing,
    /// The file must not be used, or cannot be.
    Unusable {
        /// The fault, as a text after the name of the file: "is not a file".
        fault: String,
        /// The remedy, as a sentence: "run `chmod 600 FILE`".
        remedy: String,
    },
}

/// The kinds of keys that `mpt` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The private key of a host.
    Private,
    /// The pre-shared key of two peers.
    Preshared,
}

impl KeyFileError {
    /// Returns fault and remedy as a text after the name of the file. `missing` is the remedy where there is no such file.
    #[must_use]
    pub fn describe(&self, missing: &str) -> String {
        match self {
            KeyFileError::Missing => format!("is not there; {missing}"),
            KeyFileError::Unusable { fault, remedy } => format!("{fault}; {remedy}"),
        }
    }
}

impl KeyKind {
    /// Returns the command that makes such a key.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            KeyKind::Private => "mpt genkey",
            KeyKind::Preshared => "mpt genpsk",
        }
    }

    /// Returns the remedy where a file with such a key is missing.
    #[must_use]
    pub fn remedy_if_missing(self, file: &Path) -> String {
        let (command, file) = (self.command(), file.display());
        match self {
            KeyKind::Private => format!("run `{command} -o {file}`"),
            KeyKind::Preshared => format!(
                "run `{command} -o {file}` and copy that file to the peer, or copy the peer's here if it has one"
            ),
        }
    }
}
