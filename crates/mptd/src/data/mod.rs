//! The data path: one owner of all TUN devices, sockets and connections. It shares nothing, so it locks nothing.
//!
//! A thread of its own has it work in rounds: a round takes what the devices and sockets have in batches, and does what is due. The
//! control side reaches in by sending closures, run between rounds.

mod backlog;
mod configuration;
mod egress;
mod event_loop;
#[cfg(test)]
mod in_memory;
mod ingress;
mod measurement;
mod memory;
mod paths;
mod reporting;
mod sessions;
mod sockets;
mod system;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mpt_core::{DeviceId, Node, Shard, SocketId};
use mpt_linux::poller::{Event, MAX_EVENTS};
use mpt_linux::udp::ArrivalClock;
use tokio::sync::Notify;

pub(crate) use configuration::clients::InnerMtus;
pub(crate) use configuration::wanted::{ChangeError, ClientSession, LinkFacts, PathLink, Wanted};
use egress::exits::Exits;
use egress::outbox::Flushed;
use egress::{Egress, Stuck};
use event_loop::rounds::{READS_PER_SOCKET, SMALL_PACKETS_BURST, SMALL_PACKETS_PER_ROUND};
pub use event_loop::thread::Ended;
pub(crate) use event_loop::thread::{Handle, spawn};
use ingress::Ingress;
use measurement::capped::Capped;
pub(crate) use measurement::capped::{Carried, Place};
use measurement::rates::RATE_PERIOD;
use memory::buffers::PacketRef;
use memory::store::Store;
use paths::table::PathTable;
pub(crate) use reporting::facts::{ConnectionFacts, Facts};
pub(crate) use reporting::notice::Notice;
use reporting::notice::Notices;
pub(crate) use reporting::states::former;
use sessions::entries::Sessions;
use sockets::Sockets;
use sockets::command_sockets::Prototypes;
use sockets::message::Messages;
use system::device::Device;
use system::token::Token;
use system::{Linux, SuperPacketDevice, System};

/// Timers of sessions within such a time are served together. A probe may be as late: far less than its jitter.
const TOGETHER: Duration = Duration::from_millis(1);

/// Everything the packet path needs, in one place.
pub(crate) struct DataPath<S: System = Linux> {
    system: S,
    node: Node<PacketRef>,
    messages: Messages,
    sessions: Sessions,
    prototypes: Prototypes<S>,
    devices: Vec<Option<Device<S::Device>>>,
    sockets: Sockets<S>,
    /// The system's side of the paths, by [`PathId`].
    paths: PathTable,
    icmp: IcmpCounters,
    notices: Notices,
    capped: Capped,
    egress: Egress,
    store: Store,
    ingress: Ingress,
    arrivals: ArrivalClock,
    rates: measurement::rates::Rates,
    next_rates: Instant,
    running: bool,
    /// Sockets with something to read, in this round.
    readable: Vec<SocketId>,
    /// Devices with something to read, in this round.
    readable_devices: Vec<DeviceId>,
    /// Paths whose sockets were full.
    waiting: Vec<Stuck>,
}

/// ICMP errors about our own datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IcmpCounters {
    /// "Too big" about a packet of this host, which lowers the path MTU or causes probes.
    pub(crate) too_big: u64,
    /// "Too big" with a quote of less than the whole GRE header, on paths without a session.
    pub(crate) short_quote: u64,
    /// Messages about no packet that this host sends.
    pub(crate) not_ours: u64,
    /// Messages that the peer or a network is unreachable.
    pub(crate) unreachable: u64,
    /// All other messages.
    pub(crate) other: u64,
}

