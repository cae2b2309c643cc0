//! Books the traffic of paths with a cap, keeps the counts, and acts on them.

pub(super) mod writer;

use mpt_api::{AtCap, EventKind};
use mpt_text::quantity;

use super::{Daemon, Error};
use crate::data::DataPath;
use writer::Writer;

impl Daemon {
    /// Books what the paths with a cap have carried, and acts on it. It is to be called once in every [`INTERVAL`](crate::caps::INTERVAL).
    pub(super) async fn count_caps(&mut self) -> Result<(), Error> {
        if !self.caps.is_needed(&self.running) {
            return Ok(());
        }
        if let Writer::Closed = self.caps_writer
            && let Some(store) = self.caps.open()
        {
            self.caps_writer = Writer::Ready(store);
        }
        self.book_caps().await?;
        self.write_caps(false).await;
        Ok(())
    }

    async fn book_caps(&mut self) -> Result<(), Error> {
        let carried = self.shards.each(DataPath::take_carried).await?.flatten().collect();
        let now = self.caps.now();
        let outcome = self.caps.book(&now, &self.running, carried);
        for event in outcome.events {
            log(&event);
            self.tell(event);
        }
        let changed: Vec<_> = {
            let places = self.caps_reached.keys().chain(outcome.reached.keys());
            let differs = |place: &&_| self.caps_reached.get(*place) != outcome.reached.get(*place);
            places.filter(differs).cloned().collect()
        };
        if !changed.is_empty() {
            self.caps_reached.clone_from(&outcome.reached);
            self.shards.each(move |data| data.set_reached(&outcome.reached)).await?;
            self.tell_paths(changed).await;
            self.follow_fallback().await;
        }
        Ok(())
    }

    /// Writes the counts, unless the write before still runs. `last`: waits until they are on the disk.
    async fn write_caps(&mut self, last: bool) {
        let mut store = match std::mem::take(&mut self.caps_writer) {
            Writer::Closed => return,
            Writer::Ready(store) => store,
            Writer::Writing(handle) if !last && !handle.is_finished() => {
                self.caps_writer = Writer::Writing(handle);
                return;
            }
            Writer::Writing(handle) => match handle.await {
                Ok((store, result)) => {
                    self.caps.written(result);
                    store
                }
                // It has panicked; the directory is opened anew.
                Err(_) => return,
            },
        };
        let save = self.caps.save(last);
        let handle = tokio::task::spawn_blocking(move || {
            let result = store.write(&save.entries, save.sync);
            (store, result)
        });
        if !last {
            self.caps_writer = Writer::Writing(handle);
        } else if let Ok((_, result)) = handle.await {
            self.caps.written(result);
        }
    }

    /// Keeps what was counted until now, before the daemon ends.
    pub(super) async fn close_caps(&mut self) {
        if let Writer::Closed = self.caps_writer {
            return;
        }
        // The data thread may have ended.
        let _ = self.book_caps().await;
        self.write_caps(true).await;
    }
}

fn log(event: &EventKind) {
    let bytes = |count: &u64| quantity::bytes(*count);
    match event {
        EventKind::CapNear { connection, path, percent, used, limit } => {
            let (used, cap) = (bytes(used), bytes(limit));
            tracing::warn!(connection, path, used, cap, "path has carried {percent} % of its cap");
        }
        EventKind::CapReached { connection, path, used, limit, at_cap } => {
            let (used, cap) = (bytes(used), bytes(limit));
            let then = match at_cap {
                AtCap::Backup => "it carries data only while no other path works",
                AtCap::Stop => "it carries nothing until the next period",
                AtCap::Warn | AtCap::Unknown => "it goes on, as at_cap says",
            };
            tracing::warn!(connection, path, used, cap, "path has reached its cap: {then}");
        }
        EventKind::CapReset { connection, path, used, limit } => {
            let (used, cap) = (bytes(used), bytes(limit));
            tracing::info!(connection, path, used, cap, "a new period of the path's cap begins");
        }
        _ => {}
    }
}
