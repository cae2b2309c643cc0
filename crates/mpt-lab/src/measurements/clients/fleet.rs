//! The clients in one thread: their sockets, their timers, and the packets they send.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mpt_core::Seal;
use mpt_linux::poller::{Event, Interest, MAX_EVENTS, Poller};
use mpt_wire::gre;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::client::Client;
use super::numbers::Numbers;
use super::site::{self, PATHS};
use crate::console::interrupt::Interrupt;
use crate::topology::Host;

/// Most datagrams of one socket in a row, so that timers stay in time.
const BATCH: usize = 16;
/// Most timers in a row, so that what has come is read: on a busy machine, echoes that wait would only lead to more probes.
const TIMERS: usize = 64;
/// The longest wait, so that an interrupt is noticed.
const LOOK: Duration = Duration::from_millis(20);
/// Duration of the little bursts in which packets are sent.
const BURST: Duration = Duration::from_millis(1);
/// Size of the buffer for a datagram of the server, in bytes.
const DATAGRAM: usize = 2048;
/// File descriptors for everything else.
const OTHERS: u64 = 256;
/// Clients that begin to connect in one second: fewer than a busy server can take. Otherwise it would hear only those that it keeps waiting, and that
/// try again.
const STARTS: f64 = 250.0;
/// Source ports of inner packets: this many flows, whichever client sends them.
const FLOWS: u64 = 1000;

/// Clients of one concentrator.
#[derive(Debug)]
pub(super) struct Fleet {
    clients: Vec<Client>,
    /// Number of clients at the end.
    count: u16,
    seal: Seal,
    begun: Instant,
    /// The sockets; those of a client are together, in the order of its paths.
    sockets: Vec<UdpSocket>,
    poller: Poller,
    timers: BTreeSet<(Instant, usize)>,
    /// The entries of `timers`, by client.
    due: Vec<Option<Instant>>,
    /// Number of the next flow, which goes on from one run to the next.
    flow: u64,
}

/// A load of packets to the server's sink, sent by the clients in turns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Packets per second of all clients together.
    pub(super) rate: u32,
    pub(super) numbers: Numbers,
}

