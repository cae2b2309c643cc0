//! Two hosts with a daemon each, and the links between them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mpt_config::{self as config, Config};
use mpt_core::Shard;
use mpt_core::session::{Limits, PrivateKey};
use mpt_link::{Bitrate, ByteCount, Link, Params};
use mpt_wire::ecn::Ecn;
use tokio::sync::Notify;

use super::Memory;
use super::devices::{MemoryDevice, Queues};
use super::packets::{self, Form, Numbered};
use super::sockets::{Datagram, Queue};
use crate::data::{DataPath, LinkFacts, Wanted};

/// The index of a host, and of the direction in which it sends.
pub(in crate::data::in_memory) type Side = usize;

/// Bytes of outer IP and UDP headers.
const HEADERS: usize = 28;

/// One host.
pub(in crate::data::in_memory) struct Host {
    pub(in crate::data::in_memory) data: DataPath<Memory>,
    pub(in crate::data::in_memory) system: Memory,
    pub(in crate::data::in_memory) config: Config,
    device: Rc<RefCell<Queues>>,
    /// The time from one round to the next, as of a thread that gets the processor late.
    pub(in crate::data::in_memory) pause: Duration,
    asleep_until: Instant,
    sent: u64,
    /// The form of the packets that it sends; the port is that of the call.
    pub(in crate::data::in_memory) form: Form,
    /// The packets that came out of the tunnel, in this order.
    pub(in crate::data::in_memory) received: Vec<Numbered>,
}

/// Two hosts and their links.
pub(in crate::data::in_memory) struct Network {
    pub(in crate::data::in_memory) hosts: [Host; 2],
    clock: Rc<Cell<Instant>>,
    /// The links, by address of sender and receiver.
    links: BTreeMap<(IpAddr, IpAddr), Link<Datagram>>,
    /// The datagrams on the lines since this was switched on; `None` if it is off.
    pub(in crate::data::in_memory) captured: Option<Vec<Datagram>>,
    seed: u64,
    lives: u64,
}

impl Network {
    /// Daemons with a session, over lines like these. `more` is added to the connection's table of both.
    pub(in crate::data::in_memory) fn new(seed: u64, lines: &[Params], more: &str) -> Self {
        let text = |side: Side| text(side, lines.len(), more);
        Self::with(seed, lines, [text(0), text(1)])
    }

    /// Daemons of these configurations.
    pub(in crate::data::in_memory) fn with(
        seed: u64,
        lines: &[Params],
        texts: [String; 2],
    ) -> Self {
        eprintln!("seed {seed}");
        let clock = Rc::new(Cell::new(Instant::now()));
        let mut links = BTreeMap::new();
        for (line, params) in lines.iter().enumerate() {
            for side in 0..2 {
                let ends = (address(line, side), address(line, 1 - side));
                let seed = seed * 100 + 2 * line as u64 + side as u64;
                links.insert(ends, Link::new(clock.get(), *params, [], seed));
            }
        }
        let hosts = [0, 1].map(|side| Host::new(&clock, seed, side, &texts[side]));
        Self { hosts, clock, links, captured: None, seed, lives: 0 }
    }

    /// Lets time pass until packets go both ways.
    pub(in crate::data::in_memory) fn establish(&mut self) {
        for _ in 0..100 {
            self.run(Duration::from_millis(50));
            if self.hosts.iter().all(Host::is_up) {
                return;
            }
        }
        panic!("no session after 5 s");
    }

    /// The time.
    pub(in crate::data::in_memory) fn now(&self) -> Instant {
        self.clock.get()
    }

    /// Returns what `side` sends on a line.
    pub(in crate::data::in_memory) fn link(
        &mut self,
        side: Side,
        line: usize,
    ) -> &mut Link<Datagram> {
        let ends = (address(line, side), address(line, 1 - side));
        self.links.get_mut(&ends).expect("a line")
    }

    /// Lets time pass, everything at its time.
    pub(in crate::data::in_memory) fn run(&mut self, duration: Duration) {
        let until = self.clock.get() + duration;
        loop {
            self.settle();
            let arrivals = self.links.values().filter_map(Link::next_timeout);
            let timers = self.hosts.iter_mut().map(Host::next_round);
            let next = arrivals.chain(timers).min().unwrap_or(until).max(self.clock.get());
            if next > until {
                self.clock.set(until);
                return;
            }
            self.clock.set(next);
        }
    }

