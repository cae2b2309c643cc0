//! The sender of a connection.

use std::collections::VecDeque;

use crate::kernel::time::Time;
use crate::simulation::{self, Outgoing};
use crate::transport::congestion::View;
use crate::transport::tcp::{Ack, Segment, Subflow};

use super::scheduler::{Situation, Turn};
use super::{Options, SIZES, Scheduler};

/// Sends on several subflows.
#[derive(Clone, Debug)]
pub struct Sender {
    options: Options,
    subflows: Vec<Subflow>,
    views: Vec<View>,
    turn: Turn,
    /// The number below which everything of the connection has been received.
    first: u64,
    /// The next number of the connection; with the redundant scheduler, that of each subflow.
    next: Vec<u64>,
    /// The end of the shared receive window.
    limit: u64,
    /// Data to be sent once more: the subflow that had it, and its number.
    reinjections: VecDeque<(usize, u64)>,
    reinjected: u64,
}

impl Sender {
    /// Returns the sender of a connection with these options on `paths` subflows.
    pub fn new(options: Options, paths: usize) -> Self {
        let subflows: Vec<Subflow> = (0..paths).map(|own| Subflow::new(options.tcp, own)).collect();
        let pointers = if options.scheduler == Scheduler::Redundant { paths } else { 1 };
        Self {
            views: subflows.iter().map(Subflow::view).collect(),
            subflows,
            turn: Turn::new(options.scheduler),
            first: 0,
            next: vec![0; pointers],
            limit: options.receive_buffer,
            reinjections: VecDeque::new(),
            reinjected: 0,
            options,
        }
    }

    /// Its subflows.
    pub fn subflows(&self) -> &[Subflow] {
        &self.subflows
    }

    /// Returns the number of segments sent once more on another subflow.
    pub fn reinjected(&self) -> u64 {
        self.reinjected
    }

    /// Gives the data of a subflow that timed out to the others.
    fn reinject(&mut self, path: usize) {
        let (first, limit) = (self.first, self.options.receive_buffer as usize);
        let numbers = self.subflows[path].unacknowledged().filter(|&number| number >= first);
        for number in numbers {
            if self.reinjections.len() < limit {
                self.reinjections.push_back((path, number));
            }
        }
    }

    fn poll_reinjection(&mut self, now: Time) -> Option<(usize, Segment)> {
        while let Some(&(path, number)) = self.reinjections.front() {
            if number < self.first {
                self.reinjections.pop_front();
                continue;
            }
            let other = (0..self.subflows.len()).find(|&other| {
                let subflow = &self.subflows[other];
                other != path && subflow.has_room() && !subflow.has_timed_out()
            })?;
            self.reinjections.pop_front();
            self.reinjected += 1;
            return Some((other, self.subflows[other].send(now, number)));
        }
        None
    }

    fn poll_new(&mut self, now: Time) -> Option<(usize, Segment)> {
        let end = self.options.total.unwrap_or(u64::MAX);
        let next = self.next[0];
        if next >= end {
            return None;
        }
        if next >= self.limit {
            self.turn.was_blocked();
            return None;
        }
        let window = self.limit - next;
        let situation = Situation { window, backlog: window.min(end - next) };
        let path = self.turn.pick(&self.subflows, situation)?;
        self.next[0] += 1;
        Some((path, self.subflows[path].send(now, next)))
    }

    fn poll_redundant(&mut self, now: Time) -> Option<(usize, Segment)> {
        let end = self.options.total.unwrap_or(u64::MAX).min(self.limit);
        for (path, (next, subflow)) in self.next.iter_mut().zip(&mut self.subflows).enumerate() {
            // Data that has come by another path need not be sent.
            *next = (*next).max(self.first);
            if *next < end && subflow.has_room() {
                *next += 1;
                return Some((path, subflow.send(now, *next - 1)));
            }
        }
        None
    }
}

impl simulation::Sender for Sender {
    type Data = Segment;
    type Ack = Ack;

    fn handle_ack(&mut self, now: Time, path: usize, ack: &Ack) {
        self.first = self.first.max(ack.data_next);
        self.limit = self.limit.max(ack.limit);
        self.subflows[path].handle_ack(now, ack, &self.views);
        self.views[path] = self.subflows[path].view();
    }

    fn handle_timeout(&mut self, now: Time) {
        for path in 0..self.subflows.len() {
            let subflow = &mut self.subflows[path];
            if subflow.next_timeout().is_none_or(|due| due > now) {
                continue;
            }
            let before = subflow.counters().timeouts;
            subflow.handle_timeout(now, &self.views);
            self.views[path] = subflow.view();
            if subflow.counters().timeouts > before {
                self.reinject(path);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing<Segment>> {
        let again = self.subflows.iter_mut().enumerate().find_map(|(path, subflow)| {
            let segment = subflow.poll_retransmit(now)?;
            Some((path, segment))
        });
        let (path, packet) = again.or_else(|| self.poll_reinjection(now)).or_else(|| {
            if self.options.scheduler == Scheduler::Redundant {
                self.poll_redundant(now)
            } else {
                self.poll_new(now)
            }
        })?;
        Some(Outgoing { path, size: SIZES.of_segment(&packet), packet })
    }

    fn next_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(Subflow::next_timeout).min()
    }

    fn total(&self) -> Option<u64> {
        self.options.total
    }

    fn is_dead(&self) -> bool {
        self.subflows.iter().all(Subflow::is_dead)
    }
}
