//! TCP and UDP by iperf3: arrivals from the server's report, retransmissions from the client's.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Ends, GRACE, Outcome, Running};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::metric;
use crate::experiments::case::observation::cpu::Watched;
use crate::experiments::case::result::analysis;
use crate::processes::Talking;
use crate::traffic::iperf_report::{Interval, PORT, Report};

/// Buffer of UDP sockets, in bytes, where the machine allows that much: 17 ms at 2 Gbit/s.
const UDP_BUFFER: u64 = 4 << 20;

/// A server that waits for one test.
#[derive(Debug)]
pub(super) struct Ready {
    server: Talking,
    arguments: Vec<String>,
    load: Load,
    limit: Duration,
    deviations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Load {
    Tcp { congestion: String },
    Udp,
}

#[derive(Debug)]
struct Test {
    client: Talking,
    server: Talking,
    load: Load,
    limit: Duration,
    deviations: Vec<String>,
}

impl Ready {
    pub(super) fn tcp(
        flows: u16,
        duration: Duration,
        congestion: &str,
        ends: Ends<'_>,
    ) -> Result<Self> {
        let arguments = ["-C", congestion, "-P", &flows.to_string()].map(str::to_owned).into();
        let load = Load::Tcp { congestion: congestion.into() };
        Self::new(arguments, load, duration, ends)
    }

    pub(super) fn udp(rate: u64, duration: Duration, size: u16, ends: Ends<'_>) -> Result<Self> {
        let most = |name| fs::read_to_string(format!("/proc/sys/net/core/{name}"));
        let most = |name| most(name).ok().and_then(|most| most.trim().parse().ok()).unwrap_or(0);
        // iperf3 fails when it does not get what it asks for.
        let buffer = UDP_BUFFER.min(most("rmem_max")).min(most("wmem_max"));
        let mut arguments: Vec<String> =
            ["-u", "-b", &rate.to_string(), "-l", &size.to_string()].map(str::to_owned).into();
        if buffer > 0 {
            arguments.extend(["-w".into(), buffer.to_string()]);
        }
        Self::new(arguments, Load::Udp, duration, ends)
    }

