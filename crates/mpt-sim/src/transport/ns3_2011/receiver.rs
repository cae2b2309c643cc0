//! The receiver, whose acknowledgements make the paper's effect.

use std::collections::VecDeque;

use mpt_link::ByteCount;

use crate::kernel::time::Time;
use crate::reordering::Reordering;
use crate::simulation::{self, Outgoing};

use super::packet::{ACK, ACK_BLOCKS, ACK_TIMESTAMPS, Blocks};
use super::{Ack, Data, Options, PATHS, Treatment};

/// Receives, and acknowledges as the simulator of the study did.
#[derive(Clone, Debug)]
pub struct Receiver {
    treatment: Treatment,
    hold: bool,
    /// The next number expected on each subflow.
    next: [u64; PATHS],
    /// The number of the connection below which everything has been delivered.
    data_next: u64,
    /// Packets ahead of their turn, from `data_next` on: each with its path and its number there.
    store: VecDeque<Option<(usize, u64)>>,
    waiting: usize,
    reordering: Reordering,
    acks: VecDeque<Outgoing<Ack>>,
}

impl Receiver {
    /// Returns the receiver of a connection with these options.
    pub fn new(options: &Options) -> Self {
        Self {
            treatment: options.treatment,
            hold: options.hold,
            next: [0; PATHS],
            data_next: 0,
            store: VecDeque::new(),
            waiting: 0,
            reordering: Reordering::default(),
            acks: VecDeque::new(),
        }
    }

    /// Returns how much came before its turn.
    pub fn reordering(&self) -> &Reordering {
        &self.reordering
    }

    /// Delivers a packet that is next of the connection, and so of its subflow: both kinds of numbers rise together.
    fn deliver(&mut self, path: usize, data: &Data) {
        self.next[path] += 1;
        self.data_next += 1;
        let _its_own_place = self.store.pop_front();
        while let Some(&Some((stored_path, sequence))) = self.store.front() {
            self.store.pop_front();
            self.waiting -= 1;
            self.data_next += 1;
            if sequence == self.next[stored_path] {
                self.next[stored_path] += 1;
            }
            if self.hold {
                // One plain acknowledgement each; the subflow of the arrival gets one more, a duplicate.
                self.acknowledge(stored_path, None, None);
            }
        }
        if !self.hold {
            self.advance_subflows();
        }
        self.acknowledge(path, self.echo(data), None);
    }

    /// Stores a packet that came before its turn.
    fn keep(&mut self, path: usize, data: &Data) {
        let index = (data.data_sequence - self.data_next) as usize;
        if self.store.len() <= index {
            self.store.resize(index + 1, None);
        }
        if self.store[index].is_none() {
            self.store[index] = Some((path, data.sequence));
            self.waiting += 1;
            self.reordering.stored += 1;
        }
    }

    fn acknowledge(&mut self, path: usize, echo: Option<Time>, blocks: Option<Blocks>) {
        let size = match (echo, blocks) {
            (_, Some(_)) => ACK_BLOCKS,
            (Some(_), None) => ACK_TIMESTAMPS,
            (None, None) => ACK,
        };
        let packet = Ack { next: self.next[path], echo, blocks };
        self.acks.push_back(Outgoing { path, size: ByteCount(size), packet });
    }

    fn echo(&self, data: &Data) -> Option<Time> {
        (self.treatment == Treatment::Eifel).then_some(data.timestamp)
    }

    /// Returns the lowest contiguous packets of the store.
    fn lowest_block(&self) -> (u64, u64) {
        let from = self.store.iter().position(Option::is_some).unwrap_or(self.store.len());
        let length = self.store.iter().skip(from).take_while(|entry| entry.is_some()).count();
        let from = self.data_next + from as u64;
        (from, from + length as u64)
    }

    /// Handles a packet ahead of the connection.
    fn handle_ahead(&mut self, path: usize, data: &Data) {
        let in_sequence = data.sequence == self.next[path];
        self.keep(path, data);
        match self.treatment {
            Treatment::DSack => {
                let blocks = Blocks { own: data.data_sequence, lowest: self.lowest_block() };
                self.acknowledge(path, None, Some(blocks));
            }
            Treatment::Eifel => self.acknowledge(path, self.echo(data), None),
            // Held without an acknowledgement.
            _ if in_sequence => {}
            _ => self.acknowledge(path, None, None),
        }
    }

    /// Advances each subflow by itself, as RFC 8684 has it.
    fn advance_subflows(&mut self) {
        for path in 0..PATHS {
            while self.store.contains(&Some((path, self.next[path]))) {
                self.next[path] += 1;
            }
        }
    }
}

impl simulation::Receiver for Receiver {
    type Data = Data;
    type Ack = Ack;

    fn handle_data(&mut self, _now: Time, path: usize, data: &Data) {
        if data.sequence < self.next[path] {
            self.acknowledge(path, self.echo(data), None);
        } else if data.data_sequence == self.data_next {
            self.deliver(path, data);
        } else if !self.hold {
            self.keep(path, data);
            self.advance_subflows();
            self.acknowledge(path, self.echo(data), None);
        } else {
            self.handle_ahead(path, data);
        }
        self.reordering.arrival(self.waiting);
    }

    fn poll_transmit(&mut self) -> Option<Outgoing<Ack>> {
        self.acks.pop_front()
    }

    fn delivered(&self) -> u64 {
        self.data_next
    }
}
