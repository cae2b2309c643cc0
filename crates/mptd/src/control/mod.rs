//! The control socket: clients of [`mpt_api`] on one side, a queue of [`Command`]s on the other.
//!
//! Every client that may connect is trusted: the socket belongs to the user and group of the daemon, mode 0660. Still nothing that a client
//! does or fails to do holds up the daemon or other clients: their number, their lines and their time are bounded.

pub mod command;
mod event_log;
pub(super) mod requester;

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mpt_api::{
    Code, EVENTS_WAIT_MS, Event, EventKind, Failure, KEEPALIVE_US, MAX_REQUEST, MEASURE_MS,
    PathChange, Reply, Request, Response, Status, TOKEN_S, to_line,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, UCred};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use crate::clients::tokens::Wanted;
use crate::control::command::{Answer, Change, Command};
use crate::control::event_log::EventLog;
use crate::control::requester::{Requester, Subject};

/// The most clients at one time; more are told that the daemon is busy.
pub const MAX_CLIENTS: usize = 64;
/// The most of them that may monitor, so that forgotten monitors never lock out an operator.
pub const MAX_MONITORS: usize = 32;
/// Events kept for a monitor that does not keep up; older ones are left out and counted ([`EventKind::Missed`]).
pub const EVENT_BACKLOG: usize = 1024;

/// The longest time that a client may wait with its next request.
const IDLE: Duration = Duration::from_secs(60);
/// The longest time that a client may take to accept an answer.
const WRITE: Duration = Duration::from_secs(10);
/// The longest time that another daemon may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);

/// The reason why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon listens there.
    #[error("{}: another mptd is already running and listens here; stop it, or write another daemon.control_socket", .0.display())]
    AlreadyRunning(PathBuf),
    /// Something else has the name.
    #[error("{}: exists and is not a socket; remove it, or write another daemon.control_socket", .0.display())]
    NotASocket(PathBuf),
    /// The system refuses.
    #[error("{}: cannot listen: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The listening socket. Its file goes when it is dropped, unless another daemon has taken the name by then.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket file.
    identity: (u64, u64),
    /// The directory made for it.
    made: Option<PathBuf>,
    started: Instant,
}

