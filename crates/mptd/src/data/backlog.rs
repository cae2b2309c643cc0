//! The queues in the sockets: how long datagrams wait there until this daemon reads them, and the signal to the flows inside when that lasts.
//!
//! Where the receiving machine is the bottleneck, as a small router is, the queue stands in its sockets, and no sender knows: the delay of a path
//! ends with the arrival of a datagram. A flow of TCP fills 16 MiB then, which are 50 ms at 2.6 Gbit/s and half a second at 300 Mbit/s, until the
//! kernel drops what comes, whoever sent it. So one packet of bulk gets a signal before: a mark if its transport knows ECN, or it is dropped. It has
//! been received and put in order by then, so nothing asks for it again, and no path counts it as lost. Of several flows the one that sends the most
//! is hit the most often. Where hardly any datagram brings bulk the queue is that of others, and bulk gets no signal.

use std::time::{Duration, Instant};

use mpt_core::{SocketId, is_bulk};
use mpt_wire::ecn::{self, Ecn};
use mpt_wire::ip::Summary;

/// The time that datagrams may wait for good. A process that shares its processor with others does not run for 3 to 9 ms at a time.
const TARGET: Duration = Duration::from_millis(10);
/// The time for which they may wait longer: the reaction of a flow may take that long (RFC 8289, section 4.3).
const INTERVAL: Duration = Duration::from_millis(100);
/// The wait from which on the fill of the buffer is looked at, since that takes a call of the system.
const BRIEF: Duration = Duration::from_millis(5);
/// The share of the buffer from which on a signal is due at once, and every [`TARGET`]. At some Gbit/s a buffer of 16 MiB overflows in less than
/// [`INTERVAL`], and then the kernel drops what comes, of anybody and many at a time.
const HALF: f64 = 0.5;
/// The signals after which they become no more frequent than one in 10 ms: where a flood of small packets stands in the socket, bulk has to be left
/// something.
const MOST: u32 = 100;
/// The least part of all datagrams, one in so many, that brings bulk where the queue is that of bulk: its acknowledgements may be as many again.
const OF_BULK: u32 = 4;
/// The datagrams after which older ones count half.
const LATELY: u32 = 4_096;

/// The queues in all sockets.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    sockets: Vec<Queue>,
    /// The datagrams read lately.
    read: Read,
    /// True if the next packet of bulk gets a signal.
    is_due: bool,
    /// Packets that were dropped for a signal.
    pub(super) dropped: u64,
}

/// The datagrams read lately from all sockets.
#[derive(Debug, Default)]
struct Read {
    datagrams: u32,
    /// The accepted datagrams that brought a packet of bulk.
    bulk: u32,
}

impl Read {
    /// Notes so many datagrams.
    fn note(&mut self, datagrams: u32) {
        self.datagrams += datagrams;
        if self.datagrams > LATELY {
            (self.datagrams, self.bulk) = (self.datagrams / 2, self.bulk / 2);
        }
    }

    /// Returns false if nearly all was something else than bulk: small packets of a flood, or datagrams of anybody that are refused. Signals would
    /// not shorten their queue, and repair makes up for what the kernel drops of bulk.
    fn is_of_bulk(&self) -> bool {
        self.datagrams <= OF_BULK.saturating_mul(self.bulk)
    }
}

/// The queue in one socket.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    /// The time of the next signal, while datagrams wait for longer than [`TARGET`] or fill the buffer.
    next: Option<Instant>,
    /// The time of the last signal.
    last: Option<Instant>,
    /// Signals since datagrams wait for so long.
    signals: u32,
}

impl Queue {
    /// Returns whether a signal is due, where a datagram read at `now` has waited for so long, and `fill` gives the share of the buffer that is
    /// taken: by the control law of RFC 8289, section 3.3, or sooner if the buffer is about to overflow.
    fn is_due(&mut self, now: Instant, waited: Duration, fill: impl FnOnce() -> f64) -> bool {
        let overflows = waited > BRIEF && fill() > HALF;
        if waited <= TARGET && !overflows {
            *self = Self::default();
            return false;
        }
        // The law never leaves less than TARGET between two signals.
        let due = match overflows {
            true => self.last.map_or(now, |last| last + TARGET),
            false => self.next.unwrap_or(now + INTERVAL),
        };
        self.next = Some(due);
        if now < due {
            return false;
        }
        self.signals = MOST.min(self.signals + 1);
        self.last = Some(now);
        self.next = Some(now + INTERVAL.div_f64(f64::from(self.signals).sqrt()));
        true
    }
}

