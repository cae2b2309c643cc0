//! The needs of the data path in the system: devices, batches of datagrams, readiness and a clock.
//!
//! [`Linux`] has them from the kernel. The tests have them in memory and in virtual time, so that the whole data path runs without privileges.

pub(super) mod device;
pub(super) mod token;

use std::io::{self, IoSlice};
use std::time::{Instant, SystemTime};

use mpt_linux::poller::{Interest, Poller};
use mpt_linux::tun::{Offloads, Tun};
use mpt_linux::udp::{ArrivalClock, Batch, PathError, Received, SocketConfig, UdpSocket};
use socket2::SockAddr;

use token::Token;

/// A device that reads and writes super-packets, each behind a virtio-net header.
pub(crate) trait SuperPacketDevice {
    /// Its name in the system.
    fn name(&self) -> &str;

    /// Returns the super-packets that it takes and gives besides single packets.
    fn offloads(&self) -> Offloads;

    /// Reads one packet or super-packet; gives its length with the header.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes one packet or super-packet, given as the pieces of header and packet.
    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize>;
}

/// A socket that sends and receives batches of datagrams. None of its calls waits.
pub(crate) trait BatchSocket {
    /// Sends one batch to one address; gives how many of its datagrams were taken.
    fn send_batch(
        &self,
        remote: &SockAddr,
        tos: u8,
        datagram_len: usize,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize>;

    /// Sends batches, at most [`MAX_BATCHES`](mpt_linux::udp::MAX_BATCHES); gives how many were taken whole.
    fn send_batches<'a>(&self, batches: impl Iterator<Item = Batch<'a>>) -> usize;

    /// Reads what has come from one address as one batch.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received>;

    /// Returns the share of the receive buffer that is taken.
    fn receive_fill(&self) -> io::Result<f64>;

    /// Takes one message about what was sent, the quoted payload into `buffer`; `None` when there is none.
    fn take_error(&self, buffer: &mut [u8]) -> io::Result<Option<PathError>>;

    /// Gives everything it sends from now on this mark.
    fn set_mark(&self, mark: Option<u32>) -> io::Result<()>;

    /// Its own address.
    fn local(&self) -> std::net::SocketAddr;
}

/// The system beneath a data path.
pub(crate) trait System {
    /// Its devices.
    type Device: SuperPacketDevice;
    /// Its sockets.
    type Socket: BatchSocket;

    /// The time.
    fn now(&self) -> Instant;

    /// The time by the system's clock, which stamps what the sockets receive, and by [`Self::now`].
    fn clocks(&self) -> (SystemTime, Instant);

    /// Gives freed memory back, of which others can make use then. It takes milliseconds where there is much.
    fn release_memory(&self);

    /// Opens a socket.
    fn bind(&self, config: &SocketConfig) -> io::Result<Self::Socket>;

    /// Opens a socket on the port of `others`, which are ours.
    fn bind_beside(
        &self,
        config: &SocketConfig,
        others: &[&Self::Socket],
    ) -> io::Result<Self::Socket>;

    /// Reports, under this token, when a device has something to read.
    fn watch_device(&self, device: &Self::Device, token: Token) -> io::Result<()>;

    /// No longer.
    fn forget_device(&self, device: &Self::Device);

    /// Reports, under this token, when a socket has something to read.
    fn watch_socket(&self, socket: &Self::Socket, token: Token) -> io::Result<()>;

    /// Reports as well, or no longer, when the socket has room to write.
    fn watch_room(&self, socket: &Self::Socket, token: Token, wanted: bool) -> io::Result<()>;

    /// Nothing is told of it any more.
    fn forget_socket(&self, socket: &Self::Socket);
}

/// The kernel's TUN devices, UDP sockets and epoll.
#[derive(Debug)]
pub(crate) struct Linux {
    pub(super) poller: Poller,
}

impl System for Linux {
    type Device = Tun;
    type Socket = UdpSocket;

    #[inline]
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn clocks(&self) -> (SystemTime, Instant) {
        ArrivalClock::read()
    }

    fn release_memory(&self) {
        mpt_linux::memory::release_free();
    }

    fn bind(&self, config: &SocketConfig) -> io::Result<UdpSocket> {
        UdpSocket::bind(config)
    }

    fn bind_beside(&self, config: &SocketConfig, others: &[&UdpSocket]) -> io::Result<UdpSocket> {
        UdpSocket::bind_beside(config, others)
    }

    fn watch_device(&self, device: &Tun, token: Token) -> io::Result<()> {
        self.poller.add(device, token.into(), Interest::Read)
    }

    fn forget_device(&self, device: &Tun) {
        // Closing it does the same; being explicit costs nothing.
        let _ = self.poller.remove(device);
    }

    fn watch_socket(&self, socket: &UdpSocket, token: Token) -> io::Result<()> {
        self.poller.add(socket, token.into(), Interest::Read)
    }

    fn watch_room(&self, socket: &UdpSocket, token: Token, wanted: bool) -> io::Result<()> {
        let interest = if wanted { Interest::ReadWrite } else { Interest::Read };
        self.poller.modify(socket, token.into(), interest)
    }

    fn forget_socket(&self, socket: &UdpSocket) {
        let _ = self.poller.remove(socket);
    }
}

impl SuperPacketDevice for Tun {
    fn name(&self) -> &str {
        self.name()
    }

    fn offloads(&self) -> Offloads {
        self.offloads()
    }

    #[inline]
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(buffer)
    }

    #[inline]
    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write(pieces)
    }
}

impl BatchSocket for UdpSocket {
    #[inline]
    fn send_batch(
        &self,
        remote: &SockAddr,
        tos: u8,
        datagram_len: usize,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        self.send_batch(remote, tos, datagram_len, pieces)
    }

    #[inline]
    fn send_batches<'a>(&self, batches: impl Iterator<Item = Batch<'a>>) -> usize {
        self.send_batches(batches)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.receive(buffer)
    }

    fn receive_fill(&self) -> io::Result<f64> {
        self.receive_fill()
    }

    fn take_error(&self, buffer: &mut [u8]) -> io::Result<Option<PathError>> {
        self.take_error(buffer)
    }

    fn set_mark(&self, mark: Option<u32>) -> io::Result<()> {
        self.set_mark(mark)
    }

    fn local(&self) -> std::net::SocketAddr {
        self.local()
    }
}