impl<S: System> DataPath<S> {
    /// The data path of a shard, without devices and connections. `buffer_limit` bounds the bytes of waiting packets; `noticed` is notified when there is something
    /// to [take](Self::take_notices). All randomness of the protocol comes from `seed`.
    pub(super) fn new(
        system: S,
        shard: Shard,
        buffer_limit: usize,
        noticed: Arc<Notify>,
        seed: [u8; 32],
    ) -> Self {
        let mut node = Node::of_shard(shard, seed);
        node.set_timer_slack(TOGETHER);
        node.set_suites(sessions::suites::of_this_processor(true));
        Self {
            next_rates: system.now() + RATE_PERIOD,
            arrivals: ArrivalClock::new(system.clocks()),
            system,
            node,
            messages: Messages::default(),
            sessions: Sessions::default(),
            prototypes: Prototypes::new(),
            devices: Vec::new(),
            sockets: Sockets::of(Token::Socket),
            paths: PathTable::default(),
            icmp: IcmpCounters::default(),
            notices: Notices::new(noticed),
            capped: Capped::default(),
            egress: Egress::new(),
            store: Store::new(),
            ingress: Ingress::new(buffer_limit),
            rates: measurement::rates::Rates::default(),
            running: true,
            readable: Vec::with_capacity(MAX_EVENTS),
            readable_devices: Vec::with_capacity(MAX_EVENTS),
            waiting: Vec::with_capacity(64),
        }
    }

    /// Ends the thread after this round; devices and sockets close with it.
    pub(crate) fn stop(&mut self) {
        self.running = false;
    }

    /// Returns the time at which the next round is due though nothing has happened.
    fn next_round(&mut self) -> Instant {
        let now = self.system.now();
        if now >= self.next_rates {
            self.take_rates(now);
        }
        self.node.next_timeout().map_or(self.next_rates, |at| at.min(self.next_rates))
    }

    /// Takes what is there, and does what is due.
    fn round(&mut self, ready: &[Event]) {
        let now = self.system.now();
        for event in ready {
            match event.token.into() {
                // The thread looks after the calls.
                Token::Waker => {}
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
        // The reports among it may let more leave.
        self.depart(now);
        while let Some(device) = self.readable_devices.pop() {
            self.read_device(now, device);
        }
        self.node.set_busy(!all_read);
        self.handle_timeout(now);
        self.depart(now);
        self.settle_stuck();
        self.settle();
        self.let_receivers_run();
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
        self.egress.round(id, device, &mut self.store, &mut self.node, &mut exits);
    }

    /// Sends what may leave the queues of connections.
    fn depart(&mut self, now: Instant) {
        let mut exits = Exits { now, paths: &mut self.paths, sockets: &self.sockets };
        self.egress.depart(&mut self.store, &mut self.node, &mut exits);
    }

    /// Frees the packets of queues that are gone: of connections that were removed, or have another mapping now.
    fn free_queues(&mut self) {
        let tunnels = self.node.tunnels();
        self.store.retain(|id| {
            let queue = tunnels.connection(id).and_then(mpt_core::Connection::queue);
            queue.is_some_and(|queue| queue.holds_any)
        });
        self.node.limit_queues(self.store.room());
    }

    /// Handles the removal of a device of this daemon from the system: it never comes back to this descriptor.
    fn lose_device(&mut self, id: DeviceId) {
        let Some(device) = self.devices.get_mut(usize::from(id.0)).and_then(Option::take) else {
            return;
        };
        self.system.forget_device(&device.tun);
        self.notify(Notice::DeviceGone { device: device.tun.name().into() });
    }

    /// Reads what has arrived, in turns: the packets of a connection alternate over its paths, so a batch of each in turn keeps few of them
    /// waiting for one another, and those still in the cache. Whether nothing is left.
    fn read_sockets(&mut self) -> bool {
        self.arrivals.update(self.system.clocks());
        for _ in 0..READS_PER_SOCKET {
            let (ingress, sockets, devices) = (&mut self.ingress, &self.sockets, &mut self.devices);
            let (system, arrivals) = (&self.system, &self.arrivals);
            let node = &mut self.node;
            self.readable.retain(|&id| {
                let socket = sockets.socket(id);
                socket.is_some_and(|socket| {
                    ingress.read(id, socket, || system.now(), arrivals, node, devices)
                })
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
            let Some(path) = self.paths.get_mut(stuck.path) else { return false };
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
                    let Some(path) = self.paths.get(stuck.path) else { continue };
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
        if let Err(error) = self.sockets.want_writable(&self.system, id, wanted) {
            tracing::error!(%error, "cannot wait for room in a socket");
        }
    }
}
