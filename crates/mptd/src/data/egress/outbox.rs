//! Datagrams on their way to one socket and peer: gathered into batches, and held for a few milliseconds when the socket is full.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use mpt_linux::udp::{MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS, MAX_BATCH_PIECES};
use socket2::SockAddr;

use super::datagram::Datagram;
use crate::data::system::BatchSocket;

/// The time that a datagram may wait for room in the socket before it is dropped: more would only add delay that TCP mistakes for the path's own.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// Bytes that may wait for room in one socket.
const MAX_BACKLOG: usize = 256 * 1024;
/// Bytes of memory that a path keeps for what may wait. Memory beyond that goes back as soon as nothing waits: thousands of paths that were busy one
/// after the other would otherwise keep [`MAX_BACKLOG`] each.
const KEPT: usize = 16 * 1024;
/// Bytes that may wait for room in all sockets together.
pub(crate) const MAX_WAITING: usize = 16 << 20;

/// Counters of the datagrams that were handed to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendCounters {
    /// Datagrams the kernel took.
    pub(crate) sent: u64,
    /// Bytes of UDP payload in them.
    pub(crate) bytes: u64,
    /// Batches they were in: `sent / batches` is what `UDP_SEGMENT` gains.
    pub(crate) batches: u64,
    /// Datagrams dropped because the socket stayed full for longer than [`MAX_WAIT`] or more than [`MAX_BACKLOG`] waited.
    pub(crate) full: u64,
    /// Datagrams dropped by the queue below the socket (`ENOBUFS`).
    pub(crate) queue_dropped: u64,
    /// Datagrams larger than the device's MTU.
    pub(crate) too_big: u64,
    /// Datagrams refused for another reason: no route, device down, peer address invalid.
    pub(crate) failed: u64,
}

impl std::ops::Add for SendCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            bytes: self.bytes + other.bytes,
            batches: self.batches + other.batches,
            full: self.full + other.full,
            queue_dropped: self.queue_dropped + other.queue_dropped,
            too_big: self.too_big + other.too_big,
            failed: self.failed + other.failed,
        }
    }
}

/// The batch being gathered for one socket and peer, and what waits for room in the socket.
#[derive(Debug)]
pub(crate) struct Outbox {
    datagrams: [Datagram; MAX_BATCH_DATAGRAMS],
    count: usize,
    bytes: usize,
    datagram_len: usize,
    /// A shorter datagram was added: it has to be the last.
    closed: bool,
    tos: u8,
    backlog: Backlog,
    counters: SendCounters,
}

/// A batch that can leave at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// Outer traffic class.
    pub(crate) tos: u8,
    /// Bytes of every datagram but the last.
    pub(crate) datagram_len: usize,
    /// Most pieces that it may have.
    pub(crate) most_pieces: usize,
}

/// The task of the caller after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// No datagram waits.
    Done,
    /// Datagrams wait for room: call [`Outbox::retry`] when the socket is writable.
    Waiting,
    /// The device's MTU is smaller than a datagram; the socket's error queue has the MTU.
    TooBig,
}

