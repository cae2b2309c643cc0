//! Links whose queues serve flows in turns.

use std::time::{Duration, Instant};

use mpt_link::FairLink;

use crate::kernel::time::Time;
use crate::network::{LinkId, Network, transmission};

/// A link that carries what happens when its packets arrive.
pub(super) struct Fair<E> {
    /// In whose place it is.
    pub(super) id: LinkId,
    pub(super) link: FairLink<E>,
    /// The time at which the timer that is waited for goes off.
    timer: Time,
}

impl<E: Clone> Fair<E> {
    /// In the place of another link.
    pub(super) fn new(id: LinkId, link: FairLink<E>) -> Self {
        Self { id, link, timer: Time::MAX }
    }

    /// Returns what happens now, since a packet has arrived.
    /// Whether it was marked is told, too.
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
