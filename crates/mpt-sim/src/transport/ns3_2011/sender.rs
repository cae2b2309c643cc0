//! The sender: two subflows, round robin, recovery by duplicates or by the timer.

use mpt_link::ByteCount;

use crate::kernel::random::Stream;
use crate::kernel::time::Time;
use crate::simulation::{self, Outgoing};

use super::congestion::View;
use super::dsack::{DSack, Verdict};
use super::frto::{Consequence, FRto, Step};
use super::packet::{DATA_HEADER, TIMESTAMPS};
use super::subflow::Subflow;
use super::{Ack, Data, MSS, Options, PATHS, ThroughputLog, Treatment};

/// Duplicates that cause a retransmission.
const DUPLICATES: u8 = 3;

/// Sends the data of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    options: Options,
    subflows: [Subflow; PATHS],
    /// The next number of the connection.
    next_data: u64,
    /// The subflow whose turn it is.
    turn: usize,
    log: ThroughputLog,
    dsack: DSack,
    frto: FRto,
    retransmissions: u64,
}

impl Sender {
    /// Returns the sender of a connection with these options. Only F-RTO uses `stream`.
    pub fn new(options: Options, stream: Stream) -> Self {
        Self {
            options,
            subflows: [(); PATHS].map(|()| Subflow::new(options.minimum_rto)),
            next_data: 0,
            turn: 0,
            log: ThroughputLog::default(),
            dsack: DSack::default(),
            frto: FRto::new(options.discard, stream),
            retransmissions: 0,
        }
    }

    /// Returns the log of the throughput that the study reports.
    pub fn log(&self) -> &ThroughputLog {
        &self.log
    }

    /// Returns the congestion window of a subflow in packets.
    pub fn window(&self, path: usize) -> f64 {
        self.subflows[path].window
    }

    /// Returns the number of packets of a subflow that have been acknowledged.
    pub fn acknowledged(&self, path: usize) -> u64 {
        self.subflows[path].first
    }

    /// Returns the number of packets sent again.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    fn views(&self) -> [View; PATHS] {
        [0, 1].map(|path: usize| {
            let Subflow { window, smoothed_window: smoothed, rtt, .. } = self.subflows[path];
            View { window, smoothed, rtt }
        })
    }

    fn grow(&mut self, path: usize) {
        let views = self.views();
        let subflow = &mut self.subflows[path];
        let by = if subflow.is_returning() || subflow.in_slow_start() {
            1.0
        } else {
            self.options.congestion.increase(path, &views)
        };
        subflow.grow(by);
        self.log.grown(
            path,
            [0, 1].map(|path: usize| (self.subflows[path].window, self.subflows[path].rtt)),
        );
    }

    /// Responds to congestion, and retransmits `sequence`.
    fn respond(&mut self, path: usize, sequence: u64) {
        let window = self.options.congestion.decreased(path, &self.views());
        let keep_larger = self.options.treatment == Treatment::DSack;
        let subflow = &mut self.subflows[path];
        subflow.respond(window, keep_larger, self.options.threshold_in_packets);
        subflow.retransmission = Some(sequence);
    }

    /// Counts a duplicate for the first outstanding packet of a subflow. The counter is never reset: there is one
    /// retransmission by duplicates in the life of a packet.
    fn count_duplicate(&mut self, path: usize) {
        let subflow = &mut self.subflows[path];
        let sequence = subflow.first;
        let Some(packet) = subflow.get(sequence) else { return };
        packet.duplicates = packet.duplicates.saturating_add(1);
        if packet.duplicates == DUPLICATES {
            self.respond(path, sequence);
        }
    }

    fn handle_duplicate(&mut self, path: usize, ack: &Ack) {
        match self.options.treatment {
            Treatment::TcpDoor => {}
            Treatment::FRto => {
                if self.frto.step == Step::Conventional {
                    self.grow(path);
                }
            }
            Treatment::Eifel => {
                let subflow = &mut self.subflows[path];
                let sequence = subflow.first;
                let retransmitted = subflow.get(sequence).and_then(|packet| packet.retransmitted);
                let spurious = ack.echo.zip(retransmitted).is_some_and(|(echo, retransmitted)| {
                    milliseconds(echo) < milliseconds(retransmitted)
                });
                if spurious {
                    (subflow.window, subflow.threshold) = subflow.saved;
                } else {
                    self.count_duplicate(path);
                }
            }
            Treatment::DSack | Treatment::None => self.count_duplicate(path),
        }
    }

    fn follow_frto(&mut self, path: usize, ack: &Ack, duplicate: bool) {
        let subflow = &self.subflows[path];
        let can_send = subflow.has_room() && self.next_data < self.options.packets;
        let up_to = subflow.retransmitted_up_to;
        match self.frto.acknowledged(ack.next, duplicate, up_to, can_send) {
            Consequence::Nothing => {}
            Consequence::Three => self.subflows[path].window = 3.0,
        }
    }

    fn data(&self, now: Time, path: usize, sequence: u64, data_sequence: u64) -> Outgoing<Data> {
        let more = if self.options.treatment == Treatment::Eifel { TIMESTAMPS } else { 0 };
        let size = ByteCount(MSS + DATA_HEADER + more);
        Outgoing { path, size, packet: Data { sequence, data_sequence, timestamp: now } }
    }
}

impl simulation::Sender for Sender {
    type Data = Data;
    type Ack = Ack;

    fn handle_ack(&mut self, now: Time, path: usize, ack: &Ack) {
        let frto = self.options.treatment == Treatment::FRto;
        if frto && self.frto.discards(path, self.subflows[path].window) {
            return;
        }
        let subflow = &mut self.subflows[path];
        let new = ack.next > subflow.first;
        let duplicate = ack.next == subflow.first && !subflow.outstanding.is_empty();
        if new {
            subflow.acknowledge(now, ack.next);
            self.grow(path);
        }
        if frto && (new || duplicate) {
            self.follow_frto(path, ack, duplicate);
        }
        if let Some(blocks) = ack.blocks {
            match self.dsack.handle(path, blocks, &mut self.subflows) {
                Verdict::None => {}
                Verdict::Return(hole) => self.subflows[hole].returning = true,
                Verdict::Duplicate(hole) => self.count_duplicate(hole),
            }
        } else if duplicate {
            self.handle_duplicate(path, ack);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        for path in 0..PATHS {
            let subflow = &mut self.subflows[path];
            if subflow.timer.is_none_or(|timer| timer > now) {
                continue;
            }
            subflow.timer = None;
            let (first, recover) = (subflow.first, subflow.next());
            self.respond(path, first);
            self.frto.step = Step::First { recover };
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing<Data>> {
        for path in 0..PATHS {
            let subflow = &mut self.subflows[path];
            if let Some(sequence) = subflow.retransmission.take()
                && let Some(data_sequence) = subflow.retransmit(now, sequence)
            {
                self.retransmissions += 1;
                return Some(self.data(now, path, sequence, data_sequence));
            }
        }
        if self.next_data >= self.options.packets {
            return None;
        }
        let path = (0..PATHS)
            .map(|step| (self.turn + step) % PATHS)
            .find(|&path| self.subflows[path].has_room())?;
        self.turn = (path + 1) % PATHS;
        let sequence = self.subflows[path].send(now, self.next_data);
        self.next_data += 1;
        Some(self.data(now, path, sequence, self.next_data - 1))
    }

    fn next_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(|subflow| subflow.timer).min()
    }

    fn total(&self) -> Option<u64> {
        Some(self.options.packets)
    }
}

fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
