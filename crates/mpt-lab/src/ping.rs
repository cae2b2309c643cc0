//! Round-trip times by ping.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::interrupt::Interrupt;
use crate::process;
use crate::statistics::percentile;
use crate::topology::Host;

/// Round-trip times of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundTrips {
    /// In milliseconds, ascending.
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
    let mut command = Command::new("ping");
    command.args(["-n", "-i", "0.01", "-W", "1", "-c", &count.to_string(), &to.to_string()]);
    // The decimal point is a comma elsewhere.
    command.env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let limit = Duration::from_millis(10) * count + Duration::from_secs(20);
    let finished = process::finish(host.spawn_child(command)?, limit, interrupt)
        .with_context(|| format!("ping {to}"))?;
    let times = parse(&finished.stdout);
    // One lost reply in a hundred would say that the path is not idle, or not healthy.
    if times.sorted.len() < (count as usize * 99).div_ceil(100) {
        bail!(
            "ping {to}: {} of {count} replies; {}",
            times.sorted.len(),
            finished.stderr.lines().next().unwrap_or("no error shown")
        );
    }
    Ok(times)
}

/// Reads lines such as "64 bytes from 10.9.0.2: icmp_seq=17 ttl=64 time=0.033 ms".
fn parse(output: &str) -> RoundTrips {
    let mut sorted: Vec<f64> = output
        .lines()
        .filter(|line| !line.contains("DUP!"))
        .filter_map(|line| line.split("time=").nth(1)?.strip_suffix(" ms")?.parse().ok())
        .collect();
    sorted.sort_by(f64::total_cmp);
    RoundTrips { sorted }
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
    fn silence_gives_no_times() {
        assert!(parse("").sorted.is_empty());
    }
}
