//! The daemon as it is seen from here: asked once a second and after each event, its events collected, and what is known of it kept while it is away.

mod bell;
pub(crate) mod history;
pub(crate) mod metrics;
mod shares;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use mpt_api::{Command, Reply, Snapshot, now_ms};
use mpt_client::Client;
use serde::Serialize;
use tokio::sync::watch;

use crate::client::{self, Failed};
use crate::command_line::args::Daemon;
use crate::monitoring::status::state::State;
use crate::monitoring::status::{Summary, Tunnel};
use crate::output::events;
use bell::Bell;
use history::{Drawn, History};
use metrics::Metrics;
use shares::Shares;

/// The time between two questions.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time between an event and the question what it has changed. Events that come together are followed by one question.
const TOGETHER: Duration = Duration::from_millis(50);

/// A daemon with very many connections is asked less often, so that its answers take no more than this part of the time.
const BUSY: u32 = 20;

/// The most events that are kept. The oldest make room.
const MOST_EVENTS: usize = 500;

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Happened {
    /// Numbers from 1 on, in the order in which it was learnt.
    pub(crate) number: u64,
    /// Time, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The event, as a text for people.
    pub(crate) text: String,
}

/// The state at one moment, for a screen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The last answer, or why there is none.
    pub(crate) now: Summary,
    /// The last answer that there was; the same as `now` when there was none.
    pub(crate) last: Summary,
    /// Time of the daemon's last answer, in milliseconds since 1970; `None`: it never answered.
    pub(crate) answered_ms: Option<u64>,
    /// The last events, the oldest first.
    pub(crate) events: Vec<Happened>,
    /// The history of the connection that is looked at.
    pub(crate) drawn: Drawn,
}

/// The data for a page.
#[derive(Debug, Serialize)]
pub(crate) struct Told<'a> {
    /// Time, in milliseconds since 1970.
    time_ms: u64,
    /// Time of the daemon's last answer; `None`: it never answered.
    answered_ms: Option<u64>,
    state: State,
    problems: &'a [String],
    daemon: Option<&'a crate::monitoring::status::Process>,
    connections: Vec<Listed<'a>>,
    /// The connection that is looked at.
    selected: Option<&'a Tunnel>,
    /// Events that the page does not have yet.
    events: Vec<&'a Happened>,
}

/// A connection in the list of all.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: &'a str,
    state: State,
    sent_bits_per_second: u64,
    received_bits_per_second: u64,
}

/// The daemon, for all who look at it.
#[derive(Debug)]
pub(crate) struct Watched {
    known: Mutex<Known>,
    metrics: Metrics,
    /// The text of `/metrics` for the last answer, so that many who scrape cost no more than one.
    text: Mutex<Option<Bytes>>,
    changed: watch::Sender<()>,
    /// Rung by each event.
    happened: Bell,
}

#[derive(Debug)]
struct Known {
    /// The last answer, or why there is none.
    summary: Summary,
    /// The last answer there was.
    last: Option<Summary>,
    answered_ms: Option<u64>,
    history: History,
    shares: Shares,
    events: VecDeque<Happened>,
    /// The number of the last event.
    happened: u64,
}

impl Watched {
    /// Watches a daemon from now on, on threads of its own.
    pub(crate) fn start(daemon: &Daemon) -> Arc<Watched> {
        let watched = Arc::new(Watched {
            known: Mutex::new(Known {
                summary: Summary::unreachable("the daemon has not been asked yet"),
                last: None,
                answered_ms: None,
                history: History::default(),
                shares: Shares::default(),
                events: VecDeque::new(),
                happened: 0,
            }),
            metrics: Metrics::new(),
            text: Mutex::new(None),
            changed: watch::Sender::new(()),
            happened: Bell::default(),
        });
        let (asking, asked) = (watched.clone(), daemon.clone());
        thread::spawn(move || asking.ask(&asked));
        let (listening, heard) = (watched.clone(), daemon.clone());
        thread::spawn(move || listening.listen(&heard));
        watched
    }

    fn ask(&self, daemon: &Daemon) {
        let mut client = None;
        loop {
            let start = Instant::now();
            let answer = snapshot(&mut client, daemon);
            if answer.is_err() {
                client = None;
            }
            self.update(answer);
            self.follow_events(&mut client, daemon, start + (start.elapsed() * BUSY).max(INTERVAL));
        }
    }

    /// Waits until the next question is due. An event is followed by a question at once, so that its effect is seen together with it.
    fn follow_events(&self, client: &mut Option<Client>, daemon: &Daemon, due: Instant) {
        let left = || due.saturating_duration_since(Instant::now());
        while self.happened.wait(left()) {
            thread::sleep(TOGETHER.min(left()));
            let start = Instant::now();
            match snapshot(client, daemon) {
                Ok(snapshot) => self.show(&snapshot),
                // The next question tells.
                Err(_) => *client = None,
            }
            thread::sleep((start.elapsed() * BUSY).min(left()));
        }
    }

    /// Shows an answer between two seconds, which is no part of what is measured once a second.
    fn show(&self, snapshot: &Snapshot) {
        let mut known = lock(&self.known);
        let before = known.summary.daemon.as_ref().map(|it| it.pid);
        if before == Some(snapshot.daemon.pid) {
            known.summary = Summary::of(snapshot);
            known.last = Some(known.summary.clone());
            known.answered_ms = Some(now_ms());
        }
        drop(known);
        self.changed.send_replace(());
    }

