//! A stream of numbered datagrams at regular intervals, as of a video call (RTP, RFC 3550, without its header), from host a to
//! host b, or both ways.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Ends, Outcome, Running};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::traffic::datagrams::{Arrival, Arrivals, Pace, Plan, Receiver, Stream};
use mpt_report::statistics::percentile;

/// The longest time that what is on its way may take after the last datagram was sent.
const DRAIN: Duration = Duration::from_secs(1);

/// The properties of a stream, as in [`Traffic::Rtp`](crate::experiments::case::Traffic::Rtp).
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) rate: u64,
    pub(super) size: u16,
    pub(super) duration: Duration,
    pub(super) both_ways: bool,
    pub(super) dscp: Option<u8>,
}

/// Receivers that wait: at host b, and at host a for the way back.
#[derive(Debug)]
pub(super) struct Ready {
    size: usize,
    forward: Receiver,
    backward: Option<Receiver>,
}

#[derive(Debug)]
struct Streaming {
    size: usize,
    streams: Vec<Stream>,
}

impl Ready {
    pub(super) fn new(call: Call, ends: Ends<'_>) -> Result<Self> {
        let Call { rate, size, duration, both_ways, dscp } = call;
        let size = usize::from(size);
        ensure!(rate > 0, "a stream of 0 bit/s");
        let interval = Duration::from_secs_f64(size as f64 * 8.0 / rate as f64);
        ensure!(!interval.is_zero(), "a stream of {rate} bit/s in datagrams of {size} bytes");
        let count = (duration.as_secs_f64() / interval.as_secs_f64()).round() as u64;
        let pace = Pace::Every(interval);
        let plan = Plan { size, pace, count: Some(count), batches: false, dscp: dscp.unwrap_or(0) };
        let forward = Receiver::start(ends.b, SocketAddr::new(ends.to, 0), plan)?;
        let back = || Receiver::start(ends.a, SocketAddr::new(ends.from, 0), plan);
        Ok(Self { size, forward, backward: both_ways.then(back).transpose()? })
    }
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { size, forward, backward } = *self;
        let mut streams = vec![forward.send(ends.a, SocketAddr::new(ends.from, 0))?];
        if let Some(backward) = backward {
            streams.push(backward.send(ends.b, SocketAddr::new(ends.to, 0))?);
        }
        Ok(Box::new(Streaming { size, streams }))
    }
}

impl Running for Streaming {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.streams.iter().all(Stream::is_sent))
    }

    fn processes(&self) -> Vec<Watched> {
        Vec::new()
    }

    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        let Self { size, streams } = *self;
        interrupt.sleep(DRAIN)?;
        let ways = streams.into_iter().map(|stream| stream.finish(Duration::ZERO));
        outcome(&ways.collect::<Result<Vec<_>>>()?, size)
    }

    fn is_silent_about_tcp(&self) -> bool {
        false
    }
}

/// Returns the figures of both ways together; the series and the goodput are those of the way from a to b, which is the first.
fn outcome(ways: &[Arrivals], size: usize) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut all = Vec::new();
    let sent: u64 = ways.iter().map(|way| way.sent).sum();
    let (mut gap, mut variations) = (0.0_f64, Vec::new());
    for way in ways {
        let mut first = way.distinct();
        ensure!(!first.is_empty(), "none of {} datagrams arrived", way.sent);
        let gaps = first.windows(2).map(|pair| pair[1].at.millis_since(pair[0].at));
        // A stream that ends before its sender does has a gap at its end.
        let last = way.ended.millis_since(first[first.len() - 1].at);
        gap = gaps.chain([last]).fold(gap, f64::max);
        first.sort_by_key(|arrival| arrival.number);
        variations.extend(analysis::jitter(first.iter().map(Arrival::delay)));
        all.push(first);
    }
    let lost: u64 = ways.iter().map(Arrivals::lost).sum();
    outcome.metric(metric::LOSS, Some(100.0 * lost as f64 / sent.max(1) as f64));
    let reordered: u64 = ways.iter().map(Arrivals::reordered).sum();
    let arrived: usize = all.iter().map(Vec::len).sum();
    outcome.metric(metric::REORDERED, Some(100.0 * reordered as f64 / arrived as f64));
    outcome.metric(metric::LONGEST_GAP, Some(gap));
    outcome.metric(metric::JITTER, Some(analysis::mean(&variations)));
    let mut delays: Vec<f64> = all.iter().flatten().map(Arrival::delay).collect();
    delays.sort_by(f64::total_cmp);
    outcome.metric(metric::DELAY_P50, Some(percentile(&delays, 50.0)));
    outcome.metric(metric::DELAY_P99, Some(percentile(&delays, 99.0)));
    if let (Some(way), Some(first)) = (ways.first(), all.first()) {
        over_time(&mut outcome, way, first, size);
    }
    Ok(outcome)
}

