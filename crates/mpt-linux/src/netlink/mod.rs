//! Addresses, routes, policy rules and link events by rtnetlink, asynchronously.
//!
//! [`Netlink`] asks the kernel, [`Events`] tells what changes, [`Owned`] remembers what was created
//! so that exactly this can be removed. Interfaces are named by their kernel index, which is never
//! used twice; [`Netlink::link`] finds it. Every request must run inside a Tokio runtime with its
//! time and I/O drivers enabled.

mod address;
mod error;
mod event;
mod guard;
mod internet;
mod link;
mod numbers;
mod owned;
mod path;
mod route;
mod rule;
mod steering;
mod uplink;
mod veth;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use rtnetlink::Handle;
use tokio::runtime;
use tokio::time::timeout;

use crate::netns::{Namespace, run_in};

pub use address::Address;
pub use error::Error;
pub use event::{Event, Events};
pub use internet::Internet;
pub use link::LinkInfo;
pub use numbers::NUMBERS;
pub use owned::Owned;
pub use path::PathRouting;
pub use route::{Lookup, MAIN_TABLE, Query, Route, Via};
pub use rule::{Action, BLOCK_RULE_PRIORITY, PATH_RULE_PRIORITY, Rule, TUNNEL_RULE_PRIORITY};
pub use uplink::Uplink;
pub use veth::VethEnd;

/// Marks the routes (`rtm_protocol`) and rules (`FRA_PROTOCOL`) that we created: `ip route show
/// proto 109`. Not assigned in the kernel's `rtnetlink.h` nor in iproute2's `rt_protos`.
pub const PROTOCOL: u8 = 109;

/// The owner of the rules and routes that the kernel makes (`RTPROT_KERNEL`).
const KERNEL: u8 = 2;

/// How long an answer is waited for. The kernel answers at once unless others hold its lock for the network configuration: to take down many
/// namespaces at a time takes it seconds. An answer that does not come at all could not be decoded by the netlink crates, which drop it.
const ANSWER: Duration = Duration::from_secs(20);

/// A connection to the kernel's network configuration in one network namespace. Clones share it.
#[derive(Clone, Debug)]
pub struct Netlink {
    handle: Handle,
    /// Where it is. `None` without `/proc`, which tells: a process in a root that has nothing is in no second namespace.
    namespace: Option<Arc<Namespace>>,
}

impl Netlink {
    /// Connects to the network namespace of the calling thread and stays there.
    pub fn connect() -> Result<Self, Error> {
        // Strict checking makes the kernel filter dumps by table and interface.
        let (connection, handle, _unsolicited) =
            rtnetlink::new_connection_with_strict_check().map_err(Error::Connect)?;
        tokio::spawn(connection);
        let namespace = match Namespace::current() {
            Ok(namespace) => Some(Arc::new(namespace)),
            Err(_) if !Path::new("/proc/self").exists() => None,
            Err(error) => return Err(Error::Connect(io::Error::other(error))),
        };
        Ok(Self { handle, namespace })
    }

    /// Runs `work` in the network namespace of this connection. Entering it takes a privilege, which
    /// is not needed where we are in it.
    fn run_there<R: Send>(&self, work: impl FnOnce() -> io::Result<R> + Send) -> io::Result<R> {
        match &self.namespace {
            Some(namespace) if !namespace.is_current() => {
                run_in(namespace, work).map_err(io::Error::other)?
            }
            _ => work(),
        }
    }

    /// Connects to the configuration of `namespace`.
    pub fn connect_in(namespace: &Namespace) -> Result<Self, Error> {
        let runtime = runtime::Handle::current();
        let connect = || {
            let _guard = runtime.enter();
            Self::connect()
        };
        run_in(namespace, connect).map_err(|error| Error::Connect(io::Error::other(error)))?
    }

    /// Waits for the end of a change. `attempt` says what was attempted, for the error.
    async fn change(
        &self,
        attempt: impl Display,
        request: impl Future<Output = Result<(), rtnetlink::Error>>,
    ) -> Result<(), Error> {
        match timeout(ANSWER, request).await {
            Ok(result) => result.map_err(|error| Error::new(attempt, error)),
            Err(_) => Err(Error::silent(attempt)),
        }
    }

    /// Collects the answers of a query, whose number the kernel decides.
    async fn collect<M, T>(
        &self,
        attempt: impl Display,
        answers: impl Stream<Item = Result<M, rtnetlink::Error>>,
        mut select: impl FnMut(M) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let mut answers = Box::pin(answers);
        let mut selected = Vec::new();
        loop {
            match timeout(ANSWER, answers.next()).await {
                Ok(Some(Ok(message))) => selected.extend(select(message)),
                Ok(Some(Err(error))) => return Err(Error::new(attempt, error)),
                Ok(None) => return Ok(selected),
                Err(_) => return Err(Error::silent(attempt)),
            }
        }
    }
}

fn tolerate_gone(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_gone() => Ok(()),
        other => other,
    }
}
