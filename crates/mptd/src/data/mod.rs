//! The data thread: one owner of all TUN devices, sockets and connections. It shares nothing, so it locks nothing.
//!
//! A round waits for events, takes what the devices and sockets have in batches, and sleeps until the next event or the endpoint's next
//! timer. The control side reaches in by sending closures, run between rounds (`Handle::call`).

mod buffers;
mod changes;
mod clients;
mod compat;
mod device;
mod egress;
mod gather;
mod ingress;
mod measure;
mod messages;
mod notices;
mod outbox;
mod pages;
mod path;
mod path_mtu;
mod session_snapshot;
mod sessions;
mod shares;
mod snapshot;
mod sockets;
mod states;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpt_core::control;
use mpt_core::{DeviceId, Node, SocketId};
use mpt_linux::poller::{Event, Interest, MAX_EVENTS, Poller, Waker};
use tokio::sync::{Notify, oneshot};

use buffers::PacketRef;
pub(crate) use changes::{ChangeError, LinkFacts, PathLink, Wanted};
pub(crate) use clients::InnerMtus;
use compat::Prototypes;
use device::Device;
use egress::{Egress, Exits, Stuck};
use ingress::Ingress;
use messages::Messages;
use notices::Notices;
use outbox::Flushed;
use path::PathIo;
pub(crate) use sessions::ClientSession;
use sessions::Sessions;
use sockets::Sockets;
pub(crate) use states::former;
use token::Token;

/// What the control side has the data thread do, between two rounds.
type Call = Box<dyn FnOnce(&mut DataThread) + Send>;

/// Reads from one socket in a round: then the devices get their turn.
const READS_PER_SOCKET: usize = 8;
/// Small packets received in a round before the devices get their turn.
const SMALL_PACKETS_PER_ROUND: usize = 64;
/// Small packets in a round, both ways, after which others get the processor.
const SMALL_PACKETS_BURST: usize = 16;
/// Packets shorter than this count as small.
const SMALL_PACKET: usize = 512;
/// Timers of sessions within such a time are served together. A probe may be as late: far less than its jitter.
const TOGETHER: Duration = Duration::from_millis(1);
/// How often rates are taken.
const RATE_PERIOD: Duration = Duration::from_secs(1);

/// Everything the packet path needs, in one place.
pub(crate) struct DataThread {
    poller: Poller,
    waker: Waker,
    calls: mpsc::Receiver<Call>,
    node: Node<PacketRef>,
    messages: Messages,
    sessions: Sessions,
    prototypes: Prototypes,
    devices: Vec<Option<Device>>,
    sockets: Sockets,
    /// The system's side of the paths, by [`PathId`].
    paths: Vec<Option<PathIo>>,
    icmp: IcmpCounters,
    notices: Notices,
    egress: Egress,
    ingress: Ingress,
    rates: snapshot::Rates,
    next_rates: Instant,
    running: bool,
    /// Sockets with something to read, in this round.
    readable: Vec<SocketId>,
    /// Devices with something to read, in this round.
    readable_devices: Vec<DeviceId>,
    /// Paths whose sockets were full.
    waiting: Vec<Stuck>,
}

/// What the data thread has to tell the control side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The inner MTU of a device changed, because the network lowered that of a path.
    DeviceMtu {
        /// The device's name.
        device: String,
        /// Bytes.
        mtu: u16,
    },
    /// A path's state changed, or its first one is known; for the log.
    PathState {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// Its state before; `None` when it is new.
        from: Option<mpt_api::PathState>,
        /// Its state now.
        to: mpt_api::PathState,
        /// Why it is down, or what brought it up.
        reason: &'static str,
        /// How long the state before lasted.
        lasted: Duration,
    },
    /// A path changed by what its session found.
    PathChanged {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
    },
    /// Probes found another path MTU; for the log.
    PathMtu {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// Bytes that it was used with.
        before: u16,
        /// Bytes that it carries.
        found: u16,
    },
    /// The other end of a path is at another address.
    PathMoved {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// Where the other end is now.
        remote: SocketAddr,
    },
    /// Something happened to a session.
    Session {
        /// What.
        event: control::Event,
        /// Name of its connection, if it has one.
        connection: Option<String>,
    },
    /// A device was removed from the system by somebody else.
    DeviceGone {
        /// The device's name.
        device: String,
    },
}

