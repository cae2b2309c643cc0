//! Parameters of a link as arguments of `tc qdisc`, see tc-tbf(8) and tc-netem(8).

use std::time::Duration;

use mpt_link::{Distribution, Jitter, Loss, Params, Probability, QueueLimit};

/// Limit in packets of queues other than the one asked for, which may not lose any.
const ENDLESS_PACKETS: &str = "1000000";
/// Limit in bytes of queues other than the one asked for, which may not lose any.
const ENDLESS_BYTES: &str = "1000000000";
/// Time whose data a bucket holds: long enough for the kernel's timers, short enough not to be a burst.
const BUCKET: Duration = Duration::from_micros(250);
/// The smallest bucket, in bytes: 32 kbit, as everywhere in this laboratory.
const SMALLEST_BUCKET: u64 = 4000;

/// Returns the commands for rate and queue: a token bucket filter as the root of `device`, and the queue inside where it is limited in packets. There
/// are none without a rate.
pub(super) fn token_bucket(device: &str, params: &Params, mtu: u16) -> Vec<Vec<String>> {
    let Some(rate) = params.rate else { return Vec::new() };
    let rate = rate.bits_per_second();
    let filled = u128::from(rate) * BUCKET.as_nanos() / 8 / 1_000_000_000;
    let frame = u64::from(mtu) + 14;
    let bucket = u64::try_from(filled).unwrap_or(u64::MAX).max(SMALLEST_BUCKET).max(frame);
    let mut root = words(&["replace", "dev", device, "root", "handle", "1:", "tbf"]);
    root.extend(words(&["rate", &format!("{rate}bit"), "burst", &bucket.to_string()]));
    let mut commands = Vec::new();
    match params.queue {
        QueueLimit::Time(time) => {
            // 0 is no time to tc.
            root.extend(words(&["latency", &format!("{}us", time.as_micros().max(1))]));
        }
        QueueLimit::Bytes(bytes) => {
            // The frame in transmission waits in the queue, too.
            root.extend(words(&["limit", &bytes.0.saturating_add(frame).to_string()]));
        }
        QueueLimit::Unlimited => root.extend(words(&["limit", ENDLESS_BYTES])),
        QueueLimit::Packets(packets) => {
            root.extend(words(&["limit", ENDLESS_BYTES]));
            let mut queue = words(&["replace", "dev", device, "parent", "1:1", "handle", "10:"]);
            queue.extend(words(&["pfifo", "limit", &packets.saturating_add(1).to_string()]));
            commands.push(queue);
        }
    }
    commands.insert(0, root);
    commands
}

/// Returns the commands for delay, jitter, loss and duplication: a `netem` as the root of `device`, with a queue inside that keeps the order where
/// that is asked for. There are none for a perfect wire.
pub(super) fn netem(device: &str, params: &Params) -> Vec<Vec<String>> {
    if !needs_netem(params) {
        return Vec::new();
    }
    let mut root = words(&["replace", "dev", device, "root", "handle", "1:", "netem"]);
    root.extend(words(&["limit", ENDLESS_PACKETS, "delay", &microseconds(params.delay)]));
    match params.jitter.map(|Jitter { distribution, .. }| distribution) {
        None => {}
        Some(Distribution::Uniform { half_width }) => root.push(microseconds(half_width)),
        Some(Distribution::Normal { deviation }) => {
            root.extend(words(&[&microseconds(deviation), "distribution", "normal"]));
        }
    }
    match params.loss {
        Loss::None => {}
        Loss::Bernoulli(probability) => {
            root.extend(words(&["loss", "random", &percent(probability)]));
        }
        Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
            root.extend(words(&["loss", "gemodel"]));
            root.extend([to_bad, to_good, loss_bad, loss_good].map(percent));
        }
    }
    if params.duplication != Probability::ZERO {
        root.extend(words(&["duplicate", &percent(params.duplication)]));
    }
    let mut commands = vec![root];
    if params.keep_order && params.jitter.is_some() {
        // The usual one is sorted by the time at which packets are to be sent.
        let mut queue = words(&["replace", "dev", device, "parent", "1:1", "handle", "10:"]);
        queue.extend(words(&["pfifo", "limit", ENDLESS_PACKETS]));
        commands.push(queue);
    }
    commands
}