impl Fleet {
    /// Returns `count` clients on `host`, which begin to connect, one after the other, when they run. Their data
    /// are sealed or not.
    pub(super) fn new(host: &Host, count: u16, seal: Seal) -> Result<Self> {
        let wanted = u64::from(count) * PATHS as u64 + OTHERS;
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        if soft < wanted {
            setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted))
                .with_context(|| format!("cannot open {wanted} files"))?;
        }
        let poller = Poller::new()?;
        let sockets = host.run(|| sockets(count))??;
        for (token, socket) in (0..).zip(&sockets) {
            poller.add(socket, token, Interest::Read)?;
        }
        Ok(Self {
            clients: Vec::new(),
            count,
            seal,
            begun: Instant::now(),
            sockets,
            poller,
            timers: BTreeSet::new(),
            due: vec![None; usize::from(count)],
            flow: 0,
        })
    }

    /// Returns how many can send data on all their paths.
    pub(super) fn up(&self) -> usize {
        self.clients.iter().filter(|client| client.is_up()).count()
    }

    /// Returns the number of data packets received by all clients.
    pub(super) fn received(&self) -> u64 {
        self.clients.iter().map(|client| client.received()).sum()
    }

    /// Runs all clients for `time`, and stops early once `enough` says so. Returns the number of packets sent.
    pub(super) fn run(
        &mut self,
        time: Duration,
        load: Option<Load>,
        interrupt: &Interrupt,
        enough: impl Fn(&Self) -> bool,
    ) -> Result<u64> {
        let start = Instant::now();
        let (mut sent, mut events) = (0, [Event::default(); MAX_EVENTS]);
        let mut looked = start;
        loop {
            let now = Instant::now();
            let elapsed = now - start;
            if elapsed >= time {
                return Ok(sent);
            }
            // Not each time: it may ask every client.
            if now >= looked + LOOK {
                if enough(self) {
                    return Ok(sent);
                }
                looked = now;
            }
            interrupt.check()?;
            self.start_clients(now)?;
            for _ in 0..TIMERS {
                let Some(&(_, number)) = self.timers.first().filter(|timer| timer.0 <= now) else {
                    break;
                };
                self.clients[number].handle_timeout(now);
                self.settle(now, number)?;
            }
            let mut wait = LOOK.min(time - elapsed);
            if let Some(load) = load {
                let due = (f64::from(load.rate) * elapsed.as_secs_f64()) as u64;
                while sent < due {
                    self.send(now, load.numbers)?;
                    sent += 1;
                }
                wait = wait.min(BURST);
            }
            if let Some(&(due, _)) = self.timers.first() {
                wait = wait.min(due.saturating_duration_since(Instant::now()));
            }
            for event in self.poller.wait(&mut events, Some(wait))? {
                self.receive(event)?;
            }
        }
    }

    /// Starts the clients whose turn has come.
    fn start_clients(&mut self, now: Instant) -> Result<()> {
        let due = STARTS * (now - self.begun).as_secs_f64();
        while self.clients.len() < usize::from(self.count) && self.clients.len() as f64 <= due {
            let number = self.clients.len();
            self.clients.push(Client::new(now, number as u16, self.seal)?);
            self.settle(now, number)?;
        }
        Ok(())
    }

    /// Sends one packet of the next client, over the path that it chooses.
    fn send(&mut self, now: Instant, numbers: Numbers) -> Result<()> {
        let number = (self.flow % self.clients.len() as u64) as usize;
        let source_port = 10_000 + (self.flow % FLOWS) as u16;
        self.flow += 1;
        if let Some((path, datagram)) = self.clients[number].data(now, source_port, numbers) {
            // A packet that the kernel refuses is lost, as on any line.
            let _ = self.sockets[number * PATHS + path].send(datagram);
        }
        // The first packet after a pause wakes the probes.
        self.settle(now, number)
    }

    fn receive(&mut self, event: &Event) -> Result<()> {
        let token = event.token as usize;
        let (number, path) = (token / PATHS, token % PATHS);
        if number >= self.clients.len() {
            return Ok(());
        }
        let mut buffer = [0; DATAGRAM];
        for _ in 0..BATCH {
            match self.sockets[token].recv(&mut buffer) {
                Ok(length) => {
                    self.clients[number].handle_datagram(
                        Instant::now(),
                        path,
                        &mut buffer[..length],
                    );
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An answer of the server's kernel while its daemon does not run.
                Err(_) => continue,
            }
        }
        self.settle(Instant::now(), number)
    }

    /// Sends what a client has to send and sets its timer anew.
    fn settle(&mut self, now: Instant, number: usize) -> Result<()> {
        let client = &mut self.clients[number];
        client.handle_events(now)?;
        while let Some((path, datagram)) = client.poll_transmit() {
            let _ = self.sockets[number * PATHS + path].send(datagram);
        }
        let next = client.next_timeout();
        if self.due[number] != next {
            if let Some(old) = self.due[number] {
                self.timers.remove(&(old, number));
            }
            self.timers.extend(next.map(|at| (at, number)));
            self.due[number] = next;
        }
        Ok(())
    }
}

/// Opens the sockets of all clients. It has to run on their host.
fn sockets(count: u16) -> Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for client in 0..count {
        for path in 0..PATHS {
            let local = SocketAddrV4::new(site::client_address(client, path), gre::PORT);
            let socket = UdpSocket::bind(local).with_context(|| format!("bind {local}"))?;
            socket.connect(site::server_address(path))?;
            socket.set_nonblocking(true)?;
            sockets.push(socket);
        }
    }
    Ok(sockets)
}
