//! A system of queues: hands out devices and sockets, and says which of them are ready.

mod devices;
pub(super) mod network;
pub(super) mod packets;
pub(super) mod sockets;

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant, SystemTime};

use mpt_linux::poller::Event;
use mpt_linux::udp::SocketConfig;

use crate::data::system::System;
use crate::data::system::token::Token;
use devices::{MemoryDevice, Queues};
use sockets::{Datagram, MemorySocket, Queue};

/// A device, and the token under which it is watched.
type WatchedDevice = (Token, Rc<RefCell<Queues>>);

/// The system of one host. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    clock: Rc<Cell<Instant>>,
    /// The beginning, at which the system's clock showed what it was set to.
    origin: Instant,
    set_to: Rc<Cell<SystemTime>>,
    sockets: Rc<RefCell<Vec<Weak<RefCell<Queue>>>>>,
    devices: Rc<RefCell<Vec<WatchedDevice>>>,
}

impl Memory {
    /// Returns a system without devices and sockets, with this clock.
    pub(super) fn new(clock: Rc<Cell<Instant>>) -> Self {
        let (origin, set_to) = (clock.get(), Rc::new(Cell::new(SystemTime::UNIX_EPOCH)));
        Self { clock, origin, set_to, sockets: Rc::default(), devices: Rc::default() }
    }

    /// The sockets that are open.
    pub(super) fn sockets(&self) -> Vec<Rc<RefCell<Queue>>> {
        let mut sockets = self.sockets.borrow_mut();
        sockets.retain(|socket| socket.strong_count() > 0);
        sockets.iter().filter_map(Weak::upgrade).collect()
    }

    /// Somebody sets the system's clock, forwards by so much.
    pub(super) fn set_clock(&self, step: Duration) {
        self.set_to.set(self.set_to.get() + step);
    }

    /// A datagram arrives: where nobody listens, it is lost.
    pub(super) fn deliver(&self, datagram: Datagram) {
        let stamp = self.clocks().0;
        let of = |socket: &&Rc<RefCell<Queue>>| socket.borrow().local == datagram.to;
        if let Some(socket) = self.sockets().iter().find(of) {
            socket.borrow_mut().received.push_back((stamp, datagram));
        }
    }

    /// Everything that has something to read, or room that is waited for.
    pub(super) fn ready(&self) -> Vec<Event> {
        let devices = self.devices.borrow();
        let devices = devices.iter().filter(|(_, queues)| !queues.borrow().from_host.is_empty());
        let read = |token: Token| Event { token: token.into(), readable: true, ..Event::default() };
        let mut events: Vec<Event> = devices.map(|(token, _)| read(*token)).collect();
        for socket in self.sockets() {
            let socket = socket.borrow();
            let Some(token) = socket.token else { continue };
            let readable = !socket.received.is_empty();
            let writable = socket.watches_room && socket.room > 0;
            let error = !socket.errors.is_empty();
            if readable || writable || error {
                events.push(Event { readable, writable, error, ..read(token) });
            }
        }
        events
    }

    fn open(&self, local: SocketAddr) -> MemorySocket {
        let queue = Queue {
            local,
            token: None,
            watches_room: false,
            room: usize::MAX,
            receive_buffer: usize::MAX,
            received: Default::default(),
            sent: Vec::new(),
            errors: Default::default(),
        };
        let queue = Rc::new(RefCell::new(queue));
        self.sockets.borrow_mut().push(Rc::downgrade(&queue));
        MemorySocket(queue)
    }
}

impl System for Memory {
    type Device = MemoryDevice;
    type Socket = MemorySocket;

    fn now(&self) -> Instant {
        self.clock.get()
    }

    fn clocks(&self) -> (SystemTime, Instant) {
        let now = self.now();
        (self.set_to.get() + (now - self.origin), now)
    }

    fn release_memory(&self) {}

    fn bind(&self, config: &SocketConfig) -> io::Result<MemorySocket> {
        if self.sockets().iter().any(|socket| socket.borrow().local == config.local) {
            return Err(ErrorKind::AddrInUse.into());
        }
        Ok(self.open(config.local))
    }

    fn bind_beside(&self, config: &SocketConfig, _: &[&MemorySocket]) -> io::Result<MemorySocket> {
        Ok(self.open(config.local))
    }

    fn watch_device(&self, device: &MemoryDevice, token: Token) -> io::Result<()> {
        self.devices.borrow_mut().push((token, Rc::clone(&device.queues)));
        Ok(())
    }

    fn forget_device(&self, device: &MemoryDevice) {
        let is_it = |(_, queues): &WatchedDevice| Rc::ptr_eq(queues, &device.queues);
        self.devices.borrow_mut().retain(|watched| !is_it(watched));
    }

    fn watch_socket(&self, socket: &MemorySocket, token: Token) -> io::Result<()> {
        socket.0.borrow_mut().token = Some(token);
        Ok(())
    }

    fn watch_room(&self, socket: &MemorySocket, _: Token, wanted: bool) -> io::Result<()> {
        socket.0.borrow_mut().watches_room = wanted;
        Ok(())
    }

    fn forget_socket(&self, socket: &MemorySocket) {
        socket.0.borrow_mut().token = None;
    }
}
