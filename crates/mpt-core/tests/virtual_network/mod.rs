//! Two endpoints joined by emulated links, in virtual time: real GRE datagrams, checksummed inner packets both ways, one
//! seed that decides everything. It is printed, and so shown when a test fails.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test uses a part of it")]

mod host;
mod packet;
mod setup;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_core::{PathId, SocketId};
use mpt_link::{ByteCount, Change, Link, Outcome};

pub use host::Host;
pub use setup::{Inner, PathSetup, Setup, millis, probability};

/// A datagram on a link.
pub type Datagram = Vec<u8>;

/// The index of a host, and of the direction in which it sends.
pub type Side = usize;

/// The two hosts.
pub const SIDES: [Side; 2] = [0, 1];

/// One datagram given to a link.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    pub at: Instant,
    /// The number of the inner packet among those that the side has sent.
    pub id: u64,
    pub path: usize,
    /// In its GRE header.
    pub number: Option<u32>,
    pub outcome: Outcome,
}

impl Transmission {
    pub fn arrives(&self) -> bool {
        matches!(self.outcome, Outcome::Arrives { .. })
    }
}

/// Two hosts and the paths between them.
pub struct Network {
    pub hosts: [Host; 2],
    /// By side: what was given to the links.
    pub wire: [Vec<Transmission>; 2],
    start: Instant,
    now: Instant,
    /// By path, then by sending side.
    links: Vec<[Link<Datagram>; 2]>,
    setup: Setup,
}

impl Network {
    /// Builds it and lets one packet each way arrive, so that both windows have their position.
    ///
    /// (Without a control session the first packet to arrive decides that. Were it not number 0, those before it, still
    /// on a slower path, would be late.) Loss begins after that.
    pub fn new(setup: Setup) -> Self {
        let mut network = Self::idle(setup);
        SIDES.into_iter().for_each(|side| network.send(side));
        network.settle();
        for side in SIDES {
            assert_eq!(network.hosts[side].delivered.len(), 1, "the first packet arrives");
        }
        for (path, links) in network.setup.paths.iter().zip(&mut network.links) {
            for (params, link) in path.links.iter().zip(links) {
                link.change(network.now, Change::Loss(params.loss));
            }
        }
        network
    }

