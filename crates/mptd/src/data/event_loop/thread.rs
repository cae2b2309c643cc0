//! The thread of the data path: waits for events and the next timer, and runs what the control side sends, between two rounds.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use mpt_core::Shard;
use mpt_linux::poller::{Event, Interest, MAX_EVENTS, Poller, Waker};
use tokio::sync::{Notify, oneshot};

use crate::data::DataPath;
use crate::data::sessions::suites;
use crate::data::system::token::Token;
use crate::data::system::{Linux, System};

/// A call of the control side, which the data path carries out between two rounds.
type Call = Box<dyn FnOnce(&mut DataPath) + Send>;

/// The control side's end of the data thread.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    calls: mpsc::Sender<Call>,
    waker: Waker,
}

/// The data thread has ended.
#[derive(Debug, thiserror::Error)]
#[error("the data thread has ended")]
pub struct Ended;

impl Handle {
    /// Runs `call` on the data thread between two rounds, and returns its result.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut DataPath) -> R + Send + 'static,
    ) -> Result<R, Ended> {
        self.begin(call)?.await.map_err(|_| Ended)
    }

    /// Has `call` run as [`Self::call`] does, and returns where its result arrives.
    pub(crate) fn begin<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut DataPath) -> R + Send + 'static,
    ) -> Result<oneshot::Receiver<R>, Ended> {
        let (reply, result) = oneshot::channel();
        let call = Box::new(move |data: &mut DataPath| {
            // The caller may have dropped the receiver.
            let _ = reply.send(call(data));
        });
        self.calls.send(call).map_err(|_| Ended)?;
        self.waker.wake();
        Ok(result)
    }
}

/// The thread: the data path, and the way in.
struct Thread {
    data: DataPath,
    waker: Waker,
    calls: mpsc::Receiver<Call>,
}

/// Starts the thread of a shard. `buffer_limit` bounds the bytes of waiting packets; `aes`: data may be sealed with AES-256-GCM; `noticed` is
/// notified when there is something to [take](DataPath::take_notices).
pub(crate) fn spawn(
    shard: Shard,
    buffer_limit: usize,
    aes: bool,
    noticed: Arc<Notify>,
) -> io::Result<(Handle, JoinHandle<()>)> {
    let poller = Poller::new()?;
    let waker = Waker::new()?;
    poller.add(&waker, Token::Waker.into(), Interest::Read)?;
    let (sender, calls) = mpsc::channel();
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    let handle = Handle { calls: sender, waker: waker.clone() };
    let thread = std::thread::Builder::new().name("mptd-data".into()).spawn(move || {
        let mut data = DataPath::new(Linux { poller }, shard, buffer_limit, noticed, seed);
        data.node.set_suites(suites::of_this_processor(aes));
        Thread { data, waker, calls }.run();
    })?;
    Ok((handle, thread))
}

impl Thread {
    fn run(&mut self) {
        let mut events = [Event::default(); MAX_EVENTS];
        while self.data.running {
            let timer = self.data.next_round();
            let timeout = timer.saturating_duration_since(self.data.system.now());
            let ready = match self.data.system.poller.wait(&mut events, Some(timeout)) {
                Ok(ready) => ready,
                Err(error) => {
                    tracing::error!(%error, "waiting for packets failed: the data thread ends");
                    return;
                }
            };
            self.data.round(ready);
            if ready.iter().any(|event| matches!(event.token.into(), Token::Waker)) {
                self.call();
            }
        }
    }

    /// Runs what the control side has sent.
    fn call(&mut self) {
        self.waker.clear();
        while let Ok(call) = self.calls.try_recv() {
            call(&mut self.data);
            self.data.settle();
        }
    }
}
