//! The classification of flows that are not TCP: bulk flows keep their order, and the others are
//! wanted at once.

/// The number of large packets in a period that make a flow bulk.
const MANY: u32 = 20;
/// The period, in microseconds.
const PERIOD: i64 = 1_000_000;
/// The number of flows that are distinguished. Two flows that share a place count as one.
const PLACES: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// `None`: no flow has this place.
    tag: Option<u32>,
    /// The beginning of the present period, and the large packets since.
    began: i64,
    large: u32,
    bulk: bool,
}

/// The flows that were seen recently. Times are microseconds.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// The places of flows. There are none before the first packet.
    flows: Vec<Flow>,
}

impl Datagrams {
    /// Gives back the memory, so that no flow counts as bulk.
    pub(super) fn rest(&mut self) {
        self.flows = Vec::new();
    }

    /// Notes a packet of a flow. Returns true if the flow is bulk, which is so if it had many large
    /// packets in this period or the one before.
    pub(super) fn is_bulk(&mut self, now: i64, flow: u32, large: bool) -> bool {
        if self.flows.is_empty() {
            self.flows = vec![Flow::default(); PLACES];
        }
        let it = &mut self.flows[flow as usize % PLACES];
        if it.tag != Some(flow) || now - it.began > 2 * PERIOD {
            *it = Flow { tag: Some(flow), began: now, ..Flow::default() };
        } else if now - it.began > PERIOD {
            *it = Flow { began: now, large: 0, bulk: it.large >= MANY, ..*it };
        }
        it.large += u32::from(large);
        it.bulk |= it.large >= MANY;
        it.bulk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packets every `gap` microseconds for a while; returns true if the last one is of a bulk flow.
    fn after(flows: &mut Datagrams, start: i64, gap: i64, large: bool) -> bool {
        let times = (0..3_000_000 / gap).map(|n| start + n * gap);
        times.map(|now| flows.is_bulk(now, 7, large)).last().unwrap_or_default()
    }

    #[test]
    fn a_flow_is_bulk_while_it_has_many_large_packets() {
        let mut flows = Datagrams::default();
        assert!(!flows.is_bulk(0, 7, true), "one packet is no bulk");
        assert!(!after(&mut flows, 10_000, 5_000, false), "small packets, 200 per second");
        assert!(!after(&mut flows, 3_100_000, 100_000, true), "large packets, 10 per second");
        assert!(after(&mut flows, 6_200_000, 20_000, true), "large packets, 50 per second");
        assert!(!after(&mut flows, 9_300_000, 100_000, true), "it has become sparse");
    }

    #[test]
    fn a_flow_that_takes_the_place_of_another_begins_anew() {
        let mut flows = Datagrams::default();
        assert!(after(&mut flows, 0, 1_000, true));
        assert!(!flows.is_bulk(3_000_001, 7 + PLACES as u32, true));
    }
}
