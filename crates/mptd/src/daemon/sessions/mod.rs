//! Events of sessions that take a decision: requests for connections, here and at peers, and those of controllers and monitors.

mod peers;
pub(super) mod state;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use mpt_api::session::{
    Create, Created, PathSpec, SessionCode, SessionFailure, SessionReply, SessionRequest,
    SessionResult,
};
use mpt_api::{EventKind, LossReason, SessionRole};
use mpt_config::{self as config, Config, USUAL_MTU};
use mpt_core::session::{CloseReason, Event, SessionId};
use mpt_wire::control::{Kind, Reason};

use super::{Daemon, Error};
use crate::clients::{Clients, Held};
use crate::data::{ChangeError, ClientSession, LinkFacts, Wanted};
use state::Opened;

/// The time after which a client repeats a request that the server refused or did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// Time after which a client asks again where the server was only too busy.
const ASK_AGAIN_SOON: Duration = Duration::from_secs(1);

impl Daemon {
    /// Does what an event of a session asks for.
    pub(super) async fn heed_session(
        &mut self,
        event: Event,
        connection: Option<String>,
    ) -> Result<(), Error> {
        match event {
            Event::Established { session, peer, kind, initiator, name: called, .. } => {
                if connection.is_none() {
                    let name = self.peer_name(kind, &peer);
                    let opened = Opened { peer, kind, called, name, connection: None };
                    self.sessions.opened.insert(session, opened);
                }
                let role = match initiator {
                    true => SessionRole::Initiator,
                    false => SessionRole::Responder,
                };
                if self.provoked.line(peer) {
                    tracing::info!(connection, %peer, %role, "session established");
                }
                self.tell(EventKind::SessionEstablished {
                    connection: connection.clone(),
                    peer: peer.to_string(),
                    peer_name: self.peer_name(kind, &peer),
                    role,
                });
                if let Some(connection) = connection {
                    let config = self.running.connection(&connection);
                    if let Some(peer) = config.and_then(|it| it.peer.clone()) {
                        self.sessions.established.insert(connection.clone(), peer);
                    }
                    self.ask_for_connection(session, &connection).await?;
                }
                Ok(())
            }
            Event::Request { session, id, body } => {
                let kind = self.sessions.opened.get(&session).map(|opened| opened.kind);
                let body = match kind {
                    Some(Kind::Steering) => return self.steer(session, id, &body).await,
                    Some(Kind::Joining) => self.serve_joining(session, &body).await?.to_body(),
                    Some(Kind::Connection) | None => self.serve(session, &body).await?.to_body(),
                };
                self.shards
                    .of_session(session)
                    .call(move |data| data.answer(session, id, body))
                    .await?;
                Ok(())
            }
            Event::Result { session, id, result } => {
                let Some(result) = self.measure.answered(session, id, result) else {
                    return Ok(());
                };
                let Some(connection) = self.sessions.asked.remove(&(session, id)) else {
                    return Ok(());
                };
                let answer = match result {
                    Ok(body) => SessionReply::parse(&body),
                    Err(error) => Err(SessionFailure::new(SessionCode::Failed, error.to_string())),
                };
                match answer {
                    Ok(SessionReply::Ok(SessionResult::Created(created))) => {
                        self.connection_created(session, &connection, created).await
                    }
                    Ok(SessionReply::Ok(_)) => Ok(()),
                    Ok(SessionReply::Error(failure)) | Err(failure) => {
                        if self.may_log_of(&connection) {
                            tracing::error!(connection, %failure, "the server refuses the connection");
                        }
                        let pause = match failure.code {
                            SessionCode::Busy => ASK_AGAIN_SOON,
                            _ => ASK_AGAIN,
                        };
                        let again = Instant::now() + pause;
                        self.sessions.refused.insert(connection, again);
                        Ok(())
                    }
                }
            }
            Event::Closed { session, reason, .. } => {
                let reason = match reason {
                    CloseReason::Goodbye(Reason::SHUTTING_DOWN) => LossReason::PeerShutDown,
                    CloseReason::Goodbye(Reason::CONNECTION_REMOVED) => LossReason::PeerRemoved,
                    CloseReason::Goodbye(_) => LossReason::Refused,
                    CloseReason::NotAttached | CloseReason::Silent => LossReason::Silent,
                    CloseReason::Revoked | CloseReason::Ended => LossReason::Removed,
                };
                self.session_over(session, connection, reason).await
            }
            Event::Unsealed { peer, refused, .. } => {
                self.warn_unsealed(connection, peer, refused);
                Ok(())
            }
            Event::Expired { session, .. } => {
                self.session_over(session, connection, LossReason::Silent).await?;
                self.shards
                    .of_session(session)
                    .call(move |data| data.remove_session(session))
                    .await?;
                Ok(())
            }
        }
    }

