//! The record of a run over time.

use std::fmt::Write as _;
use std::time::Duration;

use mpt_core::{FecCounters, RepairCounters};
use mpt_link::Counters;

use crate::kernel::time::Time;
use crate::network::Route;
use crate::transport::tcp;

use crate::tunnel::end::End;
use crate::tunnel::world::World;

/// Time between two samples.
const STEP: Duration = Duration::from_millis(20);
/// Samples of a row of [`Record::csv`].
const ROW: usize = 5;

/// The record of a run. Times are in seconds since the flows could begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Samples, one every 20 ms, from the beginning to the end.
    pub samples: Vec<Sample>,
    /// The packets that were sent back, of each source.
    pub echoes: Vec<Vec<Trip>>,
    /// The packets of each stream, by the side that has sent them.
    pub streams: Vec<[Vec<Trip>; 2]>,
    /// Counters of forward error correction at each end of each tunnel.
    pub corrected: Vec<[FecCounters; 2]>,
    /// Bytes that were given to all links, in both directions.
    offered: u64,
    /// Counters of each flow.
    pub flows: Vec<tcp::Counters>,
    /// Packets that the tunnels did not take since all paths were down, and those that queues of tunnels dropped.
    pub refused: u64,
    /// Packets that the tunnels sent again, or held for lost, in the direction of the data.
    pub repairs: RepairCounters,
    /// Events of the run.
    pub events: u64,
    /// Hash of its trace: equal for equal runs.
    pub trace: u64,
}

/// The state at one time. Quantities but for lengths of queues and windows are sums since the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time of the sample, in seconds.
    pub at: f64,
    /// Bytes of payload that each flow has delivered in order.
    pub delivered: Vec<u64>,
    /// Congestion window of each flow, in segments.
    pub windows: Vec<f64>,
    /// State of each link, from the senders of data to their receivers.
    pub links: Vec<LinkSample>,
    /// Packets that wait in the queues of the tunnels, before they have numbers.
    pub queued: usize,
    /// Packets that wait in receive windows.
    pub reordering: usize,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSample {
    /// Counters of the packets of the link.
    pub counters: Counters,
    /// Time that a packet that came now would wait for the transmitter.
    pub queue: Duration,
}

/// A packet that was sent back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trip {
    /// The time at which it was sent, in seconds.
    pub at: f64,
    /// Its travel time in milliseconds. `None` if it was lost, or was still on its way at the end.
    pub took_ms: Option<f64>,
}

impl Record {
    /// Returns the mean rate at which a flow delivered payload between two times, in Mbit/s.
    pub fn goodput(&self, flow: usize, from: f64, to: f64) -> f64 {
        let bytes = |at: f64| {
            let index = libm::round(at / STEP.as_secs_f64()) as usize;
            let sample = self.samples.get(index).or(self.samples.last());
            sample.and_then(|sample| sample.delivered.get(flow)).copied().unwrap_or_default()
        };
        (bytes(to) - bytes(from)) as f64 * 8.0 / (to - from) / 1e6
    }