impl Backlog {
    /// Notes that a datagram read at `now` had waited in its socket since `arrival`. `fill` gives the share of the socket's buffer that is taken, and
    /// is called where the datagram has waited for long.
    #[inline]
    pub(super) fn note(
        &mut self,
        socket: SocketId,
        now: Instant,
        arrival: Instant,
        fill: impl FnOnce() -> f64,
    ) {
        let index = socket.0 as usize;
        if index >= self.sockets.len() {
            self.sockets.resize(index + 1, Queue::default());
        }
        let waited = now.saturating_duration_since(arrival);
        self.is_due |= self.sockets[index].is_due(now, waited, fill) && self.read.is_of_bulk();
    }

    /// Notes that so many datagrams were read, after those of them that were accepted.
    #[inline]
    pub(super) fn note_read(&mut self, datagrams: u32) {
        self.read.note(datagrams);
    }

    /// Notes that all datagrams of a socket have been read: no queue stands there.
    pub(super) fn note_empty(&mut self, socket: SocketId) {
        if let Some(queue) = self.sockets.get_mut(socket.0 as usize) {
            *queue = Queue::default();
        }
    }

    /// Notes that one of the datagrams brought a packet of `len` bytes, which was accepted.
    #[inline]
    pub(super) fn note_accepted(&mut self, len: u32) {
        self.read.bulk += u32::from(is_bulk(len));
    }