    fn update(&self, answer: Result<Box<Snapshot>, Failed>) {
        self.metrics.update(answer.as_deref().ok());
        *lock(&self.text) = None;
        let mut known = lock(&self.known);
        let away = known.summary.state == State::Unreachable;
        match answer {
            Ok(snapshot) => {
                let now = now_ms();
                known.history.add(now / 1_000, &snapshot);
                for told in known.shares.add(&snapshot) {
                    known.happen(now, told);
                }
                let pid = snapshot.daemon.pid;
                let restarted = known.last.as_ref().and_then(|it| it.daemon.as_ref());
                if restarted.is_some_and(|it| it.pid != pid) {
                    known.happen(now, "the daemon was started again".into());
                } else if away && known.last.is_some() {
                    known.happen(now, "the daemon answers again".into());
                }
                known.summary = Summary::of(&snapshot);
                known.last = Some(known.summary.clone());
                known.answered_ms = Some(now);
            }
            Err(failed) => {
                let why = failed.to_string();
                if !away && known.last.is_some() {
                    known.happen(now_ms(), format!("the daemon does not answer: {why}"));
                }
                known.summary = Summary::unreachable(&why);
            }
        }
        drop(known);
        self.changed.send_replace(());
    }

    fn listen(&self, daemon: &Daemon) {
        loop {
            // An error here has the same cause as the lack of answers, which is reported elsewhere.
            let _ = self.events(daemon);
            thread::sleep(INTERVAL);
        }
    }

    fn events(&self, daemon: &Daemon) -> Result<(), Failed> {
        let mut client = client::connect(daemon)?;
        match client.call(Command::Monitor)? {
            Reply::Monitoring => {}
            reply => return Err(Failed::unexpected(&reply)),
        }
        loop {
            let event = client.event()?;
            let text = events::Description(&event.kind).to_string();
            lock(&self.known).happen(event.time_ms, text);
            self.changed.send_replace(());
            self.happened.ring();
        }
    }

    /// Returns a receiver of every change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the text of `/metrics`, which all who ask share.
    pub(crate) fn metrics(&self) -> Bytes {
        lock(&self.text).get_or_insert_with(|| self.metrics.text().into()).clone()
    }

    /// Returns the state, and what `mpt status --json` says.
    pub(crate) fn health(&self) -> (State, String) {
        let known = lock(&self.known);
        (known.summary.state, mpt_api::to_line(&known.summary))
    }

    /// Returns the history of a connection.
    pub(crate) fn history(&self, connection: &str, span: u64) -> Drawn {
        lock(&self.known).history.of(connection, span, now_ms() / 1_000)
    }

    /// Returns what is known, with the history of this connection, or of the first, over the last `span` seconds.
    pub(crate) fn seen(&self, connection: Option<&str>, span: u64) -> Seen {
        let known = lock(&self.known);
        let last = known.last.as_ref().unwrap_or(&known.summary).clone();
        let first = last.connections.first().map(|it| it.name.as_str());
        let name = connection.or(first).unwrap_or_default();
        Seen {
            now: known.summary.clone(),
            answered_ms: known.answered_ms,
            events: known.events.iter().cloned().collect(),
            drawn: known.history.of(name, span, now_ms() / 1_000),
            last,
        }
    }

    /// Returns JSON for a page that looks at this connection, or at the first, and knows the events up to this number; and the number of the last event.
    pub(crate) fn tell(&self, connection: Option<&str>, known_event: u64) -> (String, u64) {
        let known = lock(&self.known);
        // While the daemon is away, its last answer is shown, which the page says.
        let shown = known.last.as_ref().unwrap_or(&known.summary);
        let tunnels = &shown.connections;
        let selected =
            connection.map_or(tunnels.first(), |name| tunnels.iter().find(|it| it.name == name));
        let listed =
            |it: &'_ Tunnel| (it.state, it.sent_bits_per_second, it.received_bits_per_second);
        let told = Told {
            time_ms: now_ms(),
            answered_ms: known.answered_ms,
            state: known.summary.state,
            problems: &known.summary.problems,
            daemon: shown.daemon.as_ref(),
            connections: tunnels
                .iter()
                .map(|it| {
                    let (state, sent_bits_per_second, received_bits_per_second) = listed(it);
                    Listed { name: &it.name, state, sent_bits_per_second, received_bits_per_second }
                })
                .collect(),
            selected,
            events: known.events.iter().filter(|it| it.number > known_event).collect(),
        };
        (mpt_api::to_line(&told), known.happened)
    }
}

impl Known {
    fn happen(&mut self, time_ms: u64, text: String) {
        self.happened += 1;
        self.events.push_back(Happened { number: self.happened, time_ms, text });
        self.events.drain(..self.events.len().saturating_sub(MOST_EVENTS));
    }
}

/// Asks for everything, over the conversation that there is or over a new one.
fn snapshot(client: &mut Option<Client>, daemon: &Daemon) -> Result<Box<Snapshot>, Failed> {
    let client = match client {
        Some(client) => client,
        None => client.insert(client::connect(daemon)?),
    };
    match client.call(Command::Show)? {
        Reply::Snapshot(snapshot) => Ok(snapshot),
        reply => Err(Failed::unexpected(&reply)),
    }
}

/// A thread that panicked while it held the lock has left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
