//! The sender of plain TCP.

use crate::kernel::time::Time;
use crate::simulation::{self, Outgoing};

use super::{Ack, Config, Segment, Subflow, WireSizes};

/// Sends a number of segments, or without end, on path 0.
#[derive(Clone, Debug)]
pub struct Sender {
    subflow: Subflow,
    total: Option<u64>,
    sent: u64,
    sizes: WireSizes,
}

impl Sender {
    /// Returns a sender of `total` segments; `None` for endless.
    pub fn new(config: Config, sizes: WireSizes, total: Option<u64>) -> Self {
        Self { subflow: Subflow::new(config, 0), total, sent: 0, sizes }
    }

    /// Its only subflow.
    pub fn subflow(&self) -> &Subflow {
        &self.subflow
    }
}

impl simulation::Sender for Sender {
    type Data = Segment;
    type Ack = Ack;

    fn handle_ack(&mut self, now: Time, _path: usize, ack: &Ack) {
        let view = [self.subflow.view()];
        self.subflow.handle_ack(now, ack, &view);
    }

    fn handle_timeout(&mut self, now: Time) {
        let view = [self.subflow.view()];
        self.subflow.handle_timeout(now, &view);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing<Segment>> {
        let packet = match self.subflow.poll_retransmit(now) {
            Some(packet) => packet,
            None if self.total.is_some_and(|total| self.sent >= total) => return None,
            None if !self.subflow.has_room() => return None,
            None => {
                self.sent += 1;
                self.subflow.send(now, self.sent - 1)
            }
        };
        Some(Outgoing { path: 0, size: self.sizes.of_segment(&packet), packet })
    }

    fn next_timeout(&self) -> Option<Time> {
        self.subflow.next_timeout()
    }

    fn total(&self) -> Option<u64> {
        self.total
    }

    fn is_dead(&self) -> bool {
        self.subflow.is_dead()
    }
}