    fn new(
        mut arguments: Vec<String>,
        load: Load,
        duration: Duration,
        ends: Ends<'_>,
    ) -> Result<Self> {
        // iperf3 takes whole seconds.
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        let mut deviations = Vec::new();
        if Duration::from_secs(seconds) != duration {
            deviations.push(format!(
                "iperf3 runs for whole seconds: {seconds}, not {}",
                duration.as_secs_f64()
            ));
        }
        arguments.extend(["-t".into(), seconds.max(1).to_string()]);
        let mut command = common();
        command.args(["-s", "-1"]);
        let mut server = Talking::new(ends.b.spawn_child(command)?);
        super::wait_until_it_listens(&mut server, PORT, ends.interrupt)?;
        Ok(Self { server, arguments, load, limit: duration + GRACE, deviations })
    }
}

/// Returns what client and server have in common.
fn common() -> Command {
    let mut command = Command::new("iperf3");
    let step = analysis::STEP.as_secs_f64().to_string();
    command.args(["-p", &PORT.to_string(), "-J", "-i", &step]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl super::Ready for Ready {
    fn start(self: Box<Self>, ends: Ends<'_>) -> Result<Box<dyn Running>> {
        let Self { server, arguments, load, limit, deviations } = *self;
        let mut command = common();
        command.args(["-c", &ends.to.to_string(), "-B", &ends.from.to_string()]).args(arguments);
        let client = Talking::new(ends.a.spawn_child(command)?);
        Ok(Box::new(Test { client, server, load, limit, deviations }))
    }
}

impl Running for Test {
    fn ended(&mut self) -> Result<bool> {
        Ok(self.client.ended()?.is_some())
    }

    fn processes(&self) -> Vec<Watched> {
        vec![
            Watched::traffic("iperf3 a", self.client.id()),
            Watched::traffic("iperf3 b", self.server.id()),
        ]
    }

    fn outcome(self: Box<Self>, interrupt: &Interrupt) -> Result<Outcome> {
        let Self { client, server, load, limit, mut deviations } = *self;
        let client =
            Report::of(&client.finish(limit, interrupt).context("iperf3")?).context("iperf3")?;
        let server = server.finish(GRACE, interrupt).context("the iperf3 server")?;
        let server = Report::of(&server).context("the iperf3 server")?;
        let mut outcome = match &load {
            Load::Tcp { congestion } => {
                let ran = client.end.sender_tcp_congestion.clone().unwrap_or_default();
                if ran != *congestion {
                    deviations.push(format!("TCP \"{ran}\" ran, not {congestion}"));
                }
                tcp(&client, &server)?
            }
            Load::Udp => udp(&client, &server)?,
        };
        outcome.deviations = deviations;
        Ok(outcome)
    }

    fn is_silent_about_tcp(&self) -> bool {
        false
    }
}

/// Returns the sums of all intervals, by `value`, in equal ones.
fn sums(report: &Report, value: impl Fn(&Interval) -> f64) -> Vec<f64> {
    let intervals = report.intervals.iter();
    let intervals: Vec<_> = intervals.map(|it| (it.sum.start, it.sum.end, value(it))).collect();
    analysis::at_equal_intervals(&intervals)
}

fn tcp(client: &Report, server: &Report) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    // The client's figures of the server are used; the server's time goes on while the sender's last bytes are on their way.
    let received = client.end.sum_received.as_ref().context("its report has no result")?;
    let sent = client.end.sum_sent.as_ref().context("its report has no result")?;
    let seconds = received.end - received.start;
    outcome.metric(metric::GOODPUT, Some(received.bytes * 8.0 / 1e6 / seconds));
    outcome.metric(metric::RETRANSMISSIONS, sent.retransmits.map(|it| it as f64));
    outcome.goodput(&sums(server, |interval| interval.sum.bytes));
    let again = |interval: &Interval| interval.sum.retransmits.unwrap_or(0) as f64;
    outcome.series("retransmissions", "segments", sums(client, again));
    let rtt = |interval: &Interval| {
        let times: Vec<f64> = interval.streams.iter().filter_map(|it| it.rtt).collect();
        analysis::mean(&times) / 1e3
    };
    let rtts: Vec<f64> = client.intervals.iter().map(rtt).collect();
    outcome.metric(metric::TCP_RTT, (!rtts.is_empty()).then(|| analysis::mean(&rtts)));
    outcome.series("rtt", "ms", rtts);
    Ok(outcome)
}

fn udp(client: &Report, server: &Report) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let sum = client.end.sum.as_ref().context("its report has no result")?;
    let sent = sum.packets.context("its report has no packet count")?;
    let bins = sums(server, |interval| interval.sum.bytes);
    let packets = |it: &Interval| it.sum.packets.unwrap_or(0);
    let arrived = |it: &Interval| packets(it) as f64 - it.sum.lost_packets.unwrap_or(0) as f64;
    // A packet that came late is taken back from the lost ones, in the sum only.
    let arrived: f64 = server.intervals.iter().map(arrived).sum();
    let bytes: f64 = server.intervals.iter().map(|interval| interval.sum.bytes).sum();
    let seconds = server.intervals.last().context("nothing arrived")?.sum.end;
    outcome.metric(metric::GOODPUT, Some(bytes * 8.0 / 1e6 / seconds));
    // iperf3's server reads no more once the client has told it the end, so nobody knows what became
    // of packets after the last one it read. More than the client sends in an interval are lost: then
    // nothing came any more.
    let last_read: u64 = server.intervals.iter().map(packets).sum();
    let unread = sent.saturating_sub(last_read);
    let most = client.intervals.iter().map(packets).max().unwrap_or(0);
    let judged = if unread <= most { sent - unread } else { sent };
    let lost = (judged as f64 - arrived).max(0.0);
    outcome.metric(metric::LOSS, Some(100.0 * lost / judged.max(1) as f64));
    let late: u64 =
        server.end.streams.iter().filter_map(|it| it.udp.as_ref()).map(|it| it.out_of_order).sum();
    outcome.metric(metric::REORDERED, Some(100.0 * late as f64 / arrived.max(1.0)));
    outcome.goodput(&bins);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a report of intervals, each with its number of packets and the lost ones among them.
    fn report(intervals: &[(u64, i64)]) -> Report {
        let sum = |(number, &(packets, lost)): (usize, &(u64, i64))| {
            let sum = serde_json::json!({
                "start": number, "end": number + 1, "bytes": 1000 * packets,
                "packets": packets, "lost_packets": lost,
            });
            serde_json::json!({ "sum": sum })
        };
        let all: u64 = intervals.iter().map(|&(packets, _)| packets).sum();
        let end =
            serde_json::json!({ "start": 0, "end": intervals.len(), "bytes": 0, "packets": all });
        let intervals: Vec<_> = intervals.iter().enumerate().map(sum).collect();
        let report = serde_json::json!({ "intervals": intervals, "end": { "sum": end } });
        Report::read(&report.to_string()).unwrap()
    }

    fn loss(client: &[(u64, i64)], server: &[(u64, i64)]) -> f64 {
        udp(&report(client), &report(server)).unwrap().metrics[metric::LOSS]
    }

    #[test]
    fn what_the_server_did_not_read_at_the_end_is_not_known_to_be_lost() {
        let client = [(100, 0), (100, 0), (50, 0)];
        assert_eq!(loss(&client, &[(100, 0), (100, 0), (50, 0)]), 0.0);
        assert_eq!(loss(&client, &[(100, 0), (100, 0), (49, 0)]), 0.0);
        assert_eq!(loss(&client, &[(100, 0), (99, 33), (1, 0)]), 100.0 * 33.0 / 200.0);
    }

    #[test]
    fn but_what_did_not_come_for_an_interval_is_lost() {
        let client = [(100, 0), (100, 0), (50, 0)];
        assert_eq!(loss(&client, &[(100, 0), (0, 0), (0, 0)]), 60.0);
        assert_eq!(loss(&client, &[(0, 0), (0, 0)]), 100.0);
    }
}
