//! The outcome of a run: its figures, their course over time, and the waiting times of its packets.

pub(super) mod record;
pub(super) mod waits;

use mpt_core::Connection;
use mpt_core::reorder::Counters;
use serde::{Deserialize, Serialize};

use crate::reordering::Reordering;
use crate::study::State;

use super::end::End;
use super::world::{RECEIVER, World};

/// The outcome of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// [`State::TimeOver`], as it should be; [`State::NoProgress`] where nothing was delivered after the transient.
    pub state: State,
    /// Capacity of the paths for TCP payload, in Mbit/s.
    pub capacity: f64,
    /// TCP payload delivered, in Mbit/s: over the whole run.
    pub goodput: f64,
    /// TCP payload delivered, in Mbit/s, from [`Case::settled_from`](super::Case::settled_from) on.
    pub settled: f64,
    /// Time that packets with data were held or waited in the receive window, in milliseconds: median.
    pub wait_p50_ms: f64,
    /// Time that 99 % of packets with data did not exceed in the receive window, in milliseconds.
    pub wait_p99_ms: f64,
    /// Longest time that a packet with data was held or waited in the receive window, in milliseconds.
    pub wait_most_ms: f64,
    /// Packets with data that came out of the paths.
    pub packets: u64,
    /// Packets with data that came after their numbers had been given up.
    pub late: u64,
    /// Late packets that were dropped.
    pub late_dropped: u64,
    /// Numbers given up because evidence showed that they are lost.
    pub lost: u64,
    /// Numbers given up because a packet had waited the maximum delay.
    pub expired: u64,
    /// Numbers given up because the window was full.
    pub skipped: u64,
    /// Occupancy of the receive window.
    pub occupancy: Occupancy,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Segments that TCP sent again although they had not been lost.
    pub needless: u64,
    /// Losses that TCP detected by acknowledgements.
    pub recoveries: u64,
    /// Responses to congestion that TCP took back.
    pub undone: u64,
    /// Time-outs of TCP.
    pub timeouts: u64,
    /// Packets dropped by queues, there and back.
    pub queue_drops: u64,
    /// Packets that the tunnel did not take, there and back, since all paths were down.
    #[serde(default)]
    pub refused: u64,
    /// Events of the run.
    pub events: u64,
    /// Hash of its trace: equal for equal runs.
    pub trace: u64,
}

/// Number of waiting packets at the arrival of a packet with data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// The median.
    pub p50: usize,
    /// The number that 99 % of the packets found, or made it, or fewer.
    pub p99: usize,
    /// The most.
    pub most: usize,
    /// Share of arrivals after which 0, 1, ... packets waited: RBD (RFC 5236, section 5). Not in files: it is long.
    #[serde(skip)]
    pub density: Vec<f64>,
}

/// Rates in Mbit/s.
pub(super) struct Rates {
    pub(super) capacity: f64,
    pub(super) goodput: f64,
    pub(super) settled: f64,
}

impl Outcome {
    /// Returns the outcome of the first flow and the first tunnel.
    pub(super) fn of(world: &World, Rates { capacity, goodput, settled }: Rates) -> Self {
        let (tunnel, flow) = (&world.tunnels[0], &world.flows[0]);
        let reorder = tunnel.ends[RECEIVER].connection().and_then(Connection::reorder);
        let counters = reorder.map_or_else(Counters::default, |it| *it.counters());
        let waiting = tunnel.ends[RECEIVER].waiting() as u64;
        // Every packet that has come is delivered, or waits, or is counted as dropped.
        let ended = tunnel.delivered + waiting + counters.duplicate + counters.dropped;
        assert_eq!(ended, tunnel.arrived, "packets are gone, or come from nowhere");
        let milliseconds = |quantile| tunnel.waits.quantile(quantile).as_secs_f64() * 1e3;
        let tcp = flow.sender.subflow().counters();
        let links = tunnel.routes.iter().flat_map(|it| [it.forward, it.backward]);
        Outcome {
            state: if settled > 0.0 { State::TimeOver } else { State::NoProgress },
            capacity,
            goodput,
            settled,
            wait_p50_ms: milliseconds(0.5),
            wait_p99_ms: milliseconds(0.99),
            wait_most_ms: milliseconds(1.0),
            packets: tunnel.arrived,
            late: counters.late,
            late_dropped: counters.dropped,
            lost: counters.lost,
            expired: counters.expired,
            skipped: counters.skipped,
            occupancy: Occupancy::of(&tunnel.occupancy),
            retransmissions: tcp.retransmitted,
            needless: tcp.not_needed,
            recoveries: tcp.recoveries,
            undone: tcp.undone,
            timeouts: tcp.timeouts,
            queue_drops: links.map(|it| world.network.counters(it).queue_full.packets).sum(),
            refused: tunnel.ends.iter().map(End::refused).sum(),
            events: world.events.handled(),
            trace: world.events.trace(),
        }
    }
}

impl Occupancy {
    fn of(counted: &Reordering) -> Self {
        let all: u64 = counted.density.iter().sum();
        let quantile = |share: f64| {
            let rank = libm::ceil(all as f64 * share) as u64;
            let mut below = 0;
            let reached = counted.density.iter().position(|count| {
                below += count;
                below >= rank
            });
            reached.unwrap_or(0)
        };
        let density = if all == 0 { Vec::new() } else { counted.shares() };
        Self { p50: quantile(0.5), p99: quantile(0.99), most: counted.most, density }
    }
}
