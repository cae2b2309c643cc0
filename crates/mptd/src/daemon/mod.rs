//! The control side of the daemon: puts a configuration into effect, follows the network, answers the control socket.
//!
//! It owns the `Shards`, which are the ways to the data threads, and everything made by netlink. Its decisions reach the packet path as calls
//! between two rounds, so nothing here can hold up a packet.

mod caps;
mod clients;
mod diagnosis;
mod error;
mod log;
mod names;
mod network;
mod requests;
mod sessions;
mod shards;
mod speed_tests;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use mpt_api::{AtCap, Event, EventKind};
use mpt_config::{self as config, Config};
use mpt_linux::tun::{Driver, Tun, TunError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, broadcast, mpsc};

use crate::caps::Caps;
use crate::clients::Clients;
use crate::clients::tokens::Tokens;
use crate::control::command::Command;
use crate::control::{ControlSocket, EVENT_BACKLOG, Server};
use crate::data::{DataPath, Ended, Notice, Place, former};
use crate::service;
pub use error::Error;
use names::look_ups::Names;
use network::Network;
use shards::Shards;
pub use system::fallback::unblock;
use system::{End, System};

/// Requests waiting for an answer, from all clients together.
const COMMAND_QUEUE: usize = 32;
/// Notices of the data thread that are worked on before others get their turn.
const NOTICES: usize = 16;
/// The interval at which it is checked whether a server is to be asked again for a connection that it refused, and whether a name is to be
/// resolved again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The running daemon.
pub struct Daemon {
    file: PathBuf,
    /// The configuration as the file has it.
    loaded: Config,
    /// The configuration with all changes made by hand since.
    running: Config,
    /// The devices that are open.
    present: Config,
    shards: Shards,
    thread: Option<JoinHandle<()>>,
    /// The way to open devices.
    driver: Driver,
    system: System,
    network: Arc<Network>,
    names: Names,
    sessions: sessions::state::Sessions,
    measure: speed_tests::state::Measure,
    provoked: log::provoked::Provoked,
    clients: Clients,
    tokens: Tokens,
    disagreements: diagnosis::disagreement::Disagreements,
    caps: Caps,
    caps_writer: caps::writer::Writer,
    /// The paths that have reached their caps, as the data thread was told.
    caps_reached: BTreeMap<Place, AtCap>,
    /// Connections of the file that have lost their `[connection.peer]` while they ran: they stay off.
    unguarded: BTreeSet<String>,
    server: Server,
    events: broadcast::Sender<Event>,
    set_log: Box<dyn Fn(&config::Daemon)>,
    started: Instant,
}

