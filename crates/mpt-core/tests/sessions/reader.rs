//! The way a host reads its sockets: at once, or late, as a daemon that gets the processor late.

use std::time::{Duration, Instant};

use super::host::Wire;

/// The way in which a host reads its sockets.
#[derive(Debug, Default)]
pub enum Reader {
    /// Every datagram at its arrival.
    #[default]
    AtOnce,
    /// All that has arrived, some time after the first of it.
    Late(Late),
}

/// The datagrams that wait to be read.
#[derive(Debug, Default)]
pub struct Late {
    /// True if the host is told when each of them arrived.
    stamps: bool,
    /// The datagrams that wait, each with its arrival by the clock of the host, and its path.
    unread: Vec<(Instant, usize, Wire)>,
    /// The time at which they are read.
    next: Option<Instant>,
}

impl Reader {
    /// The shortest time from the first arrival to the reading, and by how much less than this it may be
    /// longer, in milliseconds.
    pub const SHORTEST_WAIT: u64 = 20;
    pub const MORE: u64 = 30;

    /// Reads late; with `stamps` it is told when datagrams arrived.
    pub fn late(stamps: bool) -> Self {
        Self::Late(Late { stamps, ..Late::default() })
    }

    pub fn is_late(&self) -> bool {
        matches!(self, Self::Late(_))
    }

    /// Returns the time at which it reads next.
    pub fn next(&self) -> Option<Instant> {
        match self {
            Self::AtOnce => None,
            Self::Late(late) => late.next,
        }
    }

    /// A datagram arrives, at `local` by the clock of the host. `wait`: the time until it is read, if it is
    /// the first one.
    pub fn put(
        &mut self,
        now: Instant,
        local: Instant,
        wait: Duration,
        (path, wire): (usize, Wire),
    ) {
        if let Self::Late(late) = self {
            late.unread.push((local, path, wire));
            late.next.get_or_insert(now + wait);
        }
    }

    /// Returns what is read now, in the order of arrival: when each datagram arrived as far as the host
    /// knows, its path, and itself.
    pub fn take(&mut self, now: Instant, local: Instant) -> Vec<(Instant, usize, Wire)> {
        let Self::Late(late) = self else { return Vec::new() };
        if late.next.is_none_or(|next| next > now) {
            return Vec::new();
        }
        late.next = None;
        let mut read = std::mem::take(&mut late.unread);
        if !late.stamps {
            read.iter_mut().for_each(|(arrived, ..)| *arrived = local);
        }
        read
    }
}
