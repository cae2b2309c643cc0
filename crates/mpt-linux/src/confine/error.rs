//! The reasons why a process could not be confined.

use std::path::PathBuf;

use thiserror::Error;

/// The reasons why a process could not be confined.
#[derive(Debug, Error)]
pub enum Error {
    /// The user does not exist.
    #[error("there is no user \"{0}\"")]
    NoUser(String),
    /// The system refuses to become the user.
    #[error("become user {user}: {source}")]
    Switch {
        /// Name of the user.
        user: String,
        /// The kernel's answer.
        #[source]
        source: nix::Error,
    },
    /// The system refuses to look up a user.
    #[error("look up user {user}: {source}")]
    LookUp {
        /// Name of the user.
        user: String,
        /// The kernel's answer.
        #[source]
        source: nix::Error,
    },
    /// A directory cannot be given to the user.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
    },
    /// The user cannot open the TUN driver's node, and there is no helper that opens it.
    #[error(
        "start the helper that opens /dev/net/tun: {0}; let the user open it instead (chmod 0666 /dev/net/tun)"
    )]
    Helper(#[source] std::io::Error),
    /// Capabilities cannot be given up.
    #[error("give up capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// Programs started later could have more rights.
    #[error("give up new privileges: {0}")]
    NewPrivileges(#[source] nix::Error),
    /// The memory of the process cannot be kept from others.
    #[error("forbid core dumps: {0}")]
    Memory(#[source] nix::Error),
    /// The rules for files and TCP were refused.
    #[error("landlock: {0}")]
    Sandbox(#[from] landlock::RulesetError),
    /// The filter of system calls was refused.
    #[error("seccomp: {0}")]
    SystemCalls(#[source] Box<dyn std::error::Error + Send + Sync>),
}
