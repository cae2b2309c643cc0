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
    /// Everything of the connection below has been received.
    first: u64,
    /// The next number of the connection; for the redundant scheduler, of each subflow.
    next: Vec<u64>,
    /// The shared receive window ends here.
    limit: u64,
    /// To be sent once more: of which subflow they were, and their numbers.
    reinjections: VecDeque<(usize, u64)>,
    reinjected: u64,
}

impl Sender {
    /// Of the connection that has these options, on `paths` subflows.
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

    /// Segments sent once more on another subflow.
    pub fn reinjected(&self) -> u64 {
        self.reinjected
    }

    /// Data of a subflow that timed out goes to the others.
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
            // What has come by another path need not be sent.
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
