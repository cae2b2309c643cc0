//! Connections of many at one time: there are never more than a bound, and the one that has been quiet for longest makes room.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::serve::Listener;
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The most connections at one time: as many as pages may be open, and room for those that scrape.
const MOST: usize = 256;

/// A listener whose connections are bounded.
#[derive(Debug)]
pub(crate) struct Bounded {
    listener: TcpListener,
    crowd: Arc<Crowd>,
}

/// The connections that are open.
#[derive(Debug)]
struct Crowd {
    start: Instant,
    most: usize,
    members: Mutex<BTreeMap<u64, Arc<Member>>>,
}

/// The state of one connection, as the others see it.
#[derive(Debug, Default)]
struct Member {
    /// Time of the last read or write, in milliseconds since the start.
    busy_ms: AtomicU64,
    /// True once it has made room.
    closed: AtomicBool,
    waker: AtomicWaker,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    number: u64,
    member: Arc<Member>,
    crowd: Arc<Crowd>,
}

impl Bounded {
    /// Bounds the connections of a listener.
    pub(crate) fn new(listener: TcpListener) -> Self {
        let crowd = Crowd { start: Instant::now(), most: MOST, members: Mutex::default() };
        Self { listener, crowd: Arc::new(crowd) }
    }
}

impl Crowd {
    fn members(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes a connection in; when there are too many, the quietest one is closed.
    fn join(&self) -> (u64, Arc<Member>) {
        let mut members = self.members();
        if members.len() >= self.most {
            let quietest = members.iter().min_by_key(|(_, it)| it.busy_ms.load(Ordering::Relaxed));
            if let Some(number) = quietest.map(|(&number, _)| number)
                && let Some(member) = members.remove(&number)
            {
                member.closed.store(true, Ordering::Release);
                member.waker.wake();
            }
        }
        let number = members.last_key_value().map_or(0, |(number, _)| number + 1);
        let member = Arc::new(Member::default());
        member.busy_ms.store(self.now_ms(), Ordering::Relaxed);
        members.insert(number, Arc::clone(&member));
        (number, member)
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let (number, member) = self.crowd.join();
        (Connection { stream, number, member, crowd: Arc::clone(&self.crowd) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connection {
    /// True if it has made room. Otherwise it is woken when it has to.
    fn is_closed(&self, context: &Context<'_>) -> bool {
        self.member.waker.register(context.waker());
        self.member.closed.load(Ordering::Acquire)
    }

    fn note<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.member.busy_ms.store(self.crowd.now_ms(), Ordering::Relaxed);
        }
        outcome
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut members = self.crowd.members();
        if members.get(&self.number).is_some_and(|it| Arc::ptr_eq(it, &self.member)) {
            members.remove(&self.number);
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_closed(context) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.note(outcome)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.member.closed.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.member.closed.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(outcome)
    }

    /// Lets answers be written without a copy of them.
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quietest_makes_room() {
        let crowd = Crowd { start: Instant::now(), most: 3, members: Mutex::default() };
        let members: Vec<_> = (0..3).map(|_| crowd.join()).collect();
        for ((_, member), busy) in members.iter().zip([30, 10, 20]) {
            member.busy_ms.store(busy, Ordering::Relaxed);
        }
        let (fourth, _) = crowd.join();
        let closed: Vec<_> = members.iter().map(|it| it.1.closed.load(Ordering::Relaxed)).collect();
        assert_eq!(closed, [false, true, false]);
        assert_eq!((crowd.members().len(), fourth), (3, 3));
    }
}
