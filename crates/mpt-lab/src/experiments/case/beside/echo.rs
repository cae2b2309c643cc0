//! Short messages that come back, over one TCP connection, as the keys of a remote shell do.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::latency::{self, Names, Sample};
use super::{Companion, Window};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::traffic::{Ends, Outcome};
use crate::traffic::{Flag, Moment, Options, Stop, Transport};

/// TCP port at host b.
const PORT: u16 = 5310;
/// Bytes of a message: a key and its line in a shell's own encryption.
const SIZE: usize = 64;
/// Interval at which threads check whether they have to end.
const LOOK: Duration = Duration::from_millis(50);
/// The longest time that the last answers may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A connection with messages on it.
#[derive(Debug)]
pub(super) struct Echoes {
    stop_sending: Stop,
    stop_receiving: Stop,
    stream: TcpStream,
    writer: JoinHandle<Vec<Moment>>,
    /// The times at which messages came back.
    reader: JoinHandle<Vec<Moment>>,
    answering: JoinHandle<()>,
}

impl Echoes {
    pub(super) fn start(interval: Duration, transport: Transport, ends: Ends<'_>) -> Result<Self> {
        let address = SocketAddr::new(ends.to, PORT);
        let listener = transport.listen(ends.b, address, None)?;
        let options = Options { from: Some(ends.from), ..Options::default() };
        let stream = transport.prepare(ends.a, address, options)?.connect()?;
        let peer = TcpStream::from(listener.accept().context("cannot accept")?.0);
        for socket in [&stream, &peer] {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(LOOK))?;
        }
        let (stop_sending, stop_receiving) = (Stop::default(), Stop::default());
        let sent = Arc::<AtomicUsize>::default();
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let answering = { thread("echo b").spawn(move || answer(&peer, listener))? };
        let writer = {
            let (stream, sent) = (stream.try_clone()?, Arc::clone(&sent));
            let stop = stop_sending.flag();
            thread("echo a").spawn(move || write(&stream, interval, &stop, &sent))?
        };
        let reader = {
            let (stream, stop) = (stream.try_clone()?, stop_receiving.flag());
            thread("echo a").spawn(move || read(&stream, &stop, &sent))?
        };
        Ok(Self { stop_sending, stop_receiving, stream, writer, reader, answering })
    }
}

impl Companion for Echoes {
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        _: &Interrupt,
    ) -> Result<()> {
        let Self { stop_sending, stop_receiving, stream, writer, reader, answering } = *self;
        stop_sending.now();
        let sent = writer.join().map_err(|_| anyhow!("the sender of echoes failed"))?;
        stop_receiving.now();
        let back = reader.join().map_err(|_| anyhow!("the receiver of echoes failed"))?;
        let _ = stream.shutdown(Shutdown::Both);
        answering.join().map_err(|_| anyhow!("what answers echoes failed"))?;
        // TCP answers in order.
        let samples: Vec<Sample> = (sent.iter().enumerate())
            .map(|(number, &sent)| Sample {
                at: window.seconds(sent),
                time: back.get(number).map(|back| back.millis_since(sent)),
            })
            .collect();
        let names = Names {
            series: "echo",
            idle: metric::ECHO_IDLE,
            p50: metric::ECHO_P50,
            p95: metric::ECHO_P95,
            p50_added: metric::ECHO_P50_ADDED,
            p95_added: metric::ECHO_P95_ADDED,
            lost: metric::ECHO_LOST,
        };
        latency::add(&samples, names, window, outcome);
        Ok(())
    }
}

/// Sends messages until it is to end. Returns the time at which each was sent.
fn write(
    mut stream: &TcpStream,
    interval: Duration,
    stop: &Flag,
    count: &AtomicUsize,
) -> Vec<Moment> {
    let start = Instant::now();
    let mut sent = Vec::new();
    while !stop.is_set() {
        // Due times count from the start and not from the last message, so that lateness does not add up.
        let due = interval.mul_f64(sent.len() as f64);
        thread::sleep(due.saturating_sub(start.elapsed()));
        let now = Moment::now();
        if stream.write_all(&[0; SIZE]).is_err() {
            break;
        }
        sent.push(now);
        count.store(sent.len(), Ordering::Relaxed);
    }
    sent
}

/// Receives messages until it is to end and all are back. Returns the time at which each was.
fn read(mut stream: &TcpStream, stop: &Flag, sent: &AtomicUsize) -> Vec<Moment> {
    let (mut back, mut bytes) = (Vec::new(), 0);
    let mut buffer = [0; 64 * SIZE];
    let mut ends: Option<Instant> = None;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return back,
            Ok(length) => {
                bytes += length;
                back.resize(bytes / SIZE, Moment::now());
            }
            Err(error) if is_late(error.kind()) => {}
            Err(_) => return back,
        }
        if stop.is_set() {
            let end = *ends.get_or_insert_with(|| Instant::now() + PATIENCE);
            if back.len() >= sent.load(Ordering::Relaxed) || Instant::now() > end {
                return back;
            }
        }
    }
}

/// Sends everything back. The listener stays for as long: further subflows of Multipath TCP are connections to it.
fn answer(mut stream: &TcpStream, _listener: socket2::Socket) {
    let mut buffer = [0; 64 * SIZE];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                if stream.write_all(&buffer[..length]).is_err() {
                    return;
                }
            }
            Err(error) if is_late(error.kind()) => {}
            Err(_) => return,
        }
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
