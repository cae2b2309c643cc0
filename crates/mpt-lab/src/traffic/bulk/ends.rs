//! The two ends of a flow.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::arrived::{Arrived, BIN};
use super::{Moment, Task};
use crate::traffic::Flag;

/// Length of a write, as iperf3's.
const CHUNK: usize = 128 * 1024;

pub(super) fn send(mut stream: &TcpStream, task: Task, began: Instant, stop: &Flag) -> Result<()> {
    let chunk = vec![0x5a; CHUNK];
    let mut left = task.bytes();
    let over = || stop.is_set() || began.elapsed() >= task.limit();
    while left > 0 && !over() {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match stream.write(&chunk[..length]) {
            Ok(written) => left -= written as u64,
            Err(error) if is_late(&error) => {}
            // The receiver has left on time, and unread data have reset the connection.
            Err(_) if over() => break,
            Err(error) => return Err(error).context("TCP broke at the sender"),
        }
    }
    // The receiver does not wait for the rest, and may have closed it already.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(())
}

pub(super) fn receive(
    mut stream: &TcpStream,
    task: Task,
    began: Instant,
    stop: &Flag,
    received: &AtomicU64,
) -> Result<Arrived> {
    let start = Moment::now().before(began.elapsed());
    let mut arrived = Arrived { start, bins: Vec::new(), end: Duration::ZERO };
    let mut buffer = vec![0; 2 * CHUNK];
    let over = || stop.is_set() || began.elapsed() >= task.limit();
    loop {
        let (length, ended) = match stream.read(&mut buffer) {
            Ok(0) if task == Task::Endless && !over() => bail!("TCP ended at the receiver"),
            Ok(length) => (length, length == 0),
            Err(error) if is_late(&error) => (0, false),
            Err(_) if task == Task::Endless && over() => (0, true),
            Err(error) => return Err(error).context("TCP broke at the receiver"),
        };
        let now = began.elapsed();
        // Data that comes after the time was still on its way, and is not counted.
        if ended || over() {
            arrived.end = now.min(task.limit());
            return Ok(arrived);
        }
        received.fetch_add(length as u64, Ordering::Relaxed);
        let bin = (now.as_nanos() / BIN.as_nanos()) as usize;
        if arrived.bins.len() <= bin {
            arrived.bins.resize(bin + 1, 0);
        }
        arrived.bins[bin] += length as u32;
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    #[test]
    fn a_receiver_that_leaves_when_the_time_is_over_breaks_nothing() {
        for (limit, as_it_should_be) in [(50, true), (60_000, false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let sending = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (receiving, _) = listener.accept().unwrap();
            let leave = thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                drop(receiving);
            });
            let task = Task::Time(Duration::from_millis(limit));
            let sent = send(&sending, task, Instant::now(), &Flag::default());
            assert_eq!(sent.is_ok(), as_it_should_be, "{sent:?}");
            leave.join().unwrap();
        }
    }

    #[test]
    fn what_is_sent_arrives_or_the_flow_is_broken() {
        let pair = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let sending = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (sending, listener.accept().unwrap().0)
        };
        let (sending, receiving) = pair();
        let task = Task::Bytes(1_000_000, Duration::from_secs(60));
        let (began, stop, received) = (Instant::now(), Flag::default(), AtomicU64::new(0));
        let arrived = thread::scope(|scope| {
            scope.spawn(|| send(&sending, task, began, &stop).unwrap());
            receive(&receiving, task, began, &stop, &received).unwrap()
        });
        assert_eq!(arrived.bytes(), 1_000_000);
        assert_eq!(received.load(Ordering::Relaxed), 1_000_000);

        let (sending, receiving) = pair();
        drop(sending);
        let broken = receive(&receiving, Task::Endless, began, &stop, &received);
        assert_eq!(broken.unwrap_err().to_string(), "TCP ended at the receiver");
    }
}