impl Outbox {
    /// An empty outbox.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            datagrams: [Datagram::default(); MAX_BATCH_DATAGRAMS],
            count: 0,
            bytes: 0,
            datagram_len: 0,
            closed: false,
            tos: 0,
            backlog: Backlog::default(),
            counters: SendCounters::default(),
        }
    }

    /// True if a datagram of `len` bytes fits the batch; if not, flush first. `UDP_SEGMENT` wants equal lengths except for the last, and
    /// one traffic class.
    #[inline]
    #[must_use]
    pub(crate) fn fits(&self, len: usize, tos: u8) -> bool {
        self.count == 0
            || !(self.closed
                || len > self.datagram_len
                || tos != self.tos
                || self.count == MAX_BATCH_DATAGRAMS
                || self.bytes + len > MAX_BATCH_BYTES)
    }

    /// True if no further datagram of the same length fits.
    #[inline]
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.count == MAX_BATCH_DATAGRAMS || self.bytes + self.datagram_len > MAX_BATCH_BYTES
    }

    /// Adds a datagram, which must fit. True for the batch's first: it has to be flushed before the arena is reused.
    #[inline]
    pub(crate) fn push(&mut self, datagram: Datagram, tos: u8) -> bool {
        let len = datagram.len();
        let first = self.count == 0;
        if first {
            self.datagram_len = len;
            self.tos = tos;
        } else if len < self.datagram_len {
            self.closed = true;
        }
        self.datagrams[self.count] = datagram;
        self.count += 1;
        self.bytes += len;
        first
    }

    /// Sends the batch, or lets it wait behind what waits already. `room` is how many bytes more may wait in the whole daemon.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        socket: &impl BatchSocket,
        remote: &SockAddr,
        arena: &[u8],
        room: &mut usize,
    ) -> Flushed {
        if self.count == 0 {
            return if self.backlog.is_empty() { Flushed::Done } else { Flushed::Waiting };
        }
        let mut pieces = [IoSlice::new(&[]); MAX_BATCH_PIECES];
        let used = self.pieces(arena, &mut pieces);
        let (count, bytes, tos, datagram_len) =
            (self.count, self.bytes, self.tos, self.datagram_len);
        self.clear();

        let mut skipped = 0;
        if self.backlog.is_empty() {
            match socket.send_batch(remote, tos, datagram_len, &pieces[..used]) {
                Ok(sent) => {
                    self.counters.batches += 1;
                    self.counters.sent += sent as u64;
                    if sent == count {
                        self.counters.bytes += bytes as u64;
                        return Flushed::Done;
                    }
                    self.counters.bytes += (sent * datagram_len) as u64;
                    skipped = sent;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return self.count_failure(&error, count),
            }
        }
        for datagram in &self.datagrams[skipped..count] {
            let (len, [head, payload]) = (datagram.len(), datagram.of(arena));
            if len <= *room && self.backlog.push(now, head, payload, tos) {
                *room -= len;
            } else {
                self.counters.full += 1;
            }
        }
        Flushed::Waiting
    }

    /// Returns what is gathered, if nothing that waits has to leave before: traffic class, length of a datagram, and how many pieces it has.
    #[must_use]
    pub(crate) fn ready(&self) -> Option<Ready> {
        let Self { tos, datagram_len, count, .. } = *self;
        let ready = Ready { tos, datagram_len, most_pieces: 2 * count };
        (count > 0 && self.backlog.is_empty()).then_some(ready)
    }

    /// Writes the pieces of the gathered datagrams to the beginning of `pieces`. Returns how many there are.
    pub(crate) fn pieces<'a>(&self, arena: &'a [u8], pieces: &mut [IoSlice<'a>]) -> usize {
        let mut used = 0;
        for datagram in &self.datagrams[..self.count] {
            for piece in datagram.of(arena) {
                if !piece.is_empty() {
                    pieces[used] = IoSlice::new(piece);
                    used += 1;
                }
            }
        }
        used
    }

    /// The kernel has taken all that was gathered.
    pub(crate) fn taken(&mut self) {
        self.counters.batches += 1;
        self.counters.sent += self.count as u64;
        self.counters.bytes += self.bytes as u64;
        self.clear();
    }

    fn clear(&mut self) {
        self.count = 0;
        self.bytes = 0;
        self.closed = false;
    }

    /// The socket has room again: sends what waits, drops what waited too long.
    pub(crate) fn retry(
        &mut self,
        now: Instant,
        socket: &impl BatchSocket,
        remote: &SockAddr,
        room: &mut usize,
    ) -> Flushed {
        let before = self.backlog.data.len();
        self.counters.full += self.backlog.drop_older_than(now, MAX_WAIT);
        let outcome = self.send_waiting(socket, remote);
        *room += before - self.backlog.data.len();
        outcome
    }

    fn send_waiting(&mut self, socket: &impl BatchSocket, remote: &SockAddr) -> Flushed {
        let mut outcome = Flushed::Done;
        while let Some(batch) = self.backlog.batch() {
            let (first, second) = self.backlog.slices(batch.bytes);
            let mut pieces = [IoSlice::new(&[]); MAX_BATCH_PIECES];
            let used = batch.pieces(first, second, &mut pieces);
            match socket.send_batch(remote, batch.tos, batch.datagram_len, &pieces[..used]) {
                Ok(sent) => {
                    let bytes = self.backlog.pop(sent);
                    self.counters.batches += 1;
                    self.counters.sent += sent as u64;
                    self.counters.bytes += bytes as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Flushed::Waiting,
                Err(error) => {
                    self.backlog.pop(batch.datagrams);
                    if self.count_failure(&error, batch.datagrams) == Flushed::TooBig {
                        outcome = Flushed::TooBig;
                    }
                }
            }
        }
        outcome
    }

    /// Returns the bytes that wait for room in the socket.
    pub(crate) fn waiting(&self) -> usize {
        self.backlog.data.len()
    }

    fn count_failure(&mut self, error: &io::Error, count: usize) -> Flushed {
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => {
                self.counters.too_big += count as u64;
                return Flushed::TooBig;
            }
            Some(libc::ENOBUFS) => self.counters.queue_dropped += count as u64,
            _ => self.counters.failed += count as u64,
        }
        Flushed::Done
    }

    /// Returns what became of everything handed over so far.
    #[must_use]
    pub(crate) fn counters(&self) -> SendCounters {
        self.counters
    }
}