    /// Builds it. Nothing is lost yet.
    fn idle(setup: Setup) -> Self {
        eprintln!("seed {}", setup.seed);
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let start = Instant::now();
        let links = (0_u64..).zip(&setup.paths).map(|(index, path)| {
            SIDES.map(|side| {
                let params = mpt_link::Params { loss: mpt_link::Loss::None, ..path.links[side] };
                let seed = packet::mix(setup.seed, index * 2 + side as u64);
                Link::new(start, params, [], seed)
            })
        });
        Self {
            hosts: SIDES.map(|side| Host::new(side, start, &setup)),
            wire: SIDES.map(|_| Vec::new()),
            start,
            now: start,
            links: links.collect(),
            setup,
        }
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Runs for `duration`, in which both sides send a packet every `interval` on average.
    pub fn run(&mut self, duration: Duration, interval: Duration) {
        let until = self.now + duration;
        let mut next = SIDES.map(|side| self.now + self.spacing(side, interval));
        loop {
            let side = SIDES.into_iter().min_by_key(|&side| next[side]).expect("there are two");
            if next[side] > until {
                return self.advance(until);
            }
            self.advance(next[side]);
            self.send(side);
            next[side] = self.now + self.spacing(side, interval);
        }
    }

    /// Runs until nothing is on its way and nothing waits.
    pub fn settle(&mut self) {
        let limit = self.now + Duration::from_secs(3600);
        while let Some(next) = self.next_event() {
            assert!(next < limit, "it never comes to rest");
            self.advance(next);
        }
        for host in &self.hosts {
            let waiting = host.connection().reorder().map_or(0, |reorder| reorder.occupancy());
            assert_eq!(waiting, 0, "packets wait, but no timeout is set");
        }
    }

    /// A packet from the device of `side`.
    pub fn send(&mut self, side: Side) {
        let host = &mut self.hosts[side];
        let id = host.sent;
        for (path, number, datagram) in host.encapsulate(self.now, &self.setup) {
            let outcome = self.transmit(side, path, datagram);
            self.wire[side].push(Transmission { at: self.now, id, path, number, outcome });
        }
    }

    /// A datagram made up by `side`, given to a path.
    pub fn inject(&mut self, side: Side, path: usize, datagram: Datagram) {
        let outcome = self.transmit(side, path, datagram);
        assert!(matches!(outcome, Outcome::Arrives { .. }), "{outcome:?}");
    }

    /// Changes a link in one direction.
    pub fn change(&mut self, side: Side, path: usize, change: Change) {
        self.links[path][side].change(self.now, change);
    }

    /// Changes a path at both ends, as by `set_path_state`.
    pub fn change_path(
        &mut self,
        path: usize,
        change: impl Fn(&mut mpt_core::Node<usize>, Instant, PathId),
    ) {
        for host in &mut self.hosts {
            let id = host.paths[path];
            change(&mut host.node, self.now, id);
        }
    }

    /// Replaces a host by one that knows nothing of the past: it numbers from 0 again. What it had delivered remains.
    pub fn restart(&mut self, side: Side) {
        self.hosts[side].restart(self.now, &self.setup);
    }

    /// Ids of the packets that `side` has sent and of which at least one copy arrives at the other end of a link.
    pub fn arriving(&self, side: Side) -> Vec<u64> {
        let mut ids: Vec<u64> =
            self.wire[side].iter().filter(|it| it.arrives()).map(|it| it.id).collect();
        ids.dedup();
        ids
    }

    /// Ids of the packets that the other host has delivered of those that `side` has sent, in order of delivery.
    pub fn delivered(&self, side: Side) -> Vec<u64> {
        self.hosts[1 - side].delivered.iter().map(|it| it.id).collect()
    }

    /// Everything that came out of a link was delivered once, both ways.
    pub fn assert_all_delivered_once(&self) {
        for side in SIDES {
            let mut delivered = self.delivered(side);
            delivered.sort_unstable();
            assert_eq!(delivered, self.arriving(side), "from host {side}");
        }
    }

    /// No packet was delivered twice, and none that did not arrive, either way.
    pub fn assert_nothing_twice(&self) {
        for side in SIDES {
            let mut delivered = self.delivered(side);
            let count = delivered.len();
            delivered.sort_unstable();
            delivered.dedup();
            assert_eq!(delivered.len(), count, "from host {side}");
            let arriving = self.arriving(side);
            assert!(delivered.iter().all(|id| arriving.binary_search(id).is_ok()));
        }
    }

    /// Returns the number of packets from `side` that were delivered after one that had been sent later.
    pub fn inversions(&self, side: Side) -> usize {
        let mut highest = 0;
        let behind = |id: &u64| {
            highest = highest.max(*id);
            *id < highest
        };
        self.delivered(side).iter().copied().filter(behind).count()
    }

    fn spacing(&self, side: Side, interval: Duration) -> Duration {
        let draw = packet::mix(
            self.setup.seed ^ 0x5350_4143_494e_4700,
            self.hosts[side].sent * 2 + side as u64,
        );
        Duration::from_nanos(draw % (2 * interval.as_nanos() as u64 + 1))
    }

    fn transmit(&mut self, side: Side, path: usize, datagram: Datagram) -> Outcome {
        let outer = if self.setup.paths[path].outer_v6 { 40 } else { 20 };
        let size = ByteCount(datagram.len() as u64 + outer + 8);
        self.links[path][side].enqueue(self.now, size, datagram)
    }

    fn next_event(&self) -> Option<Instant> {
        let links = self.links.iter().flatten().filter_map(Link::next_timeout);
        let hosts = self.hosts.iter().filter_map(|host| host.node.next_timeout());
        links.chain(hosts).min()
    }

    /// Lets everything happen that is due until `until`, each at its time.
    fn advance(&mut self, until: Instant) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            self.now = self.now.max(next);
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
            for (path, links) in self.links.iter_mut().enumerate() {
                for (side, link) in links.iter_mut().enumerate() {
                    while let Some(datagram) = link.poll(self.now) {
                        let remote = setup::address(&self.setup, path, side);
                        let receiver = &mut self.hosts[1 - side];
                        receiver.handle_datagram(self.now, socket(path), remote, datagram);
                    }
                }
            }
        }
        self.now = until;
    }
}

/// The socket of a path, at either end.
fn socket(path: usize) -> SocketId {
    SocketId(path as u32)
}

/// A GRE datagram from `side` with a number and an inner packet of its own, outside the order of the others.
pub fn forged(setup: &Setup, side: Side, number: u32) -> Datagram {
    let inner = packet::build(setup, side, packet::FORGED, 0);
    let protocol = mpt_wire::gre::Protocol::IPV4;
    let gre =
        mpt_wire::gre::Repr { protocol, checksum: false, key: setup.key, sequence: Some(number) };
    host::datagram(gre, &inner)
}

/// The address and port from which the datagrams of `side` come.
pub fn address(setup: &Setup, path: usize, side: Side) -> SocketAddr {
    setup::address(setup, path, side)
}
