//! Echo requests by `ping`.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Ends, GRACE, Outcome, Running};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::processes::Talking;
use crate::traffic::ping::{self, Reply};

/// The time that the last answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ping needs no server.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) count: u32,
    pub(super) interval: Duration,
}

#[derive(Debug)]
struct Pinging {
    ping: Talking,
    count: u32,
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { count, interval } = *self;
        let command = ping::command(ends.to, count, interval, PATIENCE);
        let ping = Talking::new(ends.a.spawn_child(command)?);
        Ok(Box::new(Pinging { ping, count }))
    }
}

impl Running for Pinging {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.ping.ended()?.is_some())
    }

    fn processes(&self) -> Vec<Watched> {
        Vec::new()
    }

    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        let Self { ping, count } = *self;
        let finished = ping.finish(GRACE, interrupt).context("ping")?;
        let times = replies(&finished.stdout);
        if times.is_empty() {
            bail!("ping: no reply; {}", finished.stderr.trim());
        }
        Ok(outcome(&times, count))
    }

    fn is_silent_about_tcp(&self) -> bool {
        false
    }
}

/// Number of the request and milliseconds of each reply, in the order of the requests; of duplicates the first.
fn replies(output: &str) -> Vec<(u32, f64)> {
    let replies = output.lines().filter_map(Reply::read);
    let mut replies: Vec<(u32, f64)> = replies.map(|reply| (reply.number, reply.time)).collect();
    replies.sort_by_key(|&(number, _)| number);
    replies
}

fn outcome(replies: &[(u32, f64)], count: u32) -> Outcome {
    let times: Vec<f64> = replies.iter().map(|&(_, time)| time).collect();
    let mut outcome = Outcome::default();
    outcome.metric(metric::RTT_MIN, times.iter().copied().reduce(f64::min));
    outcome.metric(metric::RTT_AVG, Some(analysis::mean(&times)));
    outcome.metric(metric::RTT_MAX, times.iter().copied().reduce(f64::max));
    outcome.metric(metric::RTT_SD, Some(analysis::standard_deviation(&times)));
    outcome.metric(metric::JITTER, analysis::jitter(times.iter().copied()));
    let lost = 1.0 - replies.len() as f64 / f64::from(count.max(1));
    outcome.metric(metric::LOSS, Some(100.0 * lost));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_become_figures() {
        let output = "PING 10.9.0.2 (10.9.0.2) 56(84) bytes of data.\n\
            64 bytes from 10.9.0.2: icmp_seq=1 ttl=64 time=1.0 ms\n\
            64 bytes from 10.9.0.2: icmp_seq=3 ttl=64 time=5.00 ms\n\
            64 bytes from 10.9.0.2: icmp_seq=2 ttl=64 time=3.0 ms\n\
            64 bytes from 10.9.0.2: icmp_seq=2 ttl=64 time=30.0 ms (DUP!)\n\n\
            --- 10.9.0.2 ping statistics ---\n\
            4 packets transmitted, 3 received, +1 duplicates, 25% packet loss, time 305ms\n\
            rtt min/avg/max/mdev = 1.0/3.0/5.0/1.633 ms\n";
        let replies = replies(output);
        assert_eq!(replies, [(1, 1.0), (2, 3.0), (3, 5.0)]);
        let metrics = outcome(&replies, 4).metrics;
        let value = |name: &str| (metrics[name] * 1000.0).round() / 1000.0;
        assert_eq!(
            [value(metric::RTT_MIN), value(metric::RTT_AVG), value(metric::RTT_MAX)],
            [1.0, 3.0, 5.0]
        );
        assert_eq!(
            [value(metric::RTT_SD), value(metric::JITTER), value(metric::LOSS)],
            [1.633, 2.0, 25.0]
        );
    }

    #[test]
    fn silence_gives_no_replies() {
        assert!(replies("").is_empty());
    }
}