/// Runs the daemon with a configuration already read from `file`, until SIGTERM or SIGINT; `driver` opens its devices, `zone` is that of the host's clock, `set_log` is
/// called when a reload changes what is logged or how, `ready` when packets flow.
pub async fn run(
    file: &Path,
    config: Config,
    driver: Driver,
    zone: TimeZone,
    set_log: impl Fn(&config::Daemon) + 'static,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    // Signals first: one that comes while things are created must not kill us half-way.
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let control = ControlSocket::bind(&config.daemon.control_socket).await?;

    let noticed = Arc::new(Notify::new());
    let (commands, mut asked) = mpsc::channel(COMMAND_QUEUE);
    let (events, _) = broadcast::channel(EVENT_BACKLOG);
    let limit = usize::try_from(config.daemon.buffer_limit).unwrap_or(usize::MAX);
    let (shards, thread) = Shards::start(limit, config.daemon.aes, Arc::clone(&noticed))?;
    let network = Network::follow(shards.clone(), events.clone()).await?;
    let (names, mut found) = Names::new();
    let (measure, mut asks) = speed_tests::state::Measure::new(commands.clone());
    let empty = Config { devices: Vec::new(), connections: Vec::new(), ..config.clone() };
    let mut daemon = Daemon {
        file: file.to_owned(),
        loaded: empty.clone(),
        running: empty.clone(),
        present: empty,
        shards,
        thread: Some(thread),
        driver,
        system: System::connect().await?,
        network: Arc::clone(&network),
        names,
        sessions: sessions::state::Sessions::default(),
        measure,
        provoked: log::provoked::Provoked::default(),
        clients: Clients::default(),
        tokens: Tokens::default(),
        disagreements: diagnosis::disagreement::Disagreements::default(),
        caps: Caps::new(zone, &config.daemon.state_directory),
        caps_writer: caps::writer::Writer::default(),
        caps_reached: BTreeMap::new(),
        unguarded: BTreeSet::new(),
        server: control.server(commands.clone(), events.clone()),
        events: events.clone(),
        set_log: Box::new(set_log),
        started: Instant::now(),
    };
    if let Err(error) = daemon.apply(config).await {
        daemon.shut_down(End::NotStarted).await;
        return Err(error);
    }
    daemon.count_caps().await?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), file = %file.display(), "running");
    ready();

    let serve = control.serve(commands, events);
    tokio::pin!(serve);
    let mut earliest = Instant::now();
    let mut again = tokio::time::interval(ASK_AGAIN);
    let mut count = tokio::time::interval(crate::caps::INTERVAL);
    let watched = service::watchdog();
    let mut alive = tokio::time::interval(watched.unwrap_or(ASK_AGAIN));
    let ended = loop {
        tokio::select! {
            () = &mut serve => {}
            Some(command) = asked.recv() => daemon.answer(command).await,
            () = noticed.notified() => if let Err(error) = daemon.heed_notices().await {
                break Err(error);
            },
            changes = network.changed(earliest) => match changes {
                Some(changes) => {
                    let began = Instant::now();
                    if changes.other {
                        daemon.names.network_changed();
                    }
                    daemon.network_changed(changes).await;
                    // If changes never end, the other tasks still get half of the time.
                    let took = began.elapsed();
                    earliest = Instant::now() + took.max(daemon.system.pause());
                    let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                    tracing::debug!(took_us, "network changes followed");
                }
                None => {
                    tracing::error!("the kernel no longer tells of network changes");
                    break Err(std::io::Error::other("netlink connection lost").into());
                }
            },
            _ = hangup.recv() => {
                tracing::info!("reload by SIGHUP");
                // The log says what came of it.
                let _ = daemon.reload().await;
            }
            _ = count.tick() => if let Err(error) = daemon.count_caps().await {
                break Err(error);
            },
            _ = again.tick() => {
                daemon.resolve_names().await;
                daemon.follow_fallback().await;
                if let Err(error) = daemon.expire_tokens().await {
                    break Err(error);
                }
                if let Err(error) = daemon.look_for_disagreements().await {
                    break Err(error);
                }
                if let Err(error) = daemon.ask_again().await {
                    break Err(error);
                }
                if let Err(error) = daemon.sum_up().await {
                    break Err(error);
                }
            }
            // Both threads are: the answer comes from the other one.
            _ = alive.tick(), if watched.is_some() => {
                if daemon.shards.each(|_| ()).await.is_ok() {
                    service::alive();
                }
            }
            Some(found) = found.recv() => daemon.name_found(found).await,
            Some(ask) = asks.recv() => if let Err(error) = daemon.ask_peer(ask).await {
                break Err(error);
            },
            _ = terminate.recv() => break Ok(()),
            _ = interrupt.recv() => break Ok(()),
            () = daemon.data_ended() => break Err(Ended.into()),
        }
    };
    // Without this, the log would never have the sum of the lines that were left out so far.
    let _ = daemon.sum_up_now().await;
    tracing::info!("ending");
    service::stopping();
    daemon.shut_down(if ended.is_ok() { End::AskedFor } else { End::Failure }).await;
    ended
}

impl Daemon {
    /// Takes some of what the data thread has to say, and does what it asks for; others get their turn before the rest.
    async fn heed_notices(&mut self) -> Result<(), Error> {
        let notices = self.shards.each(|data| data.take_notices(NOTICES)).await?;
        for notice in notices.flatten() {
            self.heed(notice).await?;
        }
        Ok(())
    }