impl ControlSocket {
    /// Listens at `path`. The file of a daemon that no longer runs is replaced; a missing directory is made. To be called
    /// within a tokio runtime.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub async fn bind(path: &Path) -> Result<ControlSocket, BindError> {
        let failed = |source| BindError::Io { path: path.to_owned(), source };
        let made = make_parent(path).map_err(failed)?;
        free(path).await?;
        // The name appears with its final mode, and replaces a stale file in one step.
        let mut hidden = path.file_name().unwrap_or_default().to_owned();
        hidden.push(format!(".{}", std::process::id()));
        let hidden = path.with_file_name(hidden);
        let listen = || {
            remove_if_there(&hidden)?;
            let listener = UnixListener::bind(&hidden)?;
            std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(0o660))?;
            std::fs::rename(&hidden, path)?;
            Ok((listener, identity(path)?))
        };
        let (listener, identity) = listen().map_err(|error| {
            let _ = std::fs::remove_file(&hidden);
            failed(error)
        })?;
        Ok(ControlSocket {
            listener,
            path: path.to_owned(),
            identity,
            made,
            started: Instant::now(),
        })
    }

    /// Serves clients until it is dropped, which closes every connection. `commands` gets what they ask, `events` is what
    /// monitors are told (make it with [`EVENT_BACKLOG`]).
    pub async fn serve(&self, commands: mpsc::Sender<Command>, events: broadcast::Sender<Event>) {
        let server = self.server(commands, events);
        let mut clients = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = clients.join_next() => continue,
            };
            while clients.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) if clients.len() >= MAX_CLIENTS => refuse(&stream),
                Ok((stream, _)) => {
                    let server = server.clone();
                    clients.spawn(async move {
                        if let Err(error) = server.client(stream).await {
                            debug!(%error, "control client gone");
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors or memory: clients wait, the daemon goes on.
                    warn!(%error, "control socket cannot accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl ControlSocket {
    /// Answers requests that come by another way than this socket.
    pub(crate) fn server(
        &self,
        commands: mpsc::Sender<Command>,
        events: broadcast::Sender<Event>,
    ) -> Server {
        let log = EventLog::follow(events.subscribe());
        Server {
            commands,
            events,
            monitors: Arc::new(Semaphore::new(MAX_MONITORS)),
            log,
            started: self.started,
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            let _ = std::fs::remove_file(&self.path);
            if let Some(directory) = &self.made {
                let _ = std::fs::remove_dir(directory);
            }
        }
    }
}

/// The things that every client task needs.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    commands: mpsc::Sender<Command>,
    events: broadcast::Sender<Event>,
    monitors: Arc<Semaphore>,
    log: Arc<EventLog>,
    started: Instant,
}

impl Server {
    async fn client(&self, stream: UnixStream) -> io::Result<()> {
        let cred = stream.peer_cred().ok();
        let by = Requester {
            uid: cred.as_ref().map(UCred::uid),
            pid: cred.as_ref().and_then(UCred::pid),
            controller: None,
        };
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut reader).take(MAX_REQUEST as u64 + 1);
            if timeout(IDLE, limited.read_until(b'\n', &mut line)).await?? == 0 {
                return Ok(());
            }
            let complete = line.last() == Some(&b'\n');
            if !complete && line.len() <= MAX_REQUEST {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let request = Request::parse(line.strip_suffix(b"\n").unwrap_or(&line));
            let answer = match request.map(|request| request.command) {
                Ok(mpt_api::Command::Monitor) => return self.monitor(reader, writer).await,
                Ok(command) => self.answer(command, &by).await,
                Err(failure) => Err(failure),
            };
            send(&mut writer, &answer.into()).await?;
            if !complete {
                // The rest of an overlong line is not read.
                return Ok(());
            }
        }
    }

    async fn show(&self, within: Duration, connection: Option<String>) -> Result<Reply, Failure> {
        let snapshot = self.ask(within, |reply| Command::Show { connection, reply }).await?;
        Ok(Reply::Snapshot(Box::new(snapshot)))
    }

    /// Returns the answer to a request of `by`.
    pub(crate) async fn answer(
        &self,
        command: mpt_api::Command,
        by: &Requester,
    ) -> Result<Reply, Failure> {
        let within = command.answered_within();
        match command {
            mpt_api::Command::Status => Ok(Reply::Status(Status {
                program: env!("CARGO_PKG_VERSION").into(),
                pid: std::process::id(),
                uptime_s: self.started.elapsed().as_secs(),
            })),
            mpt_api::Command::Show => self.show(within, None).await,
            mpt_api::Command::ShowConnection { connection } => {
                self.show(within, Some(connection)).await
            }
            mpt_api::Command::SetPath { change, .. } if change.is_empty() => {
                Err(Failure::new(Code::BadRequest, "nothing to change"))
            }
            mpt_api::Command::SetPath { connection, path, change } => {
                log_path_change(by, &connection, &path, change);
                self.ask(within, |reply| Command::SetPath { connection, path, change, reply })
                    .await?;
                Ok(Reply::Done)
            }
            mpt_api::Command::Reload => {
                by.log("reload", Subject::default());
                self.ask(within, |reply| Command::Reload { reply }).await.map(Reply::Reloaded)
            }
            mpt_api::Command::Monitor => Ok(Reply::Monitoring),
            mpt_api::Command::Events { wait_ms, .. } if wait_ms > EVENTS_WAIT_MS => {
                let message = format!("{wait_ms} ms is too long; give 0 to {EVENTS_WAIT_MS} ms");
                Err(Failure::new(Code::BadRequest, message))
            }
            mpt_api::Command::Events { after, wait_ms } => {
                let wait = Duration::from_millis(wait_ms.into());
                Ok(Reply::Events(self.log.since(after, wait, by.controller.as_deref()).await))
            }
            mpt_api::Command::Measure { connection, set, duration_ms } => {
                if !MEASURE_MS.contains(&duration_ms) {
                    let (from, to) = (MEASURE_MS.start(), MEASURE_MS.end());
                    let message =
                        format!("{duration_ms} ms is not a duration; give {from} to {to} ms");
                    return Err(Failure::new(Code::BadRequest, message));
                }
                let subject = Subject { connection: Some(&connection), ..Subject::default() };
                by.log(if set { "measurement and weights" } else { "measurement" }, subject);
                let duration = Duration::from_millis(duration_ms.into());
                let measure = |reply| Command::Measure { connection, set, duration, reply };
                self.ask(within, measure).await.map(Reply::Measured)
            }
            mpt_api::Command::AddPath { connection, toml } => {
                self.change(within, by, Change::AddPath { connection, toml }).await
            }
            mpt_api::Command::DeletePath { connection, path } => {
                self.change(within, by, Change::DeletePath { connection, path }).await
            }
            mpt_api::Command::SetInterface { interface, up } => {
                self.change(within, by, Change::SetInterface { interface, up }).await
            }
            mpt_api::Command::CreateConnection { toml } => {
                self.change(within, by, Change::CreateConnection { toml }).await
            }
            mpt_api::Command::DeleteConnection { connection } => {
                self.change(within, by, Change::DeleteConnection { connection }).await
            }
            mpt_api::Command::Clients => {
                self.ask(within, |reply| Command::Clients { reply }).await.map(Reply::Clients)
            }
            mpt_api::Command::Tokens => {
                self.ask(within, |reply| Command::Tokens { reply }).await.map(Reply::Tokens)
            }
            mpt_api::Command::AddToken { lifetime_s, .. } if !TOKEN_S.contains(&lifetime_s) => {
                let (from, to) = (TOKEN_S.start(), TOKEN_S.end());
                let message = format!("{lifetime_s} s is not a lifetime; give {from} to {to} s");
                Err(Failure::new(Code::BadRequest, message))
            }
            mpt_api::Command::AddToken { client, pool, networks, behind, lifetime_s } => {
                by.log("token add", Subject { client: client.as_deref(), ..Subject::default() });
                let lifetime = Duration::from_secs(lifetime_s.into());
                let wanted = Wanted { client, pool, networks, behind, lifetime };
                let add = |reply| Command::AddToken { wanted, reply };
                self.ask(within, add).await.map(Reply::Token)
            }
            mpt_api::Command::RevokeToken { token } => {
                self.change(within, by, Change::RevokeToken { token }).await
            }
            mpt_api::Command::DisconnectClient { client } => {
                self.change(within, by, Change::DisconnectClient { client }).await
            }
            mpt_api::Command::SaveConnection { connection } => {
                self.change(within, by, Change::SaveConnection { connection }).await
            }
            mpt_api::Command::SetKeepalive { keepalive_us, .. }
                if keepalive_us != 0 && !KEEPALIVE_US.contains(&keepalive_us) =>
            {
                let (from, to) = (KEEPALIVE_US.start(), KEEPALIVE_US.end());
                let message =
                    format!("{keepalive_us} us is not a keepalive; give {from} to {to} us, or 0");
                Err(Failure::new(Code::BadRequest, message))
            }
            mpt_api::Command::SetKeepalive { connection, path, keepalive_us } => {
                let keepalive = Duration::from_micros(keepalive_us);
                self.change(within, by, Change::SetKeepalive { connection, path, keepalive }).await
            }
        }
    }

    async fn change(
        &self,
        within: Duration,
        by: &Requester,
        change: Change,
    ) -> Result<Reply, Failure> {
        log_change(by, &change);
        self.ask(within, |reply| Command::Change { change, reply }).await.map(Reply::Changed)
    }

    /// Puts a command into the queue and waits for the answer.
    async fn ask<T>(
        &self,
        within: Duration,
        command: impl FnOnce(Answer<T>) -> Command,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        self.commands.try_send(command(reply)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Failure::new(Code::Busy, "too many requests are waiting; try again")
            }
            mpsc::error::TrySendError::Closed(_) => going_down(),
        })?;
        match timeout(within, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(going_down()),
            Err(_) => Err(Failure::new(
                Code::Busy,
                format!(
                    "no answer within {} s; the request may still take effect",
                    within.as_secs()
                ),
            )),
        }
    }

    async fn monitor(
        &self,
        mut reader: BufReader<OwnedReadHalf>,
        mut writer: OwnedWriteHalf,
    ) -> io::Result<()> {
        let Ok(_permit) = self.monitors.try_acquire() else {
            let failure =
                Failure::new(Code::Busy, format!("{MAX_MONITORS} clients monitor already"));
            return send(&mut writer, &Response::error(failure)).await;
        };
        // Before the answer, so that nothing that happens after it is missed.
        let mut events = self.events.subscribe();
        send(&mut writer, &Response::result(Reply::Monitoring)).await?;
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                // The client has nothing more to say: it is the end, or a mistake.
                _ = reader.read_u8() => return Ok(()),
            };
            let event = match event {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(count)) => {
                    Event::now(EventKind::Missed { count })
                }
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
            send(&mut writer, &Response::event(event)).await?;
        }
    }
}

