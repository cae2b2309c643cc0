//! A web page that host b loads from host a, again and again: 30 objects over 6 connections, as a browser does with HTTP/1.1.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use mpt_linux::netns::{self, Namespace};
use socket2::Socket;

use super::{Companion, Window};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::traffic::{Ends, Outcome};
use crate::traffic::{Flag, Moment, Options, Stop, Transport, Unconnected};
use mpt_report::statistics::median;

/// TCP port of the server at host a.
const PORT: u16 = 5330;
/// Connections at one time.
const CONNECTIONS: usize = 6;
/// Objects of a page.
const OBJECTS: usize = 30;
/// Bytes of the smallest and of the largest object.
const LEAST: f64 = 10e3;
const MOST: f64 = 300e3;
/// Bytes of a request; its first eight are the size of the object in bytes.
const REQUEST: usize = 400;
/// Interval at which threads check whether they have to end.
const LOOK: Duration = Duration::from_millis(50);

/// A client and its server.
#[derive(Debug)]
pub(super) struct Loading {
    stop: Stop,
    client: JoinHandle<Result<Vec<Load>>>,
    /// The server, which serves until this is dropped, so it is dropped last.
    _server: Server,
}

#[derive(Debug)]
struct Server {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// A page that was loaded, completely or in part.
#[derive(Debug, Clone, Copy)]
struct Load {
    began: Moment,
    seconds: f64,
}

impl Loading {
    pub(super) fn start(pause: Duration, transport: Transport, ends: Ends<'_>) -> Result<Self> {
        let server = SocketAddr::new(ends.from, PORT);
        let listener = transport.listen(ends.a, server, None)?;
        let browser = Browser { transport, server, from: ends.to };
        let server = Server::start(listener)?;
        let stop = Stop::default();
        let (flag, host) = (stop.flag(), Namespace::open(&ends.b.namespace().path())?);
        let work = move || netns::run_in(&host, || browser.load_again_and_again(pause, &flag))?;
        let client = thread::Builder::new().name("page b".into()).spawn(work)?;
        Ok(Self { stop, client, _server: server })
    }
}

impl Companion for Loading {
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        _: &Interrupt,
    ) -> Result<()> {
        let Self { stop, client, .. } = *self;
        stop.now();
        let loads = client.join().map_err(|_| anyhow!("loading pages failed"))??;
        let times = |wanted: &dyn Fn(f64, f64) -> bool| {
            let wanted = loads.iter().filter(|load| {
                let began = window.seconds(load.began);
                wanted(began, began + load.seconds)
            });
            median(&wanted.map(|load| load.seconds).collect::<Vec<_>>())
        };
        let idle = times(&|_, end| window.is_before(end));
        let beside = times(&|began, _| window.counts(began));
        outcome.metric(metric::PAGE_IDLE, idle);
        outcome.metric(metric::PAGE, beside);
        outcome.metric(metric::PAGE_RATIO, beside.zip(idle).map(|(beside, idle)| beside / idle));
        Ok(())
    }
}

/// Returns the bytes of the objects: evenly spread on a logarithmic scale, large and small ones mixed.
fn objects() -> Vec<u64> {
    let size = |number: usize| {
        let share = number as f64 / (OBJECTS - 1) as f64;
        (LEAST * (MOST / LEAST).powf(share)).round() as u64
    };
    // Seven and thirty have no common factor, so each size comes once.
    (0..OBJECTS).map(|number| size(number * 7 % OBJECTS)).collect()
}

/// The client that loads pages; it works at its host.
#[derive(Debug, Clone, Copy)]
struct Browser {
    transport: Transport,
    server: SocketAddr,
    from: IpAddr,
}

impl Browser {
    fn load_again_and_again(self, pause: Duration, stop: &Flag) -> Result<Vec<Load>> {
        let mut loads = Vec::new();
        while !stop.is_set() {
            let (began, start) = (Moment::now(), Instant::now());
            self.load(stop)?;
            // A load that is cut short has taken at least as long.
            loads.push(Load { began, seconds: start.elapsed().as_secs_f64() });
            let end = Instant::now() + pause;
            while !stop.is_set() && Instant::now() < end {
                thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
            }
        }
        Ok(loads)
    }