    /// Asks again for connections that were refused some time ago.
    pub(super) async fn ask_again(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let due: Vec<String> = self
            .sessions
            .refused
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(name, _)| name.clone())
            .collect();
        for connection in due {
            self.sessions.refused.remove(&connection);
            let name = connection.clone();
            let session =
                self.shards.of(&connection).call(move |data| data.session_of(&name)).await?;
            if let Some(session) = session {
                self.ask_for_connection(session, &connection).await?;
            }
        }
        Ok(())
    }

    /// True if the server has refused a connection lately.
    pub(super) fn is_refused(&self, connection: &str) -> bool {
        self.sessions.refused.contains_key(connection)
    }

    /// Asks the server for the connection of a session, if it has to create it.
    async fn ask_for_connection(
        &mut self,
        session: SessionId,
        connection: &str,
    ) -> Result<(), Error> {
        let Some(config) = self.running.connection(connection) else { return Ok(()) };
        if !config.is_created_on_demand() {
            return Ok(());
        }
        let name = connection.to_owned();
        let numbers = self.shards.of(connection).call(move |data| data.path_numbers(&name)).await?;
        let create = create(&self.running, config, &numbers);
        let requests = match create.into_requests() {
            Ok(requests) => requests,
            Err(failure) => {
                if self.may_log_of(connection) {
                    tracing::error!(connection, %failure, "the connection cannot be asked for");
                }
                return Ok(());
            }
        };
        for request in requests {
            let body = request.to_body();
            let asked = self
                .shards
                .of_session(session)
                .call(move |data| data.request(session, body))
                .await?;
            match asked {
                Ok(id) => drop(self.sessions.asked.insert((session, id), connection.to_owned())),
                Err(error) if self.may_log_of(connection) => {
                    tracing::warn!(connection, %error, "request not sent");
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The server has created the connection: our end becomes what it says, and is used.
    async fn connection_created(
        &mut self,
        session: SessionId,
        connection: &str,
        created: Created,
    ) -> Result<(), Error> {
        self.sessions.refused.remove(connection);
        let Some(config) = self.running.connection(connection) else { return Ok(()) };
        let device = config.device.clone();
        let assigned = self.running.device(&device).is_some_and(|device| device.assigned);
        let mut next = self.running.clone();
        if let Some(config) = next.connections.iter_mut().find(|it| it.name == connection) {
            config.key = created.key;
        }
        if assigned && let Some(device) = next.devices.iter_mut().find(|it| it.name == device) {
            device.addresses = created.addresses;
        }
        if self.may_log_of(connection) {
            tracing::info!(connection, key = created.key, "connection created by the server");
        }
        if let Err(error) = self.put_into_effect(next).await {
            if self.may_log_of(connection) {
                tracing::error!(connection, %error, "what the server assigned cannot be used");
            }
            return Ok(());
        }
        self.shards.of_session(session).call(move |data| data.open_session(session)).await?;
        Ok(())
    }

    /// Brings the routes to networks behind clients up to date.
    async fn route_clients(&mut self) -> Result<(), Error> {
        let routed = behind_clients(&self.clients, &self.running).count();
        // Mostly clients have none, and there are thousands of them.
        if routed != 0 || self.sessions.routed != 0 {
            let config = with_networks(&self.clients, &self.running);
            let links = self.network.links();
            self.system.apply(&config, &links).await?;
        }
        self.sessions.routed = routed;
        Ok(())
    }

    /// Answers a request of the peer of a session that the peer opened.
    async fn serve(&mut self, session: SessionId, body: &[u8]) -> Result<SessionReply, Error> {
        let request = match SessionRequest::parse(body) {
            Ok(request) => request,
            Err(failure) => return Ok(SessionReply::Error(failure)),
        };
        let outcome = match request {
            SessionRequest::Create(create) => self.create_for(session, &create).await?,
            SessionRequest::Delete {} => {
                self.remove_connection(session, LossReason::PeerRemoved).await?;
                Ok(SessionResult::Done)
            }
            SessionRequest::PathAdd(path) => {
                let added = self.clients.add_path(&self.running, session, &path);
                match added {
                    Ok(()) => self.change_client(session).await?,
                    Err(failure) => Err(failure),
                }
            }
            SessionRequest::PathDelete { id } => match self.clients.delete_path(session, id) {
                Ok(true) => self.change_client(session).await?,
                Ok(false) => Ok(SessionResult::Done),
                Err(failure) => Err(failure),
            },
            SessionRequest::Join(_) => {
                let message = "only a session of kind joining takes it";
                Err(SessionFailure::new(SessionCode::Unsupported, message))
            }
            SessionRequest::MeasureStart(start) => self.serve_test(session, start).await?,
            SessionRequest::MeasureResult { test } => self.serve_test_result(session, test).await?,
        };
        Ok(outcome.into())
    }

    async fn create_for(
        &mut self,
        session: SessionId,
        create: &Create,
    ) -> Result<Result<SessionResult, SessionFailure>, Error> {
        let Some(opened) = self.sessions.opened.get(&session) else {
            let message = "this connection is configured at both ends";
            return Ok(Err(SessionFailure::new(SessionCode::Unsupported, message)));
        };
        let peer = opened.peer;
        let before = self.clients.get(session).is_some();
        let granted =
            match self.clients.create(Instant::now(), &self.running, session, &peer, create) {
                Ok(granted) => granted,
                Err(failure) => {
                    if self.provoked.deny(peer) {
                        tracing::warn!(%peer, %failure, name = create.name, "connection refused");
                    }
                    return Ok(Err(failure));
                }
            };
        let Some(held) = self.clients.get(session) else { return Ok(Err(gone())) };
        let wanted = wanted(session, held);
        let (client, name) = (held.name.client.clone(), held.connection.name.clone());
        let replaces = granted.replaces;
        if let Some(old) = replaces {
            self.sessions.opened.remove(&old);
        }
        // The connection passes from one session to the other between two rounds: both have to be of one shard.
        let added = self
            .shards
            .of_session(session)
            .call(move |data| {
                let added = match before {
                    true => data.change_client(&wanted),
                    false => data.add_client(&wanted),
                };
                if let Some(old) = replaces {
                    data.remove_session(old);
                }
                added
            })
            .await?;
        let routed = match added {
            Ok(()) => self.route_clients().await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = routed {
            tracing::error!(%peer, %error, name, "connection of a client cannot be created");
            self.forget_client(session).await?;
            return Ok(Err(SessionFailure::new(SessionCode::Failed, error.to_string())));
        }
        self.follow_client_mtu(&name).await;
        if !before && replaces.is_none() {
            if self.provoked.line(peer) {
                tracing::info!(client, connection = name, "connection of a client created");
            }
            self.tell(EventKind::ClientAdded { client, connection: name });
        }
        Ok(Ok(SessionResult::Created(granted.created)))
    }

    async fn change_client(
        &mut self,
        session: SessionId,
    ) -> Result<Result<SessionResult, SessionFailure>, Error> {
        let Some(held) = self.clients.get(session) else { return Ok(Err(gone())) };
        let (wanted, name) = (wanted(session, held), held.connection.name.clone());
        let changed: Result<(), ChangeError> =
            self.shards.of_session(session).call(move |data| data.change_client(&wanted)).await?;
        self.follow_client_mtu(&name).await;
        Ok(match changed {
            Ok(()) => Ok(SessionResult::Done),
            Err(error) => Err(SessionFailure::new(SessionCode::Failed, error.to_string())),
        })
    }

    /// A session has ended.
    async fn session_over(
        &mut self,
        session: SessionId,
        connection: Option<String>,
        reason: LossReason,
    ) -> Result<(), Error> {
        let removed = self.remove_connection(session, reason).await?;
        if let Some(connection) = &connection {
            self.sessions.established.remove(connection);
        }
        let opened = self.sessions.opened.remove(&session);
        let before = opened.as_ref().and_then(|it| it.connection.clone());
        let connection = connection.or(removed).or(before);
        let peer = match (opened, &connection) {
            (Some(opened), _) => Some((opened.name, opened.peer)),
            (None, Some(connection)) => {
                let peer = self.running.connection(connection).and_then(|it| it.peer.as_ref());
                peer.map(|it| (self.peer_name(Kind::Connection, &it.public_key), it.public_key))
            }
            (None, None) => None,
        };
        if let Some((peer_name, peer)) = peer {
            if self.provoked.line(peer) {
                tracing::info!(connection, %peer, %reason, "session lost");
            }
            let peer = peer.to_string();
            self.tell(EventKind::SessionLost { connection, peer, peer_name, reason });
        }
        Ok(())
    }

    /// Says of the sessions that ended because the configuration no longer has their peers that they are gone.
    pub(super) fn tell_removed_sessions(&mut self) {
        let mut gone = Vec::new();
        let running = &self.running;
        self.sessions.established.retain(|name, peer| {
            let now = running.connection(name).and_then(|it| it.peer.as_ref());
            let goes_on = now.is_some_and(|now| now.has_same_session(peer));
            if !goes_on {
                gone.push((name.clone(), peer.public_key));
            }
            goes_on
        });
        let reason = LossReason::Removed;
        for (connection, peer) in gone {
            tracing::info!(connection, %peer, %reason, "session lost");
            self.tell(EventKind::SessionLost {
                connection: Some(connection),
                peer: peer.to_string(),
                peer_name: self.peer_name(Kind::Connection, &peer),
                reason,
            });
        }
    }

    /// Removes the connection that a client had created in a session, if there is one, and says so. Returns its name. The session stays.
    pub(super) async fn remove_connection(
        &mut self,
        session: SessionId,
        reason: LossReason,
    ) -> Result<Option<String>, Error> {
        let Some(held) = self.clients.get(session).cloned() else { return Ok(None) };
        self.forget_client(session).await?;
        let (client, connection) = (held.name.client, held.connection.name);
        if let Some(opened) = self.sessions.opened.get_mut(&session) {
            opened.connection = Some(connection.clone());
        }
        if self.provoked.line(held.owner) {
            tracing::info!(client, connection, %reason, "connection of a client removed");
        }
        self.tell(EventKind::ClientRemoved { client, connection: connection.clone(), reason });
        Ok(Some(connection))
    }

    async fn forget_client(&mut self, session: SessionId) -> Result<(), Error> {
        if let Some(held) = self.clients.remove(session) {
            let name = held.connection.name.clone();
            self.shards.of_session(session).call(move |data| data.remove_client(&name)).await?;
            if let Err(error) = self.route_clients().await {
                tracing::warn!(%error, "routes of a client remain");
            }
            self.follow_client_mtu(&held.connection.name).await;
        }
        Ok(())
    }
}

/// The configuration with what clients add to the routes: networks behind them. Their own addresses lie in the devices' networks, which
/// the kernel routes.
pub(super) fn with_networks(clients: &Clients, config: &Config) -> Config {
    let mut with = config.clone();
    // Routes are all that is wanted of it: its paths are wherever the client is.
    with.connections.extend(behind_clients(clients, config).map(|(held, networks)| {
        config::Connection { networks, paths: Vec::new(), ..held.connection.clone() }
    }));
    with
}

/// Those clients that have networks behind them, and the networks.
fn behind_clients<'a>(
    clients: &'a Clients,
    config: &'a Config,
) -> impl Iterator<Item = (&'a Held, Vec<IpNet>)> {
    clients.iter().filter_map(|(_, held)| {
        let device = config.device(&held.connection.device);
        let own = device.map_or(&[][..], |device| &device.addresses);
        let behind = |net: &&IpNet| !own.iter().any(|own| own.contains(*net));
        // An empty list takes no memory.
        let networks: Vec<IpNet> =
            held.connection.networks.iter().filter(behind).copied().collect();
        (!networks.is_empty()).then_some((held, networks))
    })
}

/// Returns what a client's connection needs of the data thread.
pub(super) fn wanted(session: SessionId, held: &Held) -> Wanted {
    let link = |path: &config::Path| LinkFacts {
        mtu: path.mtu.unwrap_or(USUAL_MTU),
        carrier: true,
        resolved: true,
    };
    Wanted {
        config: held.connection.clone(),
        links: held.connection.paths.iter().map(link).collect(),
        client: Some(ClientSession {
            id: session,
            owner: held.owner,
            paths: held.path_numbers(),
            max_weight: held.max_weight,
        }),
    }
}

/// Returns what to ask the server for.
fn create(
    config: &Config,
    connection: &config::Connection,
    numbers: &BTreeMap<String, u16>,
) -> Create {
    let device = config.device(&connection.device);
    let path = |path: &config::Path| PathSpec {
        id: numbers.get(&path.name).copied().unwrap_or_default(),
        name: path.name.clone(),
        weight: path.weight,
        weight_in: path.weight_in,
        tier: path.tier,
        mtu: path.mtu,
    };
    Create {
        name: connection.name.clone(),
        networks: Vec::new(),
        addresses: device.map(|device| device.addresses.clone()).unwrap_or_default(),
        key: connection.key,
        mapping: connection.mapping,
        sequence: connection.sequence,
        checksum: connection.checksum,
        udp_checksum: connection.udp_checksum,
        window: None,
        max_delay_ms: None,
        paths: connection.paths.iter().map(path).collect(),
    }
}

fn gone() -> SessionFailure {
    SessionFailure::new(SessionCode::NotFound, "the connection was removed meanwhile")
}