    /// Does what the data thread asks for.
    async fn heed(&mut self, notice: Notice) -> Result<(), Error> {
        match notice {
            Notice::DeviceMtu { device, mtu } => {
                let Some(config) = self.running.device(&device) else { return Ok(()) };
                let Some(mtu) = self.running.device_mtu(config, Some(mtu)) else { return Ok(()) };
                if let Err(error) = self.system.set_mtu(&device, mtu).await {
                    tracing::error!(%error, device, mtu, "device keeps its MTU");
                }
                self.follow_client_mtus().await;
                Ok(())
            }
            Notice::DeviceGone { device } => Err(Error::DeviceGone(device)),
            Notice::PathState { connection, path, from, to, reason, lasted } => {
                let lasted_ms = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
                let from = former(from);
                // A change by the administrator is always logged.
                if reason == "administrative" || self.may_log_of(&connection) {
                    tracing::info!(connection, path, from, to = %to, reason, lasted_ms, "path {to}");
                }
                Ok(())
            }
            Notice::PathMtu { connection, path, before, found } => {
                if self.may_log_of(&connection) {
                    tracing::info!(connection, path, before, found, "path MTU found by probes");
                }
                Ok(())
            }
            Notice::PathChanged { connection, path } => {
                self.follow_client_mtu(&connection).await;
                self.tell_paths(vec![(connection, path)]).await;
                self.follow_fallback().await;
                Ok(())
            }
            Notice::PathMoved { connection, path, remote } => {
                if self.may_log_of(&connection) {
                    tracing::info!(connection, path, %remote, "the peer of a path has moved");
                }
                self.tell(EventKind::PathMoved { connection, path, remote });
                Ok(())
            }
            Notice::PathMtuReported { connection, path, reported } => {
                if self.may_log_of(&connection) {
                    match reported {
                        Some(mtu) => {
                            tracing::info!(
                                connection,
                                path,
                                mtu,
                                "path MTU lowered for ten minutes, as ICMP says"
                            );
                        }
                        None => {
                            tracing::info!(
                                connection,
                                path,
                                "path MTU that ICMP reported is no longer believed"
                            );
                        }
                    }
                }
                Ok(())
            }
            Notice::Prototype { event } => {
                self.log_prototype(event);
                Ok(())
            }
            Notice::Session { event, connection } => self.heed_session(event, connection).await,
        }
    }

    /// Returns when the data thread has ended by itself, which it never should.
    async fn data_ended(&self) {
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Removes exactly what was created, except blocks when something failed.
    async fn shut_down(&mut self, end: End) {
        self.close_caps().await;
        let _ = self.shards.each(DataPath::say_goodbye).await;
        // Routes before the devices they lead to: nothing leaves by another way in between.
        self.system.remove_all(end).await;
        let _ = self.shards.each(DataPath::stop).await;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn tell(&self, kind: EventKind) {
        // There may be no receiver.
        let _ = self.events.send(Event::now(kind));
    }

    async fn answer(&mut self, command: Command) {
        // The receiver of an answer may have been dropped.
        match command {
            Command::Show { connection, reply } => {
                drop(reply.send(self.show(connection.as_deref()).await));
            }
            Command::SetPath { connection, path, change, reply } => {
                drop(reply.send(self.set_path(&connection, &path, change).await));
            }
            Command::Tokens { reply } => drop(reply.send(Ok(self.list_tokens()))),
            Command::AddToken { wanted, reply } => drop(reply.send(self.add_token(wanted).await)),
            Command::Clients { reply } => drop(reply.send(self.list_clients().await)),
            Command::Reload { reply } => drop(reply.send(self.reload().await)),
            Command::Change { change, reply } => drop(reply.send(self.change(change).await)),
            Command::Measure { connection, set, duration, reply } => {
                self.measure(connection, set, duration, reply).await;
            }
        }
    }
}

/// Opens the devices of `config` that `present` does not have.
fn open_devices(driver: &Driver, present: &Config, config: &Config) -> Result<Vec<Tun>, TunError> {
    let new = |device: &&config::Device| present.device(&device.name).is_none();
    let devices = config.devices.iter().filter(new);
    devices.map(|device| Tun::create_by(driver, &device.name)).collect()
}