/// Datagrams waiting for room, oldest first, their bytes back to back.
#[derive(Debug, Default)]
struct Backlog {
    data: VecDeque<u8>,
    datagrams: VecDeque<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Instant,
    len: u32,
    tos: u8,
}

/// The longest run at the head of a backlog that one call may send.
#[derive(Clone, Copy, Debug)]
struct Batch {
    datagrams: usize,
    datagram_len: usize,
    bytes: usize,
    tos: u8,
}

impl Backlog {
    fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// False when there is no room. A path that never fills its socket needs no memory.
    fn push(&mut self, now: Instant, header: &[u8], payload: &[u8], tos: u8) -> bool {
        let len = header.len() + payload.len();
        if self.data.len() + len > MAX_BACKLOG {
            return false;
        }
        self.data.extend(header);
        self.data.extend(payload);
        self.datagrams.push_back(Waiting { since: now, len: len as u32, tos });
        true
    }

    fn drop_older_than(&mut self, now: Instant, age: Duration) -> u64 {
        let old = |waiting: &Waiting| now.saturating_duration_since(waiting.since) > age;
        let count = self.datagrams.iter().take_while(|waiting| old(waiting)).count();
        self.pop(count);
        count as u64
    }

    /// Removes the oldest `count` datagrams. Returns their bytes.
    fn pop(&mut self, count: usize) -> usize {
        let bytes = self.datagrams.drain(..count).map(|waiting| waiting.len as usize).sum();
        self.data.drain(..bytes);
        if self.datagrams.is_empty() && self.memory() > KEPT {
            *self = Self::default();
        }
        bytes
    }

    /// Returns the bytes of memory that it has, used or not.
    fn memory(&self) -> usize {
        self.data.capacity() + self.datagrams.capacity() * size_of::<Waiting>()
    }

    fn batch(&self) -> Option<Batch> {
        let first = *self.datagrams.front()?;
        let mut batch =
            Batch { datagrams: 0, datagram_len: first.len as usize, bytes: 0, tos: first.tos };
        for waiting in self.datagrams.iter().take(MAX_BATCH_DATAGRAMS) {
            let len = waiting.len as usize;
            if waiting.tos != batch.tos
                || len > batch.datagram_len
                || batch.bytes + len > MAX_BATCH_BYTES
            {
                break;
            }
            batch.datagrams += 1;
            batch.bytes += len;
            if len < batch.datagram_len {
                break;
            }
        }
        Some(batch)
    }

    fn slices(&self, bytes: usize) -> (&[u8], &[u8]) {
        let (first, second) = self.data.as_slices();
        let head = first.len().min(bytes);
        (&first[..head], &second[..bytes - head])
    }
}

impl Batch {
    /// One piece per datagram, two for the one that lies across the end of the ring.
    fn pieces<'a>(
        &self,
        first: &'a [u8],
        second: &'a [u8],
        pieces: &mut [IoSlice<'a>; MAX_BATCH_PIECES],
    ) -> usize {
        let mut used = 0;
        let mut at = 0;
        while at < self.bytes {
            let end = (at + self.datagram_len).min(self.bytes);
            let parts = [
                &first[at.min(first.len())..end.min(first.len())],
                &second[at.saturating_sub(first.len())..end.saturating_sub(first.len())],
            ];
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                pieces[used] = IoSlice::new(part);
                used += 1;
            }
            at = end;
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; 12] = [0; 12];
    const PAYLOAD: [u8; 1400] = [0; 1400];

    /// Returns a backlog of as many datagrams as may wait.
    fn full(now: Instant) -> Backlog {
        let mut backlog = Backlog::default();
        while backlog.push(now, &HEADER, &PAYLOAD, 0) {}
        assert!(backlog.data.len() > MAX_BACKLOG - 1412, "{}", backlog.data.len());
        backlog
    }

    #[test]
    fn the_memory_of_what_waited_goes_back() {
        let now = Instant::now();
        let mut sent = full(now);
        let all = sent.datagrams.len();
        sent.pop(all - 1);
        assert_eq!(sent.data.len(), 1412);
        sent.pop(1);
        assert!(sent.memory() <= KEPT, "{} bytes are kept", sent.memory());

        let mut late = full(now);
        late.drop_older_than(now + MAX_WAIT * 2, MAX_WAIT);
        assert!(late.memory() <= KEPT, "{} bytes are kept", late.memory());
    }

    #[test]
    fn a_few_datagrams_now_and_then_need_memory_once() {
        let now = Instant::now();
        let mut backlog = Backlog::default();
        backlog.push(now, &HEADER, &PAYLOAD, 0);
        let memory = backlog.memory();
        backlog.pop(1);
        assert!(memory > 0 && backlog.memory() == memory);
    }
}