/// ICMP errors about our own datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IcmpCounters {
    /// "Too big" about a packet of ours: believed, or followed up by probes.
    pub(crate) too_big: u64,
    /// Those of them that quote less than the whole GRE header, on paths without a session.
    pub(crate) short_quote: u64,
    /// About no packet that we send.
    pub(crate) not_ours: u64,
    /// The peer or a network is unreachable.
    pub(crate) unreachable: u64,
    /// Anything else.
    pub(crate) other: u64,
}

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
    /// Runs `call` on the data thread between two rounds and gives its result.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut DataThread) -> R + Send + 'static,
    ) -> Result<R, Ended> {
        let (reply, result) = oneshot::channel();
        let call = Box::new(move |data: &mut DataThread| {
            // Whoever asked may be gone.
            let _ = reply.send(call(data));
        });
        self.calls.send(call).map_err(|_| Ended)?;
        self.waker.wake();
        result.await.map_err(|_| Ended)
    }
}

impl DataThread {
    /// Starts the thread. `buffer_limit` bounds the bytes of waiting packets; `noticed` is notified when there is something to
    /// [take](Self::take_notices).
    pub(crate) fn spawn(
        buffer_limit: usize,
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
            let mut node = Node::new(seed);
            node.set_timer_slack(TOGETHER);
            let mut data = DataThread {
                poller,
                waker,
                calls,
                node,
                messages: Messages::default(),
                sessions: Sessions::default(),
                prototypes: Prototypes::new(),
                devices: Vec::new(),
                sockets: Sockets::of(Token::Socket),
                paths: Vec::new(),
                icmp: IcmpCounters::default(),
                notices: Notices::new(noticed),
                egress: Egress::new(),
                ingress: Ingress::new(buffer_limit),
                rates: snapshot::Rates::default(),
                next_rates: Instant::now() + RATE_PERIOD,
                running: true,
                readable: Vec::with_capacity(MAX_EVENTS),
                readable_devices: Vec::with_capacity(MAX_EVENTS),
                waiting: Vec::with_capacity(64),
            };
            data.run();
        })?;
        Ok((handle, thread))
    }

    /// Ends the thread after this round; devices and sockets close with it.
    pub(crate) fn stop(&mut self) {
        self.running = false;
    }

    fn run(&mut self) {
        let mut events = [Event::default(); MAX_EVENTS];
        while self.running {
            let now = Instant::now();
            if now >= self.next_rates {
                self.take_rates(now);
            }
            let timer =
                self.node.next_timeout().map_or(self.next_rates, |at| at.min(self.next_rates));
            let timeout = timer.saturating_duration_since(now);
            let ready = match self.poller.wait(&mut events, Some(timeout)) {
                Ok(ready) => ready,
                Err(error) => {
                    tracing::error!(%error, "waiting for packets failed: the data thread ends");
                    return;
                }
            };
            self.round(ready);
        }
    }

    fn round(&mut self, ready: &[Event]) {
        let now = Instant::now();
        let mut called = false;
        for event in ready {
            match event.token.into() {
                Token::Waker => called = true,
                Token::Device(index) => {
                    if event.error {
                        self.lose_device(DeviceId(index));
                    } else if event.readable {
                        self.readable_devices.push(DeviceId(index));
                    }
                }
                Token::Command(index) => self.read_commands(now, SocketId(index), event.error),
                Token::Socket(index) => {
                    let id = SocketId(index);
                    if event.error {
                        self.read_errors(id);
                    }
                    if event.writable {
                        self.retry_sends(now, id);
                    }
                    // An error without an entry in the queue is taken off by reading.
                    if event.readable || event.error {
                        self.readable.push(id);
                    }
                }
            }
        }
        // First what came in: the host answers it with acknowledgements and more data, which then leave in the same round.
        let all_read = self.read_sockets();
        while let Some(device) = self.readable_devices.pop() {
            self.read_device(now, device);
        }
        self.node.set_busy(!all_read);
        self.handle_timeout(now);
        self.settle_stuck();
        self.settle();
        self.let_receivers_run();
        if called {
            self.waker.clear();
            while let Ok(call) = self.calls.try_recv() {
                call(self);
                self.settle();
            }
        }
    }

    /// A burst of small packets fills the socket buffer of whoever receives them long before it amounts to many bytes, so after some of them
    /// whoever waits for this processor goes first. It costs nothing where nobody does.
    fn let_receivers_run(&mut self) {
        let small = self.ingress.take_small_packets() + self.egress.take_small_packets();
        if small >= SMALL_PACKETS_BURST {
            std::thread::yield_now();
        }
    }

    fn read_device(&mut self, now: Instant, id: DeviceId) {
        let Some(Some(device)) = self.devices.get(usize::from(id.0)) else { return };
        let mut exits = Exits { now, paths: &mut self.paths, sockets: &self.sockets };
        self.egress.round(id, device, &mut self.node, &mut exits);
    }

    /// Somebody removed a device of ours from the system: it never comes back to this descriptor.
    fn lose_device(&mut self, id: DeviceId) {
        let Some(device) = self.devices.get_mut(usize::from(id.0)).and_then(Option::take) else {
            return;
        };
        let _ = self.poller.remove(&device.tun);
        self.notify(Notice::DeviceGone { device: device.tun.name().into() });
    }

    /// Reads what has arrived, in turns: the packets of a connection alternate over its paths, so a batch of each in turn keeps few of them
    /// waiting for one another, and those still in the cache. Whether nothing is left.
    fn read_sockets(&mut self) -> bool {
        for _ in 0..READS_PER_SOCKET {
            let (ingress, sockets, devices) = (&mut self.ingress, &self.sockets, &mut self.devices);
            let node = &mut self.node;
            self.readable.retain(|&id| {
                let socket = sockets.socket(id);
                socket.is_some_and(|socket| ingress.read(id, socket, node, devices))
            });
            if self.readable.is_empty() || self.ingress.small_packets() >= SMALL_PACKETS_PER_ROUND {
                break;
            }
        }
        let all_read = self.readable.is_empty();
        self.readable.clear();
        self.ingress.end_round(&mut self.devices);
        all_read
    }

    /// A socket has room again: the paths that wait for it go on.
    fn retry_sends(&mut self, now: Instant, id: SocketId) {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.want_writable(id, false);
        waiting.retain(|stuck| {
            let Some(Some(path)) = self.paths.get_mut(stuck.path.0 as usize) else { return false };
            let of_socket =
                path.channels.get(stuck.channel).is_some_and(|channel| channel.socket == id);
            if of_socket {
                let outcome = path.retry(now, stuck.channel, &self.sockets, &mut self.egress.room);
                self.egress.stuck.push(Stuck { outcome, ..*stuck });
            }
            !of_socket
        });
        self.waiting = waiting;
    }

    /// Deals with paths that could not send: wait for room, or learn that their MTU is smaller than thought.
    fn settle_stuck(&mut self) {
        while let Some(stuck) = self.egress.stuck.pop() {
            match stuck.outcome {
                Flushed::Done => {}
                Flushed::Waiting => {
                    let Some(Some(path)) = self.paths.get(stuck.path.0 as usize) else { continue };
                    let socket = path.channels[stuck.channel].socket;
                    if !self.waiting.contains(&stuck) {
                        self.waiting.push(stuck);
                    }
                    self.want_writable(socket, true);
                }
                Flushed::TooBig => self.local_too_big(stuck.path, stuck.channel),
            }
        }
    }

    fn want_writable(&mut self, id: SocketId, wanted: bool) {
        if let Err(error) = self.sockets.want_writable(&self.poller, id, wanted) {
            tracing::error!(%error, "cannot wait for room in a socket");
        }
    }
}
