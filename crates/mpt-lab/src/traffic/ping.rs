//! Round-trip times by ping.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::console::interrupt::Interrupt;
use crate::processes;
use crate::topology::Host;
use crate::traffic::Moment;
use mpt_report::statistics::percentile;

/// Time between two echo requests of [`ping`].
const INTERVAL: Duration = Duration::from_millis(10);

/// Returns the command that sends `count` echo requests, one every `interval`, and waits for the last reply for `patience`. Each reply
/// is told with the time at which it came.
pub(crate) fn command(to: IpAddr, count: u32, interval: Duration, patience: Duration) -> Command {
    let mut command = Command::new("ping");
    command.args(["-n", "-D", "-i", &interval.as_secs_f64().to_string()]);
    command.args(["-W", &patience.as_secs().to_string(), "-c", &count.to_string()]);
    command.arg(to.to_string());
    // In other locales the decimal point is a comma.
    command.env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Round-trip times of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundTrips {
    /// Times in milliseconds, ascending.
    sorted: Vec<f64>,
}

impl RoundTrips {
    /// The time that half of the replies took at most, in milliseconds.
    pub(crate) fn median(&self) -> f64 {
        percentile(&self.sorted, 50.0)
    }

    /// The time that 99 % of the replies took at most, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        percentile(&self.sorted, 99.0)
    }
}

/// Sends `count` echo requests, one every 10 ms, and waits for their replies.
pub(crate) fn ping(
    host: &Host,
    to: IpAddr,
    count: u32,
    interrupt: &Interrupt,
) -> Result<RoundTrips> {
    let command = command(to, count, INTERVAL, Duration::from_secs(1));
    let limit = INTERVAL * count + Duration::from_secs(20);
    let finished = processes::finish(host.spawn_child(command)?, limit, interrupt)
        .with_context(|| format!("ping {to}"))?;
    let times = parse(&finished.stdout);
    // One lost reply in a hundred means that the path is not idle, or not healthy.
    if times.sorted.len() < (count as usize * 99).div_ceil(100) {
        bail!(
            "ping {to}: {} of {count} replies; {}",
            times.sorted.len(),
            finished.stderr.lines().next().unwrap_or("no error shown")
        );
    }
    Ok(times)
}

/// Parses the round-trip times of all replies.
fn parse(output: &str) -> RoundTrips {
    let mut sorted: Vec<f64> =
        output.lines().filter_map(Reply::read).map(|reply| reply.time).collect();
    sorted.sort_by(f64::total_cmp);
    RoundTrips { sorted }
}

/// A reply as `ping` prints it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reply {
    /// Number of its request, from 1.
    pub(crate) number: u32,
    /// The time at which it came, where `ping` was asked to tell (`-D`).
    pub(crate) at: Option<Moment>,
    /// Time since its request, in milliseconds.
    pub(crate) time: f64,
}

impl Reply {
    /// Reads a line such as "64 bytes from 10.9.0.2: icmp_seq=17 ttl=64 time=0.033 ms", which may begin with
    /// "[1700000000.123456] ". `None` for others, and for duplicates.
    pub(crate) fn read(line: &str) -> Option<Self> {
        if line.contains("DUP!") {
            return None;
        }
        let word = |name: &str| line.split_once(name)?.1.split_ascii_whitespace().next();
        let (number, time) = (word("icmp_seq=")?.parse().ok()?, word("time=")?.parse().ok()?);
        Some(Self { number, at: moment(line), time })
    }
}

/// Parses "[1700000000.123456]": seconds since 1970.
fn moment(line: &str) -> Option<Moment> {
    let (seconds, _) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = seconds.split_once('.')?;
    let nanoseconds: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(Moment(seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_and_sorted() {
        let output = "PING 10.9.0.2 (10.9.0.2) 56(84) bytes of data.\n\
            64 bytes from 10.9.0.2: icmp_seq=1 ttl=64 time=0.033 ms\n\
            64 bytes from 10.9.0.2: icmp_seq=2 ttl=64 time=12.0 ms\n\
            64 bytes from 10.9.0.2: icmp_seq=2 ttl=64 time=13.0 ms (DUP!)\n\
            64 bytes from 10.9.0.2: icmp_seq=3 ttl=64 time=0.026 ms\n\n\
            --- 10.9.0.2 ping statistics ---\n\
            20 packets transmitted, 20 received, 0% packet loss, time 305ms\n\
            rtt min/avg/max/mdev = 0.020/0.043/0.316/0.063 ms\n";
        let times = parse(output);
        assert_eq!(times.sorted, [0.026, 0.033, 12.0]);
        assert_eq!(times.median(), 0.033);
        assert_eq!(times.p99(), 12.0);
    }

    #[test]
    fn replies_have_a_number_a_time_and_perhaps_a_moment() {
        let line = "64 bytes from 10.9.0.2: icmp_seq=17 ttl=64 time=0.033 ms";
        assert_eq!(Reply::read(line), Some(Reply { number: 17, at: None, time: 0.033 }));
        let at = Some(Moment(1_700_000_000_123_456_000));
        let stamped = format!("[1700000000.123456] {line}");
        assert_eq!(Reply::read(&stamped), Some(Reply { number: 17, at, time: 0.033 }));
        let others = [
            "PING 10.9.0.2 (10.9.0.2) 56(84) bytes of data.",
            "[1700000000.5] From 10.9.0.1 icmp_seq=3 Destination Host Unreachable",
            "3 packets transmitted, 3 received, 0% packet loss, time 305ms",
            "64 bytes from 10.9.0.2: icmp_seq=2 ttl=64 time=13.0 ms (DUP!)",
            "",
        ];
        assert!(others.iter().all(|line| Reply::read(line).is_none()));
    }

    #[test]
    fn silence_gives_no_times() {
        assert!(parse("").sorted.is_empty());
    }
}
