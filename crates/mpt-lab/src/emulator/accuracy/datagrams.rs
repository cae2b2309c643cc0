//! A stream of numbered datagrams at a given rate, sent and received in super-packets where the kernel can.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns, UdpGroSegment, UdpGsoSegment};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;

use super::Laboratory;
use super::rig::{Rig, address};
use crate::topology::End;

/// Time between two batches.
const PERIOD: Duration = Duration::from_millis(1);
/// Bytes that a socket may give to the kernel at once, below the longest UDP datagram.
const LONGEST: usize = 64_000;
/// Most datagrams the kernel sends as one batch (`UDP_MAX_SEGMENTS`, 64 before Linux 6.9).
const MOST: usize = 64;
/// Room for what arrives while the receiver has to wait, in bytes.
const BUFFER: usize = 32 * 1024 * 1024;
/// After the last batch, how long there may be silence before the end.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// Payload of each datagram, in bytes, at least 8.
    pub(super) size: usize,
    /// Datagrams per second.
    pub(super) rate: f64,
    /// Number of datagrams.
    pub(super) count: usize,
}

/// Datagrams that arrived together.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// Since 1970.
    pub(super) at: Duration,
    /// Their numbers.
    pub(super) numbers: Vec<u32>,
}

/// Sends a stream over a cable from host a to host b; gives what arrived.
pub(super) fn transfer(
    lab: &Laboratory<'_>,
    rig: &Rig,
    cable: usize,
    stream: Stream,
) -> Result<Vec<Arrival>> {
    let bind = |end| -> Result<UdpSocket> {
        let address = SocketAddr::new(address(cable, end), 0);
        Ok(rig.host(end).run(|| UdpSocket::bind(address))??)
    };
    let (sending, receiving) = (bind(End::A)?, bind(End::B)?);
    sending.connect(receiving.local_addr()?)?;
    setsockopt(&sending, UdpGsoSegment, &i32::try_from(stream.size)?)?;
    setsockopt(&receiving, UdpGroSegment, &true)?;
    setsockopt(&receiving, RcvBufForce, &BUFFER)?;
    setsockopt(&receiving, ReceiveTimestampns, &true)?;
    receiving.set_read_timeout(Some(PATIENCE))?;
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let receiver = thread::Builder::new()
        .name("datagrams".into())
        .spawn(move || receive(&receiving, stream.size, &seen))?;
    let sent = send(lab, &sending, stream);
    done.store(true, Ordering::Relaxed);
    let arrivals = receiver.join().ok().context("the receiver of datagrams failed")??;
    sent?;
    Ok(arrivals)
}

fn send(lab: &Laboratory<'_>, socket: &UdpSocket, stream: Stream) -> Result<()> {
    let start = Instant::now();
    let mut number = 0;
    let mut payload = vec![0; LONGEST];
    while number < stream.count {
        lab.interrupt.check()?;
        let due = (start.elapsed().as_secs_f64() * stream.rate) as usize + 1;
        while number < due.min(stream.count) {
            let most = (LONGEST / stream.size).min(MOST);
            let batch = most.min(due.min(stream.count) - number);
            for (index, datagram) in payload.chunks_exact_mut(stream.size).take(batch).enumerate() {
                datagram[..4].copy_from_slice(&((number + index) as u32).to_be_bytes());
            }
            let sent = socket.send(&payload[..batch * stream.size])?;
            ensure!(sent == batch * stream.size, "a batch of datagrams was not sent whole");
            number += batch;
        }
        thread::sleep(PERIOD);
    }
    Ok(())
}

fn receive(socket: &UdpSocket, size: usize, done: &AtomicBool) -> Result<Vec<Arrival>> {
    let mut arrivals = Vec::new();
    let mut payload = vec![0; 1 << 16];
    // The length of each datagram of a super-packet, and the time.
    let mut control = cmsg_space!(i32, TimeSpec);
    loop {
        let mut pieces = [IoSliceMut::new(&mut payload)];
        let (descriptor, flags) = (socket.as_raw_fd(), MsgFlags::empty());
        let message =
            match recvmsg::<SockaddrStorage>(descriptor, &mut pieces, Some(&mut control), flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN) if done.load(Ordering::Relaxed) => return Ok(arrivals),
                Err(Errno::EAGAIN | Errno::EINTR) => continue,
                Err(error) => return Err(error).context("receive a datagram"),
            };
        let stamp = message.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
            _ => None,
        });
        let (at, length) = (stamp.context("the kernel did not stamp a datagram")?, message.bytes);
        let number = |datagram: &[u8]| datagram.first_chunk().map(|n| u32::from_be_bytes(*n));
        let numbers = payload[..length].chunks(size).filter_map(number).collect();
        arrivals.push(Arrival { at, numbers });
    }
}
