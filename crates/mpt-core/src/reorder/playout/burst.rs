//! A moment between the first packet of a burst and the others.
//!
//! In slow start the window of a flow is played out at once, since what its packets have waited in
//! the sender's queue is taken off their hold. A Linux receiver enlarges its window by what it has
//! read in a round-trip time less what it has not read yet (`tcp_rcv_space_adjust`). Where all is
//! there when the first packet is read, that is nothing: the window stays small, and the flow does
//! not grow. So the first packet comes alone, and is read alone.

/// The pause after which what is played out is a new burst, in microseconds.
const PAUSE: i64 = 10_000;
/// The time that the receiver has to read the first packet, in microseconds.
const READING: i64 = 200;

/// The packets that were played out last.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// The time of the last one.
    last: Option<i64>,
    /// The others are not played out before this time.
    pub(super) others: i64,
}

impl Burst {
    /// Notes that a packet is played out.
    pub(super) fn note(&mut self, now: i64) {
        if self.last.is_none_or(|last| now - last > PAUSE) {
            self.others = now + READING;
        }
        self.last = Some(now);
    }
}
