//! The single link that replaces several.

use std::time::Duration;

use mpt_link::{Bitrate, ByteCount, Distribution, Loss, Params, QueueLimit};

use super::FULL_PACKET;
use super::wire::Wire;

/// Returns the sum of several wires. `packet` is the length in bytes of the packets whose time of
/// transmission counts.
pub(super) fn sum(wires: &[&Wire], packet: u64) -> Result<Wire, String> {
    if wires.iter().any(|wire| !wire.schedule.is_empty()) {
        return Err("links that change in time have no sum".into());
    }
    if wires.iter().any(|wire| wire.fair) {
        return Err("links that serve flows in turns have no sum".into());
    }
    let rates: Option<Vec<f64>> = (wires.iter())
        .map(|wire| wire.params.rate.map(|rate| rate.bits_per_second() as f64))
        .collect();
    let rates = rates.ok_or("links without a rate have no sum")?;
    let total: f64 = rates.iter().sum();
    let loss: f64 =
        wires.iter().zip(&rates).map(|(w, rate)| w.params.loss.mean().value() * rate / total).sum();
    // Bursty links of equal character stay that; a mixture is independent loss of the same mean.
    let loss = match wires.iter().all(|wire| wire.params.loss == wires[0].params.loss) {
        true => wires[0].params.loss,
        false => mpt_link::Probability::new(loss).map_or(Loss::None, Loss::Bernoulli),
    };
    let width = |wire: &&&Wire| match wire.params.jitter.map(|jitter| jitter.distribution) {
        None => Duration::ZERO,
        Some(Distribution::Uniform { half_width }) => half_width,
        Some(Distribution::Normal { deviation }) => deviation,
    };
    let most = wires.iter().max_by_key(width).ok_or("no links have no sum")?;
    let params = Params {
        rate: Bitrate::new(total as u64),
        queue: summed_queue(wires),
        mark_above: most.params.mark_above,
        slot: most.params.slot,
        delay: longest_way(wires, &rates, packet).saturating_sub(transmission(packet, total)),
        jitter: most.params.jitter,
        keep_order: most.params.keep_order,
        loss,
        duplication: most.params.duplication,
    };
    Ok(Wire { params, ..Wire::default() })
}

/// The longest time from the beginning of a packet's transmission to its arrival.
fn longest_way(wires: &[&Wire], rates: &[f64], packet: u64) -> Duration {
    let way = |(wire, &rate): (&&Wire, &f64)| wire.params.delay + transmission(packet, rate);
    wires.iter().zip(rates).map(way).max().unwrap_or_default()
}

/// Returns how long a packet of that many bytes takes to be transmitted at a rate in bit/s.
fn transmission(packet: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(packet as f64 * 8.0 / rate)
}

/// Returns the sum of queue limits. Limits of one kind are added (of times, the longest counts);
/// limits of several kinds are added as bytes.
fn summed_queue(wires: &[&Wire]) -> QueueLimit {
    let limits = wires.iter().map(|wire| wire.params.queue);
    let same = limits.clone().reduce(|sum, limit| match (sum, limit) {
        (QueueLimit::Packets(a), QueueLimit::Packets(b)) => QueueLimit::Packets(a + b),
        (QueueLimit::Bytes(a), QueueLimit::Bytes(b)) => QueueLimit::Bytes(ByteCount(a.0 + b.0)),
        (QueueLimit::Time(a), QueueLimit::Time(b)) => QueueLimit::Time(a.max(b)),
        _ => QueueLimit::Unlimited,
    });
    if let Some(limit) = same
        && limit != QueueLimit::Unlimited
    {
        return limit;
    }
    let bytes = wires.iter().map(|wire| match wire.params.queue {
        QueueLimit::Unlimited => None,
        QueueLimit::Packets(packets) => Some(packets as u64 * FULL_PACKET),
        QueueLimit::Bytes(bytes) => Some(bytes.0),
        QueueLimit::Time(time) => {
            let rate = wire.params.rate?.bits_per_second() as f64;
            Some((time.as_secs_f64() * rate / 8.0) as u64)
        }
    });
    let bytes: Option<u64> = bytes.sum();
    bytes.map_or(QueueLimit::Unlimited, |bytes| QueueLimit::Bytes(ByteCount(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(queue: QueueLimit, megabits: u64) -> Wire {
        let rate = Bitrate::from_megabits(megabits);
        Wire { params: Params { rate, queue, ..Params::default() }, ..Wire::default() }
    }

    #[test]
    fn queues_of_different_kinds_are_summed_as_bytes() {
        let time = limited(QueueLimit::Time(Duration::from_millis(400)), 10);
        let packets = limited(QueueLimit::Packets(1000), 100);
        let bytes = ByteCount(500_000 + 1_500_000);
        assert_eq!(summed_queue(&[&time, &packets]), QueueLimit::Bytes(bytes));
        assert_eq!(summed_queue(&[&time, &time]), time.params.queue);
        assert_eq!(summed_queue(&[&packets, &packets]), QueueLimit::Packets(2000));
    }

    #[test]
    fn the_sum_has_the_average_loss_by_rate() {
        let mut lossy = limited(QueueLimit::Packets(100), 10);
        let probability = mpt_link::Probability::new(0.11).unwrap();
        lossy.params.loss = Loss::Bernoulli(probability);
        lossy.params.delay = Duration::from_millis(10);
        let clean = limited(QueueLimit::Packets(1000), 100);
        let sum = sum(&[&lossy, &clean], 0).unwrap();
        assert!((sum.params.loss.mean().value() - 0.01).abs() < 1e-12);
        assert_eq!(sum.params.rate, Bitrate::from_megabits(110));
        assert_eq!(sum.params.delay, Duration::from_millis(10));
    }

    #[test]
    fn the_sum_takes_as_long_for_a_packet_as_the_slowest_link() {
        let slow = limited(QueueLimit::Packets(100), 10);
        let mut fast = limited(QueueLimit::Packets(100), 30);
        fast.params.delay = Duration::from_micros(100);
        let sum = sum(&[&slow, &fast], FULL_PACKET).unwrap();
        // 1,200 us at 10 Mbit/s, 300 of which it takes at 40 Mbit/s.
        assert_eq!(sum.params.delay, Duration::from_micros(900));
    }
}
