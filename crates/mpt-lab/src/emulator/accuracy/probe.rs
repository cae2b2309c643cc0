//! One-way delays: small datagrams that carry the time they were sent at, and are stamped by the kernel that receives
//! them. Both clocks are the same.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;

use super::Laboratory;
use super::rig::{Rig, address};
use crate::topology::End;

/// Bytes of a datagram's payload.
const SIZE: usize = 64;
/// Mean time between two of them; drawn between half and one and a half of it, so that nothing falls into step.
pub(super) const SPACING: Duration = Duration::from_millis(2);
/// How long there may be silence after the last one was sent.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends that many datagrams over a cable from host a to host b; gives their delays in seconds, in the order of arrival.
/// All of them must arrive.
pub(super) fn delays(
    lab: &Laboratory<'_>,
    rig: &Rig,
    cable: usize,
    count: usize,
) -> Result<Vec<f64>> {
    let bind = |end| -> Result<UdpSocket> {
        let address = SocketAddr::new(address(cable, end), 0);
        Ok(rig.host(end).run(|| UdpSocket::bind(address))??)
    };
    let (sending, receiving) = (bind(End::A)?, bind(End::B)?);
    sending.connect(receiving.local_addr()?)?;
    setsockopt(&receiving, ReceiveTimestampns, &true)?;
    receiving.set_read_timeout(Some(PATIENCE))?;
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let receiver = thread::Builder::new()
        .name("probe".into())
        .spawn(move || receive(&receiving, count, &seen))?;
    let sent = send(lab, &sending, count);
    done.store(true, Ordering::Relaxed);
    let delays = receiver.join().ok().context("the receiver of probes failed")??;
    sent?;
    ensure!(delays.len() == count, "{} of {count} probes arrived", delays.len());
    Ok(delays)
}

fn send(lab: &Laboratory<'_>, socket: &UdpSocket, count: usize) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..count {
        let spacing = SPACING.mul_f64(0.5 + random.f64());
        lab.interrupt.check()?;
        thread::sleep(spacing);
        let mut payload = [0; SIZE];
        payload[..8].copy_from_slice(&now().to_be_bytes());
        socket.send(&payload)?;
    }
    Ok(())
}

fn receive(socket: &UdpSocket, count: usize, done: &AtomicBool) -> Result<Vec<f64>> {
    let mut delays = Vec::with_capacity(count);
    let mut control = cmsg_space!(TimeSpec);
    while delays.len() < count {
        let mut payload = [0; SIZE];
        let mut pieces = [IoSliceMut::new(&mut payload)];
        let (descriptor, flags) = (socket.as_raw_fd(), MsgFlags::empty());
        let message =
            match recvmsg::<SockaddrStorage>(descriptor, &mut pieces, Some(&mut control), flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN) if done.load(Ordering::Relaxed) => break,
                Err(Errno::EAGAIN | Errno::EINTR) => continue,
                Err(error) => return Err(error).context("receive a probe"),
            };
        let stamp = message.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
            _ => None,
        });
        let received = stamp.context("the kernel did not stamp a probe")?.as_nanos();
        let sent = payload.first_chunk().map_or(0, |sent| u64::from_be_bytes(*sent));
        delays.push((received as i128 - i128::from(sent)) as f64 / 1e9);
    }
    Ok(delays)
}

/// Nanoseconds since 1970, by the clock of the kernel's stamps.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