    /// Returns the round-trip times of packets that were sent between two times and came back, in milliseconds, shortest first.
    pub fn trips(&self, source: usize, from: f64, to: f64) -> Vec<f64> {
        let trips = self.echoes.get(source).into_iter().flatten();
        let chosen = trips.filter(|trip| (from..to).contains(&trip.at));
        let mut times: Vec<f64> = chosen.filter_map(|trip| trip.took_ms).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Returns the bytes that were given to all links, in both directions, frames of sessions included.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// Returns the number of packets that links have lost or whose queues were full, from senders of data to their receivers.
    pub fn lost_in_links(&self) -> u64 {
        let last = self.samples.last().into_iter().flat_map(|sample| &sample.links);
        last.map(|link| link.counters.lost.packets + link.counters.queue_full.packets).sum()
    }

    /// Returns a table of comma-separated values with a row for each 100 ms.
    pub fn csv(&self) -> String {
        let mut text = String::from("seconds");
        if let Some(first) = self.samples.first() {
            for flow in 0..first.delivered.len() {
                let _ = write!(text, ",flow{flow}_mbit,flow{flow}_window");
            }
            for link in 0..first.links.len() {
                for what in ["bytes", "queue_ms", "queue_drops", "losses"] {
                    let _ = write!(text, ",link{link}_{what}");
                }
            }
        }
        for source in 0..self.echoes.len() {
            let _ = write!(text, ",echo{source}_ms");
        }
        text.push_str(",tunnel_queue_packets,reordering_packets\n");
        for pair in self.samples.iter().step_by(ROW).collect::<Vec<_>>().windows(2) {
            self.row(pair[0], pair[1], &mut text);
        }
        text
    }

    fn row(&self, before: &Sample, sample: &Sample, text: &mut String) {
        let elapsed = sample.at - before.at;
        let _ = write!(text, "{:.1}", sample.at);
        for (flow, delivered) in sample.delivered.iter().enumerate() {
            let bytes = delivered - before.delivered[flow];
            let rate = bytes as f64 * 8.0 / elapsed / 1e6;
            let _ = write!(text, ",{rate:.2},{:.0}", sample.windows[flow]);
        }
        for (link, past) in sample.links.iter().zip(&before.links) {
            let Counters { offered, queue_full, lost, .. } = link.counters;
            let taken = offered.bytes - queue_full.bytes;
            let bytes = taken - (past.counters.offered.bytes - past.counters.queue_full.bytes);
            let queue = link.queue.as_secs_f64() * 1e3;
            let drops = queue_full.packets - past.counters.queue_full.packets;
            let losses = lost.packets - past.counters.lost.packets;
            let _ = write!(text, ",{bytes},{queue:.2},{drops},{losses}");
        }
        for source in 0..self.echoes.len() {
            let trips = self.trips(source, before.at, sample.at);
            let longest = trips.last().map_or_else(String::new, |time| format!("{time:.1}"));
            let _ = write!(text, ",{longest}");
        }
        let _ = writeln!(text, ",{},{}", sample.queued, sample.reordering);
    }
}

/// A recorder of samples.
pub(in crate::tunnel) struct Recorder {
    begin: Time,
    next: Time,
    samples: Vec<Sample>,
}

impl Recorder {
    /// Returns a recorder that begins at `begin`.
    pub(in crate::tunnel) fn new(begin: Time) -> Self {
        Self { begin, next: begin, samples: Vec::new() }
    }

    /// Takes the samples that are due by `until`, before which nothing more will happen.
    pub(in crate::tunnel) fn record_until(&mut self, until: Time, world: &mut World) {
        while self.next <= until {
            self.samples.push(self.sample(world));
            self.next = self.next + STEP;
        }
    }

    fn sample(&self, world: &mut World) -> Sample {
        let links = 0..world.network.links() / 2;
        let links = links.map(|link| {
            let Route { forward, .. } = Route::over(2 * link, 2 * link + 1);
            let counters = world.counters(forward);
            LinkSample { counters, queue: world.backlog(self.next, forward) }
        });
        let links = links.collect();
        let ends = || world.tunnels.iter().flat_map(|tunnel| &tunnel.ends);
        Sample {
            at: (self.next - self.begin).as_secs_f64(),
            delivered: world.flows.iter().map(|flow| flow.delivered()).collect(),
            windows: world.flows.iter().map(|it| it.sender.subflow().window()).collect(),
            links,
            queued: ends().map(|end| end.queued()).sum(),
            reordering: ends().map(|end| end.waiting()).sum(),
        }
    }

    /// Returns the record.
    pub(in crate::tunnel) fn finish(self, world: &mut World) -> Record {
        let begin = self.begin.as_secs_f64();
        let trips = |trips: &[(Time, Option<Duration>)]| {
            let trip = |&(sent, took): &(Time, Option<Duration>)| Trip {
                at: sent.as_secs_f64() - begin,
                took_ms: took.map(|took| took.as_secs_f64() * 1e3),
            };
            trips.iter().map(trip).collect()
        };
        let ends = || world.tunnels.iter().flat_map(|tunnel| &tunnel.ends);
        Record {
            samples: self.samples,
            echoes: world.echoes.iter().map(|echoes| trips(&echoes.trips)).collect(),
            streams: world
                .streams
                .iter()
                .map(|it| it.trips.each_ref().map(|it| trips(it)))
                .collect(),
            corrected: world
                .tunnels
                .iter()
                .map(|it| it.ends.each_ref().map(End::corrected))
                .collect(),
            offered: world.offered(),
            repairs: ends()
                .filter(|end| end.side() == 0)
                .fold(RepairCounters::default(), |sum, end| end.add_repairs(sum)),
            flows: world.flows.iter().map(|it| *it.sender.subflow().counters()).collect(),
            refused: ends().map(|end| end.refused()).sum(),
            events: world.events.handled(),
            trace: world.events.trace(),
        }
    }
}
