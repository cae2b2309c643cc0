//! Echo requests beside the traffic.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::latency::{self, Names, Sample};
use super::{Companion, Window};
use crate::case::metric;
use crate::case::traffic::{Ends, GRACE, Outcome};
use crate::interrupt::Interrupt;
use crate::process::Talking;
use crate::traffic::Moment;

/// Seconds that an answer may take.
const PATIENCE: &str = "3";

/// A `ping` that runs until the traffic is over.
#[derive(Debug)]
pub(super) struct Pinging {
    ping: Talking,
    began: Moment,
    interval: Duration,
    count: u32,
}

impl Pinging {
    pub(super) fn start(interval: Duration, whole: Duration, ends: Ends<'_>) -> Result<Self> {
        let count = (whole.as_secs_f64() / interval.as_secs_f64()).ceil() as u32;
        let mut command = Command::new("ping");
        command.args(["-n", "-D", "-i", &interval.as_secs_f64().to_string(), "-W", PATIENCE]);
        command.args(["-c", &count.to_string(), &ends.to.to_string()]);
        // The decimal point is a comma elsewhere.
        command.env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Moment::now();
        Ok(Self { ping: Talking::new(ends.a.spawn_child(command)?), began, interval, count })
    }
}

impl Companion for Pinging {
    fn finish(
        self: Box<Self>,
        window: &Window,
        outcome: &mut Outcome,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Self { ping, began, interval, count } = *self;
        let finished = ping.finish(GRACE, interrupt).context("ping beside the traffic")?;
        // Requests without an answer have no line: they are taken to have been sent when they were due.
        let due = |number: u32| window.seconds(began.after(interval * number));
        let mut samples: Vec<Sample> =
            (0..count).map(|number| Sample { at: due(number), time: None }).collect();
        for (number, at, time) in finished.stdout.lines().filter_map(reply) {
            let place = number.checked_sub(1).and_then(|it| samples.get_mut(it as usize));
            if let Some(sample) = place.filter(|sample| sample.time.is_none()) {
                *sample = Sample { at: window.seconds(at) - time / 1e3, time: Some(time) };
            }
        }
        let names = Names {
            series: "ping",
            idle: metric::PING_IDLE,
            p50: metric::PING_P50,
            p95: metric::PING_P95,
            p50_added: metric::PING_P50_ADDED,
            p95_added: metric::PING_P95_ADDED,
            lost: metric::PING_LOST,
        };
        latency::add(&samples, names, window, outcome);
        Ok(())
    }
}

/// Number, moment and milliseconds of "[1700000000.123456] 64 bytes from 10.9.0.2: icmp_seq=17 ttl=64 time=0.033 ms".
fn reply(line: &str) -> Option<(u32, Moment, f64)> {
    let (seconds, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = seconds.split_once('.')?;
    let nanoseconds: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let at = Moment(seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + nanoseconds);
    let word = |name: &str| rest.split_once(name)?.1.split_ascii_whitespace().next();
    Some((word("icmp_seq=")?.parse().ok()?, at, word("time=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_a_number_a_moment_and_a_time() {
        let line = "[1700000000.123456] 64 bytes from 10.9.0.2: icmp_seq=17 ttl=64 time=0.033 ms";
        assert_eq!(reply(line), Some((17, Moment(1_700_000_000_123_456_000), 0.033)));
        let others = [
            "PING 10.9.0.2 (10.9.0.2) 56(84) bytes of data.",
            "[1700000000.5] From 10.9.0.1 icmp_seq=3 Destination Host Unreachable",
            "3 packets transmitted, 3 received, 0% packet loss, time 305ms",
            "",
        ];
        assert!(others.iter().all(|line| reply(line).is_none()));
    }
}