    /// Runs all rounds that are due, and carries what they send to the links and from there.
    fn settle(&mut self) {
        loop {
            let now = self.clock.get();
            let mut idle = true;
            for link in self.links.values_mut() {
                while let Some(datagram) = link.poll(now) {
                    let side = usize::from(is_of(datagram.to.ip(), 1));
                    self.hosts[side].system.deliver(datagram);
                }
            }
            for host in &mut self.hosts {
                let ready = host.system.ready();
                if host.asleep_until <= now && (!ready.is_empty() || host.data.next_round() <= now)
                {
                    idle = false;
                    host.asleep_until = now + host.pause;
                    host.data.round(&ready);
                    host.collect();
                }
                for datagram in host
                    .system
                    .sockets()
                    .iter()
                    .flat_map(|it| std::mem::take(&mut it.borrow_mut().sent))
                {
                    if let Some(captured) = &mut self.captured {
                        captured.push(datagram.clone());
                    }
                    let size = ByteCount((HEADERS + datagram.bytes.len()) as u64);
                    if let Some(link) = self.links.get_mut(&(datagram.from.ip(), datagram.to.ip()))
                    {
                        let _ = link.enqueue(now, size, datagram);
                    }
                }
            }
            if idle {
                return;
            }
        }
    }

    /// Sends packets, one each `interval`, and lets them arrive.
    pub(in crate::data::in_memory) fn send(
        &mut self,
        side: Side,
        port: u16,
        count: u64,
        interval: Duration,
    ) {
        for _ in 0..count {
            self.hosts[side].give(port, 1);
            self.run(interval);
        }
    }

    /// Sends a super-packet of `count` packets.
    pub(in crate::data::in_memory) fn send_together(&mut self, side: Side, port: u16, count: u64) {
        self.hosts[side].give(port, count);
        self.run(Duration::ZERO);
    }

    /// A datagram comes to a host from anywhere.
    pub(in crate::data::in_memory) fn inject(&mut self, side: Side, datagram: Datagram) {
        self.hosts[side].system.deliver(datagram);
        self.settle();
    }

    /// A daemon ends without a word, and another one takes its place.
    pub(in crate::data::in_memory) fn restart(&mut self, side: Side) {
        self.lives += 1;
        let config = self.hosts[side].config.clone();
        let fresh = Host::of(&self.clock, self.seed + 1000 * self.lives, side, config);
        let before = std::mem::replace(&mut self.hosts[side], fresh);
        (self.hosts[side].sent, self.hosts[side].received) = (before.sent, before.received);
    }
}

impl Host {
    fn new(clock: &Rc<Cell<Instant>>, seed: u64, side: Side, text: &str) -> Self {
        let keys = |_: &Path| Ok(key(side).to_base64());
        let checked = config::check_text_with("memory.toml", text, &keys);
        Self::of(clock, seed, side, checked.unwrap_or_else(|error| panic!("{error}")).config)
    }

