//! The connection to the kernel by which everything here is asked and changed.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use rtnetlink::Handle;
use tokio::runtime;
use tokio::time::timeout;

use super::Error;
use crate::netns::{Namespace, run_in};

/// The time for which an answer is waited for. The kernel answers at once unless others hold its
/// lock for the network configuration; taking down many namespaces takes it seconds. An answer that
/// the netlink crates cannot decode does not arrive at all, since they drop it.
const ANSWER: Duration = Duration::from_secs(20);

/// A connection to the kernel's network configuration in one network namespace. Clones share it.
#[derive(Clone, Debug)]
pub struct Netlink {
    pub(super) handle: Handle,
    /// The namespace of the connection, or `None` without `/proc`, which names it. A process in a
    /// root that has nothing is in no second namespace.
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
    pub(super) fn run_there<R: Send>(
        &self,
        work: impl FnOnce() -> io::Result<R> + Send,
    ) -> io::Result<R> {
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
    pub(super) async fn change(
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
    pub(super) async fn collect<M, T>(
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