    /// Returns whether the next packet of bulk gets a signal.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Gives the signal to a packet on its way to the device, if it is one of bulk. Returns false when the packet is to be dropped.
    #[cold]
    pub(super) fn signal(&mut self, packet: &mut [u8]) -> bool {
        // Acknowledgements and the packets of shells and games get none.
        if !is_bulk(packet.len() as u32) {
            return true;
        }
        let Ok(summary) = Summary::parse(packet) else { return true };
        self.is_due = false;
        // The same as if a router had marked the outer packet.
        let marked = ecn::decapsulate(summary.ecn(), Ecn::Ce);
        match marked {
            Ok(marked) => ecn::set(packet, marked),
            Err(ecn::Drop) => self.dropped += 1,
        }
        marked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Notes a datagram in each of so many milliseconds, which has waited for so many, and returns the number of signals.
    fn signals(backlog: &mut Backlog, start: Instant, milliseconds: u32, waited: u32) -> usize {
        let due = |millisecond| {
            let now = start + MILLISECOND * millisecond;
            backlog.note(SocketId(0), now, now - MILLISECOND * waited, || 0.1);
            std::mem::take(&mut backlog.is_due)
        };
        (0..milliseconds).map(due).filter(|&due| due).count()
    }

    /// Returns an IPv4 packet with this TOS and length.
    fn packet(tos: u8, length: u16) -> Vec<u8> {
        let mut packet = vec![0; usize::from(length)];
        (packet[0], packet[1], packet[8], packet[9]) = (0x45, tos, 64, 17);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    }

    #[test]
    fn a_queue_that_stands_gives_ever_more_signals_and_a_short_one_none() {
        let (start, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        assert_eq!(signals(&mut backlog, start, 10_000, 10), 0, "short for good");
        assert_eq!(signals(&mut backlog, start, 100, 500), 0, "long for a moment");
        assert_eq!(signals(&mut backlog, start, 1, 0), 0);
        let second = signals(&mut backlog, start, 1_000, 11);
        let next = signals(&mut backlog, start + Duration::from_secs(1), 1_000, 11);
        // RFC 8289: n signals take 100 ms times the sum of 1 / sqrt(i) up to n, which is close to 200 ms times sqrt(n) less 146 ms; from the hundredth on
        // they are 10 ms apart.
        assert!((22..=33).contains(&second), "{second}");
        assert!((90..=115).contains(&(second + next)), "{second} and {next}");
        let start = start + Duration::from_secs(2);
        assert!((99..=100).contains(&signals(&mut backlog, start, 1_000, 11)));
    }

    #[test]
    fn a_buffer_that_is_half_full_gives_one_at_once_and_every_ten_milliseconds() {
        let (start, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        let mut due = |millisecond: u32, waited: u32, fill: f64| {
            let now = start + MILLISECOND * millisecond;
            backlog.note(SocketId(0), now, now - MILLISECOND * waited, || fill);
            std::mem::take(&mut backlog.is_due)
        };
        assert!(!due(0, 4, 0.9), "a buffer that is filled by less than 5 ms is large enough");
        assert!(!due(1, 6, 0.5), "and so is one of which half is left");
        let dues = (2..1_002).filter(|&millisecond| due(millisecond, 6, 0.51)).count();
        assert_eq!(dues, 100);
        assert!(!due(1_002, 6, 0.5) && due(1_003, 6, 0.9), "the next queue is another one");
        assert!(!due(1_004, 11, 0.5), "the law goes on from there");
        let dues: Vec<_> = (1_005..1_200).filter(|&at| due(at, 11, 0.5)).collect();
        assert_eq!(dues, [1_103, 1_174]);
    }

    #[test]
    fn a_socket_that_is_empty_does_not_hide_the_queue_in_another() {
        let (start, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        for millisecond in 0..=101 {
            let now = start + MILLISECOND * millisecond;
            backlog.note(SocketId(1), now, now - 20 * MILLISECOND, || 0.1);
            backlog.note(SocketId(0), now, now, || 0.1);
        }
        assert!(backlog.is_due());
    }

    #[test]
    fn single_datagrams_that_were_read_late_are_no_queue() {
        let (start, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        for second in 0..10 {
            let now = start + Duration::from_secs(second);
            backlog.note(SocketId(0), now, now - 20 * MILLISECOND, || 0.1);
            backlog.note_empty(SocketId(0));
        }
        assert!(!backlog.is_due());
    }

    #[test]
    fn a_flood_that_is_hardly_of_bulk_gives_none() {
        let (start, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        let mut due = |millisecond: u32, small: u32, large: u32| {
            (0..small).for_each(|_| backlog.note_accepted(499));
            (0..large).for_each(|_| backlog.note_accepted(500));
            backlog.note_read(small + large);
            let now = start + MILLISECOND * millisecond;
            backlog.note(SocketId(0), now, now - 20 * MILLISECOND, || 0.9);
            std::mem::take(&mut backlog.is_due)
        };
        assert_eq!((0..500).filter(|&at| due(at, 350, 100)).count(), 0, "small packets");
        let dues = (500..1_000).filter(|&at| due(at, 100, 100)).count();
        assert!(dues > 40, "bulk and its acknowledgements: {dues}");
        // What was before counts half after 4,096 datagrams, and no longer than that.
        assert!((1_000..1_020).filter(|&at| due(at, 350, 100)).count() > 0);
        assert_eq!((1_100..1_500).filter(|&at| due(at, 350, 100)).count(), 0);
    }

    #[test]
    fn refused_datagrams_give_none() {
        let (now, mut backlog) = (Instant::now() + Duration::from_secs(1), Backlog::default());
        (0..999).for_each(|_| backlog.note_accepted(1_400));
        backlog.note_read(4_000);
        backlog.note(SocketId(0), now, now - 20 * MILLISECOND, || 0.9);
        assert!(!backlog.is_due());
        backlog.note_accepted(1_400);
        backlog.note(SocketId(0), now, now - 10 * MILLISECOND, || 0.1);
        backlog.note(SocketId(0), now, now - 20 * MILLISECOND, || 0.9);
        assert!(backlog.is_due());
    }

    #[test]
    fn the_next_packet_of_bulk_gets_the_signal() {
        let mut backlog = Backlog { is_due: true, ..Backlog::default() };
        for length in [52, 499] {
            assert!(backlog.signal(&mut packet(0, length)) && backlog.is_due(), "{length}");
        }
        let mut marked = packet(0b10, 1_400);
        assert!(backlog.signal(&mut marked) && !backlog.is_due());
        assert_eq!((marked[1], backlog.dropped), (0b11, 0));

        backlog.is_due = true;
        assert!(!backlog.signal(&mut packet(0, 1_400)) && !backlog.is_due());
        assert_eq!(backlog.dropped, 1);
    }
}
