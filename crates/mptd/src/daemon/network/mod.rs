//! Follows the network on a thread beside everything slow: a path whose interface is lost stops carrying packets at once, whatever the daemon is just doing;
//! everything else waits until it has time.

pub(super) mod links;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mpt_config::{Config, Connection, Path};
use mpt_linux::netlink::{self, Events};
use tokio::sync::{Notify, broadcast, oneshot};

use super::error::Error;
use super::shards::Shards;
use crate::data::{DataPath, Ended, PathLink};
use links::Links;

/// Changes of the network that come together (a link that flaps, an interface with its addresses) are looked at once, after this.
const SETTLE: Duration = Duration::from_millis(5);
/// Changes that are there already are looked at together, but not more of them.
const BATCH: usize = 256;
/// Removals of rules and routes that are kept to be looked at one by one; if there are more, everything is looked at.
const REMOVALS: usize = 256;

/// The state of the network as far as it is known, and the changes that wait to be followed.
#[derive(Debug)]
pub(super) struct Network {
    state: Mutex<State>,
    /// Notified when there is something to do, or the end has come.
    woken: Notify,
}

#[derive(Debug)]
struct State {
    links: Links,
    connections: Arc<Vec<Connection>>,
    changes: Changes,
    /// The time at which the first thing changed since [`Network::changed`] last said so.
    dirty_since: Option<Instant>,
    /// True if the kernel reports no more changes.
    ended: bool,
}

/// The changes whose following takes time.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Interfaces that came into being: sockets bound to the one of that name before are bound to nothing.
    pub(super) appeared: BTreeSet<String>,
    /// Removals of rules and routes with our owner: by this daemon, by another one, or by another program. At most
    /// [`REMOVALS`].
    pub(super) removals: Vec<netlink::Event>,
    /// Something else changed, too.
    pub(super) other: bool,
}

impl Changes {
    fn note(&mut self, event: &netlink::Event) {
        match event {
            netlink::Event::OwnRuleRemoved(_) | netlink::Event::OwnRouteRemoved(_)
                if self.removals.len() < REMOVALS =>
            {
                self.removals.push(event.clone());
            }
            netlink::Event::LinkAppeared(link) => {
                self.appeared.insert(link.name.clone());
                self.other = true;
            }
            _ => self.other = true,
        }
    }
}

impl Network {
    /// Begins to follow, on a thread of its own. It acts at once by `shards`, and reports events by `tell`.
    pub(super) async fn follow(
        shards: Shards,
        tell: broadcast::Sender<mpt_api::Event>,
    ) -> Result<Arc<Self>, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ready, started) = oneshot::channel();
        let follow = async move {
            let events = match Events::connect().await {
                Ok(events) => events,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let network = Arc::new(Self::new(&events));
            // The caller may have given up and dropped the receiver.
            let _ = ready.send(Ok(Arc::clone(&network)));
            if let Err(Ended) = network.run(events, shards, tell).await {
                tracing::debug!("the network is no longer followed: the data thread has ended");
            }
            network.with(|state| state.ended = true);
            network.woken.notify_one();
        };
        let thread = std::thread::Builder::new().name("mptd-network".into());
        thread.spawn(move || runtime.block_on(follow))?;
        let started =
            started.await.map_err(|_| Error::Io(std::io::ErrorKind::BrokenPipe.into()))?;
        Ok(started?)
    }

    fn new(events: &Events) -> Self {
        let state = State {
            links: Links::new(events),
            connections: Arc::default(),
            changes: Changes::default(),
            dirty_since: None,
            ended: false,
        };
        Self { state: Mutex::new(state), woken: Notify::new() }
    }

    /// A picture of this moment.
    pub(super) fn links(&self) -> Links {
        self.with(|state| state.links.clone())
    }

    /// Says which paths there are; the picture learns what `links` found out about routes.
    pub(super) fn know(&self, config: &Config, links: &Links) {
        self.with(|state| {
            state.links.know_routes(links);
            if *state.connections != config.connections {
                state.connections = Arc::new(config.connections.clone());
            }
        });
    }

    /// Waits until there is something to do, a little longer for what comes with it, and at least until `earliest`. `None` when the kernel tells no more.
    /// Dropping the future loses nothing, and a wait that is begun anew ends when the first one would have: commands that come all the time do not
    /// put off what the network asks for.
    pub(super) async fn changed(&self, earliest: Instant) -> Option<Changes> {
        loop {
            let (since, ended) = self.with(|state| (state.dirty_since, state.ended));
            if ended {
                return None;
            }
            if let Some(since) = since {
                let due = earliest.max(since + SETTLE);
                if Instant::now() < due {
                    tokio::time::sleep_until(due.into()).await;
                }
                return Some(self.with(|state| {
                    state.dirty_since = None;
                    std::mem::take(&mut state.changes)
                }));
            }
            self.woken.notified().await;
        }
    }

    async fn run(
        &self,
        mut events: Events,
        shards: Shards,
        tell: broadcast::Sender<mpt_api::Event>,
    ) -> Result<(), Ended> {
        while let Some(first) = events.next().await {
            let began = Instant::now();
            let mut batch = vec![first];
            while batch.len() < BATCH
                && let Some(Some(event)) = events.next().now_or_never()
            {
                batch.push(event);
            }
            let lost = self.with(|state| state.follow(&batch));
            if !lost.is_empty() {
                let take = |data: &mut DataPath, lost: Vec<PathLink>| {
                    let changed = data.update_links(&lost).into_iter();
                    let event = |(connection, path): (String, String)| {
                        data.take_path_event(&connection, &path)
                    };
                    changed.filter_map(event).collect::<Vec<_>>()
                };
                let told = shards.split(lost, |link| &link.connection, take).await?;
                for kind in told.flatten() {
                    // Nobody may be listening.
                    let _ = tell.send(mpt_api::Event::now(kind));
                }
                let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                tracing::debug!(took_us, "paths without interface are down");
            }
            self.woken.notify_one();
        }
        Ok(())
    }

    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // Nobody panics with it; if somebody did, the picture is still the best there is.
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Takes notice of these changes. Gives the paths that have lost their interface by them.
    fn follow(&mut self, events: &[netlink::Event]) -> Vec<PathLink> {
        let takes_away = |event: &netlink::Event| match event {
            netlink::Event::LinkDown(link) => Some(link.index),
            netlink::Event::LinkGone { index, .. } => Some(*index),
            netlink::Event::AddressRemoved { interface, .. } => Some(*interface),
            _ => None,
        };
        let hit: HashSet<u32> = events.iter().filter_map(takes_away).collect();
        let connections = Arc::clone(&self.connections);
        // Asked before: of what is gone, nobody knows any longer whose it was.
        let mut candidates = Vec::new();
        if !hit.is_empty() {
            let paths =
                connections.iter().flat_map(|it| it.paths.iter().map(move |path| (it, path)));
            let over_them = |(_, path): &(&Connection, &Path)| {
                self.links.of(path).is_some_and(|link| hit.contains(&link.index))
            };
            candidates.extend(paths.filter(over_them));
        }
        for event in events {
            self.links.follow(event);
            self.changes.note(event);
        }
        self.dirty_since.get_or_insert_with(Instant::now);
        let facts = candidates.into_iter().map(|(it, path)| self.links.path_link(it, path));
        facts.filter(|link| !link.facts.carrier).collect()
    }
}
