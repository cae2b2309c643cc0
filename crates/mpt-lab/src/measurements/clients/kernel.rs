//! The kernel's own cost of the measurement's datagrams: the least that any daemon can cost.

use std::io::IoSlice;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket as Receiver};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mpt_linux::udp::{Batch, MAX_BATCHES, SocketConfig, UdpSocket};
use procfs::FromRead;
use procfs::process::Schedstat;
use socket2::SockAddr;

use super::packet::INNER;
use super::site::{self, PATHS, Site};
use crate::console::interrupt::Interrupt;

/// Port of the receiver: RFC 863.
const PORT: u16 = 9;
/// Length of a datagram in bytes, with a GRE header with key and sequence number.
const DATAGRAM: usize = INNER + 12;
/// Interval of the bursts in which datagrams leave, as the packets of the measurement do.
const BURST: Duration = Duration::from_millis(1);

/// CPU seconds of the sending thread for each datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    /// CPU seconds for each packet, all to one client, as batches (`UDP_SEGMENT`).
    pub(super) batched: f64,
    /// CPU seconds for each packet, to all clients in turn, many with one call (`sendmmsg`).
    pub(super) apart: f64,
}

/// Sends them over the same cables; the daemon has nothing to do meanwhile.
pub(super) fn measure(
    site: &Site,
    count: u16,
    rate: u32,
    each: Duration,
    interrupt: &Interrupt,
) -> Result<Kernel> {
    let receiver = site.clients().run(|| Receiver::bind(("0.0.0.0", PORT)))?.context("no sink")?;
    receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; DATAGRAM];
            while !done.load(Ordering::Relaxed) {
                let _ = receiver.recv(&mut buffer);
            }
        });
        let measured = site.server().run(|| -> Result<_> {
            let local = SocketAddr::from(SocketAddrV4::new(*site::server_address(0).ip(), 0));
            let socket = UdpSocket::bind(&SocketConfig {
                local,
                interface: None,
                mark: None,
                checksum: true,
                receive_buffer: 1 << 20,
                send_buffer: 1 << 20,
            })?;
            let batched = cost(rate, each, interrupt, |due| batched(&socket, due))?;
            let mut next = 0;
            let apart = cost(rate, each, interrupt, |due| apart(&socket, count, &mut next, due))?;
            Ok(Kernel { batched, apart })
        });
        done.store(true, Ordering::Relaxed);
        measured?
    })
}

/// Returns the CPU time of this thread for each datagram; `send` is called with the number of
/// datagrams that are due.
fn cost(
    rate: u32,
    each: Duration,
    interrupt: &Interrupt,
    mut send: impl FnMut(usize),
) -> Result<f64> {
    let (begun, before, mut sent) = (Instant::now(), on_processor()?, 0);
    while begun.elapsed() < each {
        interrupt.check()?;
        let due = (begun.elapsed().as_secs_f64() * f64::from(rate)) as usize;
        send(due - sent);
        sent = due;
        thread::sleep(BURST);
    }
    Ok((on_processor()? - before).as_secs_f64() / sent.max(1) as f64)
}

/// Sends `due` datagrams in as many batches as a client has paths.
fn batched(socket: &UdpSocket, due: usize) {
    let (bytes, remote) = ([0; DATAGRAM * MAX_BATCHES], address(0));
    for path in 0..PATHS {
        let share = (due / PATHS + usize::from(path < due % PATHS)).min(MAX_BATCHES);
        if share > 0 {
            let pieces = [IoSlice::new(&bytes[..share * DATAGRAM])];
            let _ = socket.send_batch(&remote, 0, DATAGRAM, &pieces);
        }
    }
}

fn apart(socket: &UdpSocket, count: u16, next: &mut usize, due: usize) {
    let bytes = [0; DATAGRAM];
    let pieces = [IoSlice::new(&bytes)];
    let turns: Vec<SockAddr> =
        (*next..*next + due).map(|turn| address((turn % usize::from(count)) as u16)).collect();
    *next += due;
    for turns in turns.chunks(MAX_BATCHES) {
        let batch = |remote| Batch { remote, tos: 0, datagram_len: DATAGRAM, pieces: &pieces };
        let _ = socket.send_batches(turns.iter().map(batch));
    }
}

fn address(client: u16) -> SockAddr {
    SocketAddr::from(SocketAddrV4::new(site::client_address(client, 0), PORT)).into()
}

/// Returns the CPU time of this thread, in which the kernel counts nanoseconds.
fn on_processor() -> Result<Duration> {
    let path = "/proc/thread-self/schedstat";
    let used = Schedstat::from_file(path).with_context(|| format!("cannot read {path}"))?;
    Ok(Duration::from_nanos(used.sum_exec_runtime))
}
