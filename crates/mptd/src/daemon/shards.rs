//! The shards of the daemon: its data threads, each with devices, connections and sessions of its own.
//!
//! The control side addresses a shard by what it has: a connection, a session or a device. What concerns the whole daemon goes to all shards
//! at once. There is one shard today.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use mpt_core::Shard;
use mpt_core::session::SessionId;
use tokio::sync::{Notify, oneshot};

use crate::data::{self, DataPath, Ended, Handle};

/// The results of all shards, in the order of the shards.
pub(in crate::daemon) type Results<R> = std::vec::IntoIter<R>;

/// The control side's ends of all data threads.
#[derive(Clone, Debug)]
pub(in crate::daemon) struct Shards {
    /// The ends, in the order of the shards' numbers.
    handles: Arc<[Handle]>,
}

impl Shards {
    /// Starts the data thread of the only shard, as [`data::spawn`] does.
    pub(in crate::daemon) fn start(
        buffer_limit: usize,
        aes: bool,
        noticed: Arc<Notify>,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (handle, thread) = data::spawn(Shard::FIRST, buffer_limit, aes, noticed)?;
        Ok((Self { handles: Arc::new([handle]) }, thread))
    }

    /// Returns the shard that has a connection.
    pub(in crate::daemon) fn of(&self, connection: &str) -> &Handle {
        self.at(shard_of(connection))
    }

    /// Returns the shard that has a session, as its id says.
    pub(in crate::daemon) fn of_session(&self, session: SessionId) -> &Handle {
        self.at(session.shard)
    }

    /// Returns the shard that reads a device, and so has all connections of the device.
    pub(in crate::daemon) fn of_device(&self, _device: &str) -> &Handle {
        self.at(Shard::FIRST)
    }

    /// Runs `call` on all shards, each between two of its rounds, and returns the results.
    pub(in crate::daemon) async fn each<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut DataPath) -> R + Clone + Send + 'static,
    ) -> Result<Results<R>, Ended> {
        results(self.handles.iter().map(|handle| handle.begin(call.clone()))).await
    }

    /// Runs `call` on all shards, on each with those of `items` whose connections the shard has, and returns the results. A shard that has
    /// none of them is called, too.
    pub(in crate::daemon) async fn split<T: Send + 'static, R: Send + 'static>(
        &self,
        items: Vec<T>,
        connection: impl Fn(&T) -> &str,
        call: impl FnOnce(&mut DataPath, Vec<T>) -> R + Clone + Send + 'static,
    ) -> Result<Results<R>, Ended> {
        let mut parts: Vec<Vec<T>> = self.handles.iter().map(|_| Vec::new()).collect();
        for item in items {
            let shard = shard_of(connection(&item));
            parts[usize::from(shard.number())].push(item);
        }
        let begun = self.handles.iter().zip(parts).map(|(handle, part)| {
            let call = call.clone();
            handle.begin(move |data| call(data, part))
        });
        results(begun).await
    }

    fn at(&self, shard: Shard) -> &Handle {
        &self.handles[usize::from(shard.number())]
    }
}

/// Assigns a connection to a shard: all to the only one.
///
/// A connection has to be where its device is read and, if a client has created it, where the client's session is: the data path of one
/// shard has all three.
fn shard_of(_connection: &str) -> Shard {
    Shard::FIRST
}

/// Sends all calls first, so that the shards carry them out beside one another and none is left out because another one has ended. Then waits
/// for the results.
async fn results<R>(
    begun: impl Iterator<Item = Result<oneshot::Receiver<R>, Ended>>,
) -> Result<Results<R>, Ended> {
    let begun: Vec<_> = begun.collect();
    let mut results = Vec::with_capacity(begun.len());
    for result in begun {
        results.push(result?.await.map_err(|_| Ended)?);
    }
    Ok(results.into_iter())
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    /// Starts two shards.
    fn two() -> (Shards, Vec<JoinHandle<()>>) {
        let spawn = |number| {
            let shard = Shard::new(number).unwrap();
            data::spawn(shard, 1 << 20, false, Arc::new(Notify::new())).unwrap()
        };
        let (handles, threads): (Vec<_>, Vec<_>) = [0, 1].map(spawn).into_iter().unzip();
        (Shards { handles: handles.into() }, threads)
    }

    fn ids(threads: &[JoinHandle<()>]) -> Vec<ThreadId> {
        threads.iter().map(|thread| thread.thread().id()).collect()
    }

    fn here(_: &mut DataPath) -> ThreadId {
        std::thread::current().id()
    }

    #[tokio::test]
    async fn a_call_reaches_the_shard_of_what_it_is_about() {
        let (shards, threads) = two();
        let ids = ids(&threads);
        for (number, id) in (0..).zip(&ids) {
            let session = SessionId { shard: Shard::new(number).unwrap(), number: 7 };
            assert_eq!(shards.of_session(session).call(here).await.unwrap(), *id);
        }
        assert_eq!(shards.of("office").call(here).await.unwrap(), ids[0]);
        assert_eq!(shards.of_device("mpt0").call(here).await.unwrap(), ids[0]);
    }

    #[tokio::test]
    async fn a_call_to_each_reaches_every_shard_once_in_their_order() {
        let (shards, threads) = two();
        assert_eq!(shards.each(here).await.unwrap().collect::<Vec<_>>(), ids(&threads));
    }

    #[tokio::test]
    async fn each_shard_gets_what_is_of_its_connections() {
        let (shards, threads) = two();
        let items = vec![("office".to_owned(), 1), ("home".to_owned(), 2)];
        let parts = shards.split(items.clone(), |it| &it.0, |data, part| (here(data), part)).await;
        let ids = ids(&threads);
        assert_eq!(
            parts.unwrap().collect::<Vec<_>>(),
            [(ids[0], items), (ids[1], Vec::new())],
            "the first one has all connections, and the other one is called without any"
        );
    }

    #[tokio::test]
    async fn the_end_of_one_thread_is_reported_and_holds_up_no_other_one() {
        let (shards, mut threads) = two();
        shards.at(Shard::FIRST).call(DataPath::stop).await.unwrap();
        threads.remove(0).join().unwrap();
        let (called, calls) = std::sync::mpsc::channel();
        assert!(shards.each(move |_| called.send(()).unwrap()).await.is_err());
        assert!(calls.recv().is_ok(), "the other one was called");
    }
}
