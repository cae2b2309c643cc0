//! Look-ups of the names of peers' addresses.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc};

use crate::resolver;

/// Names that are looked up at a time; the others wait, each once.
const LOOK_UPS: usize = 8;

/// A name and its addresses: none when it could not be resolved.
pub(in crate::daemon) type Found = (String, std::io::Result<Vec<IpAddr>>);

/// Names being resolved.
#[derive(Debug)]
pub(in crate::daemon) struct Names {
    /// The time at which each name was last asked for.
    pub(in crate::daemon) asked: HashMap<String, Instant>,
    /// The names whose answer is not there yet.
    pub(in crate::daemon) waiting: HashSet<String>,
    /// The names that could not be resolved, which has been logged.
    pub(in crate::daemon) unknown: HashSet<String>,
    /// The network changed since names were last looked at.
    pub(in crate::daemon) changed: bool,
    answers: mpsc::Sender<Found>,
    /// Look-ups at a time.
    free: Arc<Semaphore>,
}

impl Names {
    /// Returns an empty one, with the answers for `Daemon::name_found`.
    pub(in crate::daemon) fn new() -> (Self, mpsc::Receiver<Found>) {
        let (answers, found) = mpsc::channel(LOOK_UPS);
        let names = Self {
            asked: HashMap::new(),
            waiting: HashSet::new(),
            unknown: HashSet::new(),
            changed: false,
            answers,
            free: Arc::new(Semaphore::new(LOOK_UPS)),
        };
        (names, found)
    }

    /// The network is another: names may lead elsewhere, or somewhere.
    pub(in crate::daemon) fn network_changed(&mut self) {
        self.changed = true;
    }

    /// True if it is asked for now: not so soon after the last time, and not before that is answered.
    pub(in crate::daemon) fn ask(
        &mut self,
        name: &str,
        pause: Duration,
        outside: Option<&Outside>,
    ) -> bool {
        let early = self.asked.get(name).is_some_and(|asked| asked.elapsed() < pause);
        if early || !self.waiting.insert(name.to_owned()) {
            return false;
        }
        self.asked.insert(name.to_owned(), Instant::now());
        let (name, answers, outside) = (name.to_owned(), self.answers.clone(), outside.cloned());
        let free = Arc::clone(&self.free);
        tokio::spawn(async move {
            // It is never closed; without it there would only be more at a time.
            let _permit = free.acquire().await;
            let found = look_up(&name, outside).await;
            // The daemon may be ending.
            let _ = answers.send((name, found)).await;
        });
        true
    }
}

/// The way to ask for names outside of a tunnel that takes everything.
#[derive(Clone, Debug)]
pub(in crate::daemon) struct Outside {
    /// The mark of outer packets.
    pub(in crate::daemon) mark: u32,
    /// The interfaces that paths name.
    pub(super) interfaces: Vec<String>,
}

/// Addresses of a name.
async fn look_up(name: &str, outside: Option<Outside>) -> std::io::Result<Vec<IpAddr>> {
    let by_library = async || {
        // The port only completes what is asked for.
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    };
    let Some(Outside { mark, interfaces }) = outside else { return by_library().await };
    match resolver::resolve(name, mark, &interfaces).await {
        Ok(found) => Ok(found),
        // The reason of the first says more.
        Err(error) => by_library().await.map_err(|_: std::io::Error| error),
    }
}
