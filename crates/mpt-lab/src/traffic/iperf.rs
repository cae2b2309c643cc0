//! Traffic by iperf3, and its JSON report.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use procfs::net::TcpState;

use crate::console::interrupt::Interrupt;
use crate::processes::poll::POLL;
use crate::processes::{self, Process};
use crate::topology::Host;
use crate::traffic::iperf_report::{PORT, Report};

/// Longest time for connecting, exchanging results and leaving on a slow machine.
const GRACE: Duration = Duration::from_secs(20);

/// The traffic to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Load {
    /// Parallel TCP flows as fast as they go. The congestion control is always cubic: the default
    /// of the kernel differs from machine to machine.
    Tcp {
        /// Number of flows.
        flows: u8,
    },
    /// One UDP flow.
    Udp {
        /// UDP payload, in bytes.
        payload: u16,
        /// Packets per second to offer; `None` for as fast as it goes.
        rate: Option<f64>,
    },
}

/// The data that arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Transfer {
    /// Bytes of payload that the receiver got.
    pub(crate) bytes: f64,
    /// Duration as the receiver saw it, in seconds.
    pub(crate) seconds: f64,
    /// TCP segments sent again; 0 for UDP.
    pub(crate) retransmits: u64,
    /// UDP packets sent; 0 for TCP.
    pub(crate) packets: u64,
    /// UDP packets that did not arrive; 0 for TCP.
    pub(crate) lost: u64,
}

impl Transfer {
    /// Returns the goodput at the receiver, in bit/s.
    pub(crate) fn bit_rate(&self) -> f64 {
        self.bytes * 8.0 / self.seconds
    }

    /// Returns the packets sent, per second.
    pub(crate) fn offered(&self) -> f64 {
        self.packets as f64 / self.seconds
    }

    /// Returns the packets received, per second.
    pub(crate) fn received(&self) -> f64 {
        self.packets.saturating_sub(self.lost) as f64 / self.seconds
    }

    /// Returns the share of the packets that were lost, 0 to 1.
    pub(crate) fn loss(&self) -> f64 {
        if self.packets == 0 { 1.0 } else { self.lost as f64 / self.packets as f64 }
    }
}

/// An iperf3 server on one host; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    _process: Process,
}

