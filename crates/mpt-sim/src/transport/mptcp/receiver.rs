//! The receiver of a connection.

use std::collections::VecDeque;

use crate::kernel::time::Time;
use crate::reordering::Reordering;
use crate::simulation::{self, Outgoing};
use crate::transport::ranges::Ranges;
use crate::transport::tcp::{Ack, HalfReceiver, Segment};

use super::{Options, SIZES};

/// Receives on several subflows. The application takes at once what is in sequence.
#[derive(Clone, Debug)]
pub struct Receiver {
    subflows: Vec<HalfReceiver>,
    /// The next number of the connection.
    next: u64,
    /// Received numbers ahead of `next`.
    store: Ranges,
    buffer: u64,
    reordering: Reordering,
    acks: VecDeque<Outgoing<Ack>>,
}

impl Receiver {
    /// Returns the receiver of a connection with these options on `paths` subflows.
    pub fn new(options: &Options, paths: usize) -> Self {
        Self {
            subflows: vec![HalfReceiver::default(); paths],
            next: 0,
            store: Ranges::default(),
            buffer: options.receive_buffer,
            reordering: Reordering::default(),
            acks: VecDeque::new(),
        }
    }

    /// Returns how much came before its turn.
    pub fn reordering(&self) -> &Reordering {
        &self.reordering
    }

    fn take(&mut self, number: u64) {
        if number > self.next {
            let mut new = false;
            self.store.insert(number, number + 1, |_, _| new = true);
            self.reordering.stored += u64::from(new);
        } else if number == self.next {
            self.next += 1;
            if let Some((from, to)) = self.store.first()
                && from == self.next
            {
                self.next = to;
                self.store.remove_below(to);
            }
        }
        // The shared window bounds what a sender may have sent ahead.
        assert!(self.store.end().is_none_or(|end| end <= self.next + self.buffer));
        self.reordering.arrival(self.store.count() as usize);
    }
}

impl simulation::Receiver for Receiver {
    type Data = Segment;
    type Ack = Ack;

    fn handle_data(&mut self, _now: Time, path: usize, segment: &Segment) {
        let ack = self.subflows[path].handle(segment);
        if !segment.syn {
            self.take(segment.data_sequence);
        }
        let packet = Ack { data_next: self.next, limit: self.next + self.buffer, ..ack };
        self.acks.push_back(Outgoing { path, size: SIZES.of_ack(&packet), packet });
    }

    fn poll_transmit(&mut self) -> Option<Outgoing<Ack>> {
        self.acks.pop_front()
    }

    fn delivered(&self) -> u64 {
        self.next
    }
}
