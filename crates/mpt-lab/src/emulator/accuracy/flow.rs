//! Bulk transfers by TCP.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce, TcpCongestion};

use super::rig::{Rig, address};
use crate::topology::End;

const PORT: u16 = 4720;
/// How long the connection may take to be set up.
const CONNECT: Duration = Duration::from_secs(10);
/// How often the threads look whether they have to end.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a write, as of iperf3.
const WRITE: usize = 128 * 1024;
/// Buffers of a flow that nothing else holds back, in bytes: 10 Gbit/s for 50 ms.
const BUFFER: usize = 64 * 1024 * 1024;

/// A running flow from host a to host b, as fast as cubic goes; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Flow {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
}

impl Flow {
    /// Connects over a cable and starts to send; with buffers of the system's usual size unless they are to be `large`.
    pub(super) fn start(rig: &Rig, cable: usize, large: bool) -> Result<Self> {
        let address = SocketAddr::new(address(cable, End::B), PORT);
        let listener = rig.host(End::B).run(|| TcpListener::bind(address))??;
        if large {
            // Accepted connections inherit it, and offer a window that fits.
            setsockopt(&listener, RcvBufForce, &BUFFER)?;
        }
        let sending = rig.host(End::A).run(|| TcpStream::connect_timeout(&address, CONNECT))?;
        let sending = sending.with_context(|| format!("cannot connect to {address}"))?;
        setsockopt(&sending, TcpCongestion, &"cubic".into())?;
        if large {
            setsockopt(&sending, SndBufForce, &BUFFER)?;
        }
        sending.set_write_timeout(Some(LOOK))?;
        let (receiving, _) = listener.accept()?;
        receiving.set_read_timeout(Some(LOOK))?;
        let flow = Self { stop: Arc::default(), received: Arc::default() };
        let stop = Arc::clone(&flow.stop);
        thread::Builder::new().name("send".into()).spawn(move || send(&sending, &stop))?;
        let (stop, received) = (Arc::clone(&flow.stop), Arc::clone(&flow.received));
        thread::Builder::new()
            .name("receive".into())
            .spawn(move || receive(&receiving, &stop, &received))?;
        Ok(flow)
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A flow that breaks is one that receives no more, which is seen.
fn send(mut stream: &TcpStream, stop: &AtomicBool) {
    let data = vec![0x5a; WRITE];
    while !stop.load(Ordering::Relaxed) {
        if let Err(error) = stream.write(&data)
            && !is_timeout(error.kind())
        {
            return;
        }
    }
}

fn receive(mut stream: &TcpStream, stop: &AtomicBool, received: &AtomicU64) {
    let mut buffer = vec![0; WRITE];
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => drop(received.fetch_add(length as u64, Ordering::Relaxed)),
            Err(error) if is_timeout(error.kind()) => {}
            Err(_) => return,
        }
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