    /// Loads a page: each connection asks for the next object as soon as it has one.
    fn load(self, stop: &Flag) -> Result<()> {
        let (objects, next) = (objects(), AtomicUsize::new(0));
        let options = Options { from: Some(self.from), ..Options::default() };
        let fetch = |socket: Unconnected| -> Result<()> {
            let mut stream = socket.connect()?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LOOK))?;
            while let Some(&size) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut request = [0; REQUEST];
                request[..8].copy_from_slice(&size.to_be_bytes());
                stream.write_all(&request).context("cannot ask for an object")?;
                if take(&mut stream, size, stop)? < size {
                    break;
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let socket = |_| self.transport.prepare_here(self.server, options);
            let sockets = (0..CONNECTIONS).map(socket).collect::<Result<Vec<_>>>()?;
            let fetching = sockets.into_iter().map(|it| scope.spawn(|| fetch(it)));
            let fetching: Vec<_> = fetching.collect();
            for thread in fetching {
                thread.join().map_err(|_| anyhow!("loading a page failed"))??;
            }
            Ok(())
        })
    }
}

/// Reads `size` bytes, or fewer if it has to end. Returns their number.
fn take(stream: &mut TcpStream, size: u64, stop: &Flag) -> Result<u64> {
    let mut buffer = vec![0; 64 * 1024];
    let mut arrived = 0;
    while arrived < size && !stop.is_set() {
        match stream.read(&mut buffer) {
            Ok(0) => bail!("the server ended a connection"),
            Ok(length) => arrived += length as u64,
            Err(error) if is_late(error.kind()) => {}
            Err(error) => return Err(error).context("a page broke off"),
        }
    }
    Ok(arrived)
}

impl Server {
    fn start(listener: Socket) -> Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = Stop::default();
        let flag = stop.flag();
        let work = move || {
            let mut serving = Vec::new();
            while !flag.is_set() {
                let Ok((stream, _)) = listener.accept() else {
                    // Often, because it is part of what a page takes.
                    thread::sleep(Duration::from_micros(500));
                    continue;
                };
                let flag = flag.clone();
                let serve = move || serve(&stream.into(), &flag);
                serving.extend(thread::Builder::new().name("page a".into()).spawn(serve));
            }
            for thread in serving {
                let _ = thread.join();
            }
        };
        let thread = thread::Builder::new().name("page a".into()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers the requests of a connection. Whatever goes wrong is seen by the client.
fn serve(mut stream: &TcpStream, stop: &Flag) {
    let settings = [
        stream.set_nonblocking(false),
        stream.set_nodelay(true),
        stream.set_read_timeout(Some(LOOK)),
        stream.set_write_timeout(Some(LOOK)),
    ];
    if settings.iter().any(Result::is_err) {
        return;
    }
    let object = vec![0x5a; MOST as usize + 1];
    let (mut request, mut filled) = ([0; REQUEST], 0);
    while !stop.is_set() {
        match stream.read(&mut request[filled..]) {
            Ok(0) => return,
            Ok(length) => filled += length,
            Err(error) if is_late(error.kind()) => continue,
            Err(_) => return,
        }
        if filled < REQUEST {
            continue;
        }
        filled = 0;
        let size = request.first_chunk().map_or(0, |size| u64::from_be_bytes(*size));
        let mut rest = object.get(..size as usize).unwrap_or_default();
        while !rest.is_empty() && !stop.is_set() {
            match stream.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if is_late(error.kind()) => {}
                Err(_) => return,
            }
        }
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_thirty_objects_of_ten_to_three_hundred_kilobytes() {
        let mut objects = objects();
        assert_eq!(objects.len(), OBJECTS);
        assert!(!objects.is_sorted(), "large and small ones are mixed");
        objects.sort_unstable();
        objects.dedup();
        assert_eq!((objects.len(), objects[0], objects[29]), (OBJECTS, 10_000, 300_000));
    }
}