    fn of(clock: &Rc<Cell<Instant>>, seed: u64, side: Side, config: Config) -> Self {
        let system = Memory::new(Rc::clone(clock));
        let mut bytes = [side as u8; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        let mut data = DataPath::new(
            system.clone(),
            Shard::FIRST,
            config.daemon.buffer_limit as usize,
            Arc::new(Notify::new()),
            bytes,
        );
        data.set_identity(config.daemon.private_key.clone(), Vec::new(), Limits::default());
        let device = Rc::<RefCell<Queues>>::default();
        let name = config.devices[0].name.clone();
        data.add_device(MemoryDevice { name, queues: Rc::clone(&device) }).expect("it is new");
        let (from, to) = (inner(side), inner(1 - side));
        let form = Form { from, to, port: 0, payload: 8, ecn: Ecn::NotEct };
        let mut host = Self {
            data,
            system,
            config,
            device,
            pause: Duration::ZERO,
            asleep_until: clock.get(),
            form,
            sent: 0,
            received: Vec::new(),
        };
        host.reload();
        host
    }

    /// Makes the connections those of the configuration.
    pub(in crate::data::in_memory) fn reload(&mut self) {
        let facts = LinkFacts { mtu: 1500, carrier: true, resolved: true };
        let wanted = |config: &config::Connection| Wanted {
            config: config.clone(),
            links: vec![facts.clone(); config.paths.len()],
            client: None,
        };
        let wanted: Vec<Wanted> = self.config.connections.iter().map(wanted).collect();
        self.data.set_connections(&wanted).unwrap_or_else(|error| panic!("{error}"));
        self.data.settle();
    }

    /// Returns the time at which its thread goes on.
    fn next_round(&mut self) -> Instant {
        let is_idle = self.system.ready().is_empty();
        let due = if is_idle { self.data.next_round() } else { self.asleep_until };
        due.max(self.asleep_until)
    }

    /// True if it sends on all paths.
    pub(in crate::data::in_memory) fn is_up(&self) -> bool {
        self.data.node.tunnels().paths().all(|(_, path)| path.is_up())
    }

    /// The socket from which a path sends.
    pub(in crate::data::in_memory) fn socket(&self, line: usize, side: Side) -> Rc<RefCell<Queue>> {
        let of = |socket: &Rc<RefCell<Queue>>| socket.borrow().local.ip() == address(line, side);
        self.system.sockets().into_iter().find(of).expect("it is open")
    }

    fn give(&mut self, port: u16, count: u64) {
        let numbers = self.sent..self.sent + count;
        let packet = packets::numbered(&Form { port, ..self.form }, numbers);
        self.sent += count;
        self.device.borrow_mut().from_host.push_back(packet);
    }

    fn collect(&mut self) {
        let packets = std::mem::take(&mut self.device.borrow_mut().to_host);
        self.received.extend(packets.iter().filter_map(|packet| packets::parse(packet)));
    }

    /// Numbers of the packets that came out, in this order.
    pub(in crate::data::in_memory) fn numbers(&self) -> Vec<u64> {
        self.received.iter().map(|it| it.number).collect()
    }

    /// Returns how many packets it has sent.
    pub(in crate::data::in_memory) fn sent(&self) -> u64 {
        self.sent
    }
}

/// Outer address of a side on a line.
pub(in crate::data::in_memory) fn address(line: usize, side: Side) -> IpAddr {
    Ipv4Addr::new(10, 71, line as u8 + 1, side as u8 + 1).into()
}

fn is_of(address: IpAddr, side: Side) -> bool {
    matches!(address, IpAddr::V4(ip) if usize::from(ip.octets()[3]) == side + 1)
}

fn inner(side: Side) -> Ipv4Addr {
    Ipv4Addr::new(10, 72, 0, side as u8 + 1)
}

fn key(side: Side) -> PrivateKey {
    PrivateKey::from_seed([40 + side as u8; 32])
}

/// A configuration with a session; `more` is added to the connection's table.
pub(in crate::data::in_memory) fn text(side: Side, lines: usize, more: &str) -> String {
    let (peer, initiate) = (key(1 - side).public(), side == 0);
    let more =
        format!("{more}\n[connection.peer]\npublic_key = \"{peer}\"\ninitiate = {initiate}\n");
    format!("[daemon]\nprivate_key_file = \"/key\"\n{}", plain(side, lines, &more))
}

/// A configuration without a session, and without a table of the daemon.
pub(in crate::data::in_memory) fn plain(side: Side, lines: usize, more: &str) -> String {
    let mut text = format!(
        "[[device]]\nname = \"mpt0\"\naddresses = [\"{}/24\"]\n\
         [[connection]]\nname = \"tunnel\"\ndevice = \"mpt0\"\nnetworks = [\"{}/32\"]\n{more}\n",
        inner(side),
        inner(1 - side),
    );
    for line in 0..lines {
        let (local, remote) = (address(line, side), address(line, 1 - side));
        text += &format!(
            "[[connection.path]]\nname = \"line{}\"\nlocal = \"{local}\"\nremote = \"{remote}\"\n",
            line + 1,
        );
    }
    text
}

/// A line of this delay, in milliseconds.
pub(in crate::data::in_memory) fn line(delay: u64) -> Params {
    Params { delay: Duration::from_millis(delay), ..Params::default() }
}

/// A line of this rate in Mbit/s and this delay in milliseconds, which loses nothing.
pub(in crate::data::in_memory) fn slow_line(rate: u64, delay: u64) -> Params {
    Params { rate: Bitrate::from_megabits(rate), ..line(delay) }
}