/// Logs that a path is to be changed: "path down by command".
fn log_path_change(by: &Requester, connection: &str, path: &str, change: PathChange) {
    let PathChange { up, weight, weight_in, tier, max_rate, min_rate } = change;
    let (weight, weight_in) = (weight.map(u16::from), weight_in.map(u16::from));
    let subject = Subject { connection: Some(connection), path: Some(path), ..Subject::default() };
    match up {
        Some(true) => by.log("path up", subject),
        Some(false) => by.log("path down", subject),
        None => {}
    }
    if (PathChange { up: None, ..change }) != PathChange::default() {
        let (uid, pid, controller) = (by.uid, by.pid, by.controller.as_deref());
        let by = by.kind();
        info!(
            connection,
            path,
            weight,
            weight_in,
            tier,
            max_rate,
            min_rate,
            uid,
            pid,
            controller,
            "path set by {by}"
        );
    }
}

/// Logs that something else is to be changed.
fn log_change(by: &Requester, change: &Change) {
    let none = Subject::default();
    let of = |connection| Subject { connection: Some(connection), ..none };
    let (what, subject) = match change {
        Change::AddPath { connection, .. } => ("path add", of(connection)),
        Change::DeletePath { connection, path } => {
            ("path delete", Subject { path: Some(path), ..of(connection) })
        }
        Change::SetInterface { interface, up } => (
            if *up { "interface up" } else { "interface down" },
            Subject { interface: Some(interface), ..none },
        ),
        Change::CreateConnection { .. } => ("connection create", none),
        Change::DeleteConnection { connection } => ("connection delete", of(connection)),
        Change::DisconnectClient { client } => {
            ("client disconnect", Subject { client: Some(client), ..none })
        }
        Change::RevokeToken { .. } => ("token revoke", none),
        Change::SaveConnection { connection } => ("connection save", of(connection)),
        Change::SetKeepalive { connection, path, .. } => {
            ("keepalive", Subject { path: path.as_deref(), ..of(connection) })
        }
    };
    by.log(what, subject);
}

