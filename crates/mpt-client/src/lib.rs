//! Conversations with daemons: on the control socket of one on this host ([`Local`]), or with one elsewhere in a steering
//! session ([`Remote`]); and [`join`], by which a host becomes a client of one. The requests are the same (docs/control-api.md).
//!
//! ```no_run
//! use mpt_client::{Client, Remote, Target};
//!
//! let target = Target {
//!     address: mpt_client::address("192.0.2.1")?,
//!     peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".parse()?,
//!     identity: mpt_client::private_key("/etc/mpt/controller.key".as_ref())?,
//!     psk: None,
//!     name: "example".into(),
//! };
//! let mut client = Client::from(Remote::connect(target)?);
//! println!("{:?}", client.call(mpt_api::Command::Show)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything blocks, and nothing happens in between: a daemon that went away is noticed by the next call.
#![forbid(unsafe_code)]

mod answer;
mod error;
mod files;
mod joining;
mod key_file;
mod key_file_error;
mod local;
mod remote;
mod reply;
mod session;
mod target;

pub use error::Error;
pub use files::{preshared_key, private_key};
pub use joining::{NotJoined, join};
pub use key_file::read_key_file;
pub use key_file_error::{KeyFileError, KeyKind};
pub use local::Local;
use mpt_api::{Command, Event, Reply};
pub use remote::{Remote, address};
pub use target::Target;

/// A conversation with a daemon, wherever it is.
#[derive(Debug)]
pub struct Client(Way);

#[derive(Debug)]
enum Way {
    Local(Local),
    Remote(Box<Remote>),
}

impl From<Local> for Client {
    fn from(local: Local) -> Self {
        Client(Way::Local(local))
    }
}

impl From<Remote> for Client {
    fn from(remote: Remote) -> Self {
        Client(Way::Remote(Box::new(remote)))
    }
}

impl Client {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub fn call(&mut self, command: Command) -> Result<Reply, Error> {
        match &mut self.0 {
            Way::Local(local) => local.call(command),
            Way::Remote(remote) => remote.call(command),
        }
    }

    /// Waits for the next event, however long: after [`Command::Monitor`].
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub fn event(&mut self) -> Result<Event, Error> {
        match &mut self.0 {
            Way::Local(local) => local.event(),
            Way::Remote(remote) => remote.event(),
        }
    }
}
