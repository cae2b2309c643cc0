//! What the control socket asks of the daemon. Whoever serves the queue answers through `reply`, or drops it when it cannot.

use mpt_api::{Failure, PathChange, Reloaded, Snapshot};
use tokio::sync::oneshot;

/// How a command is answered: once, with the result or with the reason why nothing was done.
pub type Answer<T> = oneshot::Sender<Result<T, Failure>>;

/// One request of a client that speaks the right version and whose values are in range.
#[derive(Debug)]
pub enum Command {
    /// Everything as it stands now.
    Show {
        /// The snapshot.
        reply: Answer<Snapshot>,
    },
    /// Changes one path; it takes effect with the next packet.
    SetPath {
        /// Name of the connection; may not exist ([`mpt_api::Code::NotFound`]).
        connection: String,
        /// Name of the path; may not exist either.
        path: String,
        /// What to change; not empty.
        change: PathChange,
        /// Done.
        reply: Answer<()>,
    },
    /// Reads the configuration file again and applies the difference.
    Reload {
        /// What changed; [`mpt_api::Code::Config`] with the errors of a bad file, which changes nothing.
        reply: Answer<Reloaded>,
    },
}