fn over_time(outcome: &mut Outcome, way: &Arrivals, arrivals: &[Arrival], size: usize) {
    let step = analysis::STEP.as_secs_f64() * 1e3;
    let milliseconds = way.ended.millis_since(way.began).max(f64::MIN_POSITIVE);
    let steps = (milliseconds / step) as usize;
    let mut bytes = vec![0.0; steps];
    let mut delays = vec![Vec::new(); steps];
    for arrival in arrivals {
        let bin = (arrival.at.millis_since(way.began).max(0.0) / step) as usize;
        if let (Some(bytes), Some(delays)) = (bytes.get_mut(bin), delays.get_mut(bin)) {
            *bytes += size as f64;
            delays.push(arrival.delay());
        }
    }
    let rate = arrivals.len() as f64 * size as f64 * 8.0 / 1e6 / (milliseconds / 1e3);
    outcome.metric(metric::GOODPUT, Some(rate));
    outcome.goodput(&bytes);
    outcome.series("delay", "ms", delays.iter().map(|delays| analysis::mean(delays)).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Moment;

    const MS: u64 = 1_000_000;

    fn way(sent: u64, arrivals: &[(u64, u64)]) -> Arrivals {
        let arrival = |&(number, delay): &(u64, u64)| {
            let sent = Moment(1_000 * MS + number * 10 * MS);
            Arrival { number, sent, at: sent.after(Duration::from_millis(delay)) }
        };
        let arrivals = arrivals.iter().map(arrival).collect();
        Arrivals { sent, arrivals, began: Moment(1_000 * MS), ended: Moment(1_070 * MS) }
    }

    #[test]
    fn loss_order_gaps_and_jitter_are_counted() {
        // 2 is overtaken by 3, 3 comes twice, 4 and 5 are lost.
        let way = way(7, &[(0, 5), (1, 5), (3, 5), (2, 17), (3, 15), (6, 5)]);
        let outcome = outcome(&[way], 100).unwrap();
        let value = |name: &str| outcome.metrics[name];
        assert!((value(metric::LOSS) - 200.0 / 7.0).abs() < 1e-9);
        assert_eq!(value(metric::REORDERED), 20.0);
        assert_eq!(value(metric::LONGEST_GAP), 28.0);
        // Delays by number: 5, 5, 17, 5, 5.
        assert_eq!(value(metric::JITTER), 6.0);
        assert_eq!((value(metric::DELAY_P50), value(metric::DELAY_P99)), (5.0, 17.0));
    }

    #[test]
    fn both_ways_count_alike() {
        let ways = [way(3, &[(0, 5), (1, 5)]), way(3, &[(0, 7), (1, 7), (2, 7)])];
        let outcome = outcome(&ways, 100).unwrap();
        assert!((outcome.metrics[metric::LOSS] - 100.0 / 6.0).abs() < 1e-9);
        assert_eq!(outcome.metrics[metric::DELAY_P99], 7.0);
        assert_eq!(outcome.metrics[metric::JITTER], 0.0);
    }

    #[test]
    fn silence_is_no_result() {
        assert!(outcome(&[way(7, &[])], 100).is_err());
    }
}