/// True if a wire is anything but perfect.
pub(super) fn needs_netem(params: &Params) -> bool {
    params.delay > Duration::ZERO
        || params.jitter.is_some()
        || params.loss != Loss::None
        || params.duplication != Probability::ZERO
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn microseconds(time: Duration) -> String {
    format!("{:.3}us", time.as_nanos() as f64 / 1e3)
}

fn percent(probability: Probability) -> String {
    format!("{}%", probability.value() * 100.0)
}

#[cfg(test)]
mod tests {
    use mpt_link::{Bitrate, ByteCount, Redraw};

    use super::*;

    fn text(commands: &[Vec<String>]) -> String {
        commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn rates_and_queues() {
        let filter = |rate, queue| {
            let params = Params { rate: Bitrate::new(rate), queue, ..Params::default() };
            text(&token_bucket("x0", &params, 1500))
        };
        assert_eq!(filter(0, QueueLimit::Unlimited), "", "no limit");
        assert_eq!(
            filter(100_000_000, QueueLimit::Time(Duration::from_millis(20))),
            "replace dev x0 root handle 1: tbf rate 100000000bit burst 4000 latency 20000us"
        );
        assert_eq!(
            filter(1_000_000_000, QueueLimit::Bytes(ByteCount(100_000))),
            "replace dev x0 root handle 1: tbf rate 1000000000bit burst 31250 limit 101514"
        );
        assert_eq!(
            filter(1, QueueLimit::Unlimited),
            "replace dev x0 root handle 1: tbf rate 1bit burst 4000 limit 1000000000"
        );
        assert_eq!(
            filter(1_000_000, QueueLimit::Packets(50)),
            "replace dev x0 root handle 1: tbf rate 1000000bit burst 4000 limit 1000000000\n\
             replace dev x0 parent 1:1 handle 10: pfifo limit 51"
        );
    }

    #[test]
    fn wires() {
        let wire = |params: Params| text(&netem("b0", &params));
        assert_eq!(wire(Params { rate: Bitrate::new(1), ..Params::default() }), "");
        let probability = |value| Probability::new(value).unwrap();
        let normal = Distribution::Normal { deviation: Duration::from_millis(1) };
        let uniform = Distribution::Uniform { half_width: Duration::from_millis(2) };
        let jitter = |distribution| Some(Jitter { distribution, redraw: Redraw::EveryPacket });
        let delay = Duration::from_micros(10_001);
        let start = "replace dev b0 root handle 1: netem limit 1000000 delay";
        assert_eq!(
            wire(Params { delay, jitter: jitter(uniform), ..Params::default() }),
            format!("{start} 10001.000us 2000.000us")
        );
        assert_eq!(
            wire(Params { delay, jitter: jitter(normal), keep_order: true, ..Params::default() }),
            format!(
                "{start} 10001.000us 1000.000us distribution normal\n\
                 replace dev b0 parent 1:1 handle 10: pfifo limit 1000000"
            )
        );
        let duplication = probability(0.001);
        let loss = Loss::Bernoulli(probability(0.01));
        assert_eq!(
            wire(Params { loss, duplication, ..Params::default() }),
            format!("{start} 0.000us loss random 1% duplicate 0.1%")
        );
        let loss = Loss::GilbertElliott {
            to_bad: probability(0.01),
            to_good: probability(0.25),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        };
        assert_eq!(
            wire(Params { loss, ..Params::default() }),
            format!("{start} 0.000us loss gemodel 1% 25% 100% 0%")
        );
    }
}
