//! The requester of a change, for the log.

/// The target of the lines in the log, which filters name and the manual shows.
const TARGET: &str = "mptd::requester";

/// The requester of a change: a command on this host, or a controller in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requester {
    /// User of the process on this host.
    pub(crate) uid: Option<u32>,
    /// The process on this host.
    pub(crate) pid: Option<i32>,
    /// Name of the `[[controller]]`.
    pub(crate) controller: Option<String>,
}

/// The subject of a request, as far as it has such parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject<'a> {
    /// Name of a connection.
    pub(crate) connection: Option<&'a str>,
    /// Name of a path.
    pub(crate) path: Option<&'a str>,
    /// Name of an interface.
    pub(crate) interface: Option<&'a str>,
    /// Name of a client.
    pub(crate) client: Option<&'a str>,
}

impl Requester {
    /// Logs that `what` was asked for: "path down by command".
    pub(crate) fn log(&self, what: &str, subject: Subject<'_>) {
        let Subject { connection, path, interface, client } = subject;
        let (uid, pid, controller) = (self.uid, self.pid, self.controller.as_deref());
        let by = self.kind();
        tracing::info!(target: TARGET, connection, path, interface, client, uid, pid, controller, "{what} by {by}");
    }

    /// Returns by what way it asks.
    pub(crate) fn kind(&self) -> &'static str {
        if self.controller.is_some() { "controller" } else { "command" }
    }
}