impl Server {
    /// Starts it and waits until it listens on every address of the host.
    pub(crate) fn start(host: &Host, interrupt: &Interrupt) -> Result<Self> {
        let mut command = Command::new("iperf3");
        command.args(["-s", "-p", &PORT.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = host.spawn(command)?;
        let start = Instant::now();
        while !listens(process.id(), PORT) {
            interrupt.check()?;
            if let Some(status) = process.ended()? {
                bail!("the iperf3 server ended at once: {status}");
            }
            if start.elapsed() > GRACE {
                bail!("the iperf3 server does not listen after {} s", GRACE.as_secs());
            }
            thread::sleep(POLL);
        }
        Ok(Self { _process: process })
    }
}

/// Sends `load` for `duration` from `host` to the server at `to`.
pub(crate) fn transfer(
    host: &Host,
    to: IpAddr,
    load: Load,
    duration: Duration,
    interrupt: &Interrupt,
) -> Result<Transfer> {
    let mut command = Command::new("iperf3");
    command.args(arguments(to, load, duration));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = host.spawn_child(command)?;
    let finished = processes::finish(child, duration + GRACE, interrupt)
        .with_context(|| format!("iperf3 to {to}"))?;
    Report::of(&finished).and_then(transfer_of).with_context(|| format!("iperf3 to {to}"))
}

fn arguments(to: IpAddr, load: Load, duration: Duration) -> Vec<String> {
    let mut arguments = vec![
        "-c".into(),
        to.to_string(),
        "-p".into(),
        PORT.to_string(),
        "-t".into(),
        duration.as_secs().max(1).to_string(),
        "-J".into(),
    ];
    match load {
        Load::Tcp { flows } => {
            arguments.extend(["-C".into(), "cubic".into(), "-P".into(), flows.to_string()]);
        }
        Load::Udp { payload, rate } => {
            // 0 is iperf3's word for "no limit".
            let bit_rate = rate.map_or(0.0, |rate| rate * f64::from(payload) * 8.0);
            arguments.extend(["-u".into(), "-l".into(), payload.to_string()]);
            arguments.extend(["-b".into(), format!("{bit_rate:.0}")]);
        }
    }
    arguments
}

fn transfer_of(report: Report) -> Result<Transfer> {
    let retransmits = report.end.sum_sent.as_ref().and_then(|sent| sent.retransmits).unwrap_or(0);
    // `sum` is UDP's only and counts at the receiver; its `bytes` are the sender's.
    if let Some(sum) = report.end.sum {
        let packets = sum.packets.context("its report has no packet count")?;
        let lost = sum.lost_packets.context("its report has no loss count")?;
        let lost = u64::try_from(lost).context("more packets came than were sent")?;
        let arrived = packets.saturating_sub(lost) as f64 / (packets.max(1)) as f64;
        return Ok(Transfer {
            bytes: sum.bytes * arrived,
            seconds: sum.end - sum.start,
            retransmits,
            packets,
            lost,
        });
    }
    let sum = report.end.sum_received.context("its report has no result")?;
    Ok(Transfer {
        bytes: sum.bytes,
        seconds: sum.end - sum.start,
        retransmits,
        packets: 0,
        lost: 0,
    })
}

/// True if a TCP socket listens on `port` in the network namespace of process `pid`. Asking the
/// kernel leaves the server alone, which a trial connection would not.
pub(crate) fn listens(pid: u32, port: u16) -> bool {
    let Ok(process) = i32::try_from(pid)
        .map_err(anyhow::Error::from)
        .and_then(|pid| Ok(procfs::process::Process::new(pid)?))
    else {
        return false;
    };
    let sockets = [process.tcp(), process.tcp6()].into_iter().flatten().flatten();
    let mut listeners = sockets.filter(|socket| socket.state == TcpState::Listen);
    listeners.any(|socket| socket.local_address.port() == port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Transfer> {
        Report::read(json).and_then(transfer_of)
    }

    /// The parts of real reports (iperf3 3.12) that are read, shortened.
    const TCP: &str = r#"{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {
        "sum_sent": {"start": 0, "end": 2.000218, "seconds": 2.000218, "bytes": 6337724416,
            "bits_per_second": 25348134717.3, "retransmits": 67, "sender": true},
        "sum_received": {"start": 0, "end": 2.00031, "seconds": 2.00031, "bytes": 6337724416,
            "bits_per_second": 25346968883.8, "sender": true},
        "sender_tcp_congestion": "cubic"}}"#;
    const UDP: &str = r#"{"end": {
        "sum": {"start": 0, "end": 2.00017, "seconds": 2.00017, "bytes": 4998144,
            "bits_per_second": 19991336.5, "jitter_ms": 0.0043, "lost_packets": 78,
            "packets": 78096, "lost_percent": 0.099, "sender": true}}}"#;
    const ERROR: &str = r#"{"start": {}, "intervals": [], "end": {},
        "error": "unable to connect to server: No route to host"}"#;

    #[test]
    fn tcp_report() {
        let transfer = parse(TCP).unwrap();
        assert_eq!(transfer.bytes, 6_337_724_416.0);
        assert_eq!(transfer.retransmits, 67);
        assert!((transfer.bit_rate() - 25_346_968_883.8).abs() < 1.0);
    }

    #[test]
    fn udp_report_counts_what_arrived() {
        let transfer = parse(UDP).unwrap();
        assert_eq!((transfer.packets, transfer.lost), (78_096, 78));
        assert_eq!(transfer.bytes, f64::from(78_096 - 78) * 64.0);
        assert!((transfer.received() - 39_005.7).abs() < 0.1);
        assert!((transfer.loss() - 0.000_999).abs() < 0.000_001);
    }

    #[test]
    fn an_error_is_passed_on_in_iperf3s_words() {
        let error = parse(ERROR).unwrap_err();
        assert_eq!(error.to_string(), "unable to connect to server: No route to host");
        parse("").unwrap_err();
        parse("{}").unwrap_err();
    }

    #[test]
    fn congestion_control_is_always_named() {
        let to = "10.0.0.2".parse().unwrap();
        let tcp = arguments(to, Load::Tcp { flows: 4 }, Duration::from_secs(5)).join(" ");
        assert_eq!(tcp, "-c 10.0.0.2 -p 5201 -t 5 -J -C cubic -P 4");
        let load = Load::Udp { payload: 64, rate: Some(1000.0) };
        let udp = arguments(to, load, Duration::from_secs(2)).join(" ");
        assert_eq!(udp, "-c 10.0.0.2 -p 5201 -t 2 -J -u -l 64 -b 512000");
        let load = Load::Udp { payload: 64, rate: None };
        assert!(arguments(to, load, Duration::from_secs(2)).join(" ").ends_with("-b 0"));
    }

    #[test]
    fn listeners_are_found_in_both_address_families() {
        use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
        let pid = std::process::id();
        let four = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let connection = TcpStream::connect(four.local_addr().unwrap()).unwrap();
        assert!(listens(pid, four.local_addr().unwrap().port()));
        let client = connection.local_addr().unwrap().port();
        assert!(!listens(pid, client), "a connection is not a listener");
        let six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        assert!(listens(pid, six.local_addr().unwrap().port()));
    }
}