fn going_down() -> Failure {
    Failure::new(Code::Failed, "the daemon is going down")
}

async fn send(writer: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    timeout(WRITE, writer.write_all(to_line(response).as_bytes())).await?
}

/// Tells a client too many that there is no room: as much as the socket takes at once.
fn refuse(stream: &UnixStream) {
    let failure = Failure::new(Code::Busy, format!("{MAX_CLIENTS} clients are connected already"));
    let _ = stream.try_write(to_line(&Response::error(failure)).as_bytes());
}

/// Makes the directory of the socket if it is missing, and returns it if so.
fn make_parent(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(None);
    };
    match std::fs::create_dir(parent) {
        Ok(()) => {
            std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o755))?;
            Ok(Some(parent.to_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes sure that nobody listens at `path` and that replacing it loses nothing.
async fn free(path: &Path) -> Result<(), BindError> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {}
        Ok(_) => return Err(BindError::NotASocket(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(BindError::Io { path: path.to_owned(), source: error }),
    }
    match timeout(CONNECT, UnixStream::connect(path)).await {
        Ok(Err(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(()),
            // Its queue is full: somebody listens, if slowly.
            io::ErrorKind::WouldBlock => Err(BindError::AlreadyRunning(path.to_owned())),
            _ => Err(BindError::Io { path: path.to_owned(), source: error }),
        },
        Ok(Ok(_)) | Err(_) => Err(BindError::AlreadyRunning(path.to_owned())),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
