//! Links whose queues serve flows in turns.

use std::time::{Duration, Instant};

use mpt_link::FairLink;

use crate::kernel::time::Time;
use crate::network::{LinkId, Network, transmission};

/// A link whose packets carry the events of their arrival.
pub(super) struct Fair<E> {
    /// The link that it replaces.
    pub(super) id: LinkId,
    pub(super) link: FairLink<E>,
    /// The time of the next timer event that is scheduled.
    timer: Time,
}

impl<E: Clone> Fair<E> {
    /// Returns a link that replaces another one.
    pub(super) fn new(id: LinkId, link: FairLink<E>) -> Self {
        Self { id, link, timer: Time::MAX }
    }

    /// Returns the event of a packet that arrives now, and whether the packet was marked; `None` if
    /// none arrives.
    pub(super) fn poll(&mut self, now: Time, instant: Instant) -> Option<(E, bool)> {
        if self.timer == now {
            self.timer = Time::MAX;
        }
        self.link.poll(instant).map(|arrival| (arrival.packet, arrival.marked))
    }

    /// Returns how long what waits for the transmitter takes at its present rate.
    pub(super) fn backlog(&self) -> Duration {
        transmission(self.link.waiting().bytes, self.link.channel().params().rate)
    }

    /// Returns the time at which a timer has to be set, earlier than the one that is waited for.
    pub(super) fn set_timer(&mut self, now: Time, network: &Network) -> Option<Time> {
        let due = self.link.next_timeout().map(|due| network.time(due));
        self.timer = due.filter(|&due| due < self.timer)?.max(now);
        Some(self.timer)
    }
}
