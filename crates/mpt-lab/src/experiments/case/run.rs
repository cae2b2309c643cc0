//! The course of a measurement.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use super::beside::{self, Window};
use super::environment::{leftovers, settings};
use super::method::{Adapter, Carrier};
use super::network::Network;
use super::observation::counters::{self, Counters};
use super::observation::cpu::{Reading, Used, Watched};
use super::observation::watch::Watch;
use super::result::analysis;
use super::spec::duration;
use super::traffic::{self, Ends, Outcome, Running};
use super::{
    Action, CaseResult, CaseSpec, Event, Flag, Laboratory, Method, Series, Step, Traffic,
    environment, metric,
};
use crate::console::interrupt::Interrupt;
use crate::emulator;
use crate::processes;
use crate::processes::poll::POLL;
use crate::topology::End;
use crate::traffic::Moment;

/// The longest time that host b may take to answer the first time: addresses have to be resolved and tunnels agree on keys. Fastd, whose first
/// attempt fails on a busy machine, makes the next one about 20 seconds later.
const ANSWER: Duration = Duration::from_secs(60);
/// Largest lateness of the emulator for a measurement of delays: the one that it has to keep when the machine is not busy.
const LATE_FOR_DELAYS: Duration = Duration::from_micros(300);
/// Largest lateness of the emulator for a measurement of throughput: the emulator itself lets go of packets in bursts as long.
const LATE_FOR_THROUGHPUT: Duration = Duration::from_millis(1);
/// Lateness that is allowed as a part of the largest delay, if that is more.
const LATE_PART: f64 = 0.05;
/// Part of the expected time after which the congestion control of a program that does not tell it is looked up.
const LOOK_AT: f64 = 0.3;
/// Interval at which the processor time is read; reading takes some itself.
const READ: Duration = Duration::from_millis(250);
/// Longest time beyond the expected one after which the traffic is given up.
const OVERTIME: Duration = Duration::from_secs(90);

/// The observations of a measurement, before they are judged.
#[derive(Debug, Default)]
struct Measured {
    outcome: Outcome,
    counters: Counters,
    used: Option<Used>,
    processors: BTreeMap<String, f64>,
    lateness: Option<Duration>,
    version: Option<String>,
}

/// Makes one measurement.
///
/// # Errors
///
/// Fails only after an interrupt: a measurement that fails for another reason is a result with [`Flag::Failed`].
pub(crate) fn run(spec: &CaseSpec, lab: &Laboratory, interrupt: &Interrupt) -> Result<CaseResult> {
    leftovers::remove();
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let start = Instant::now();
    let mut flags = Vec::new();
    let measured = measure(spec, lab, &mut flags, interrupt);
    interrupt.check()?;
    let measured = measured.unwrap_or_else(|error| {
        flags.push(Flag::Failed { why: format!("{error:#}") });
        Measured::default()
    });
    judge(spec, &measured, &mut flags);
    let mut environment = environment(spec.backend);
    environment.programs = environment::versions(&traffic::programs(&spec.traffic, &spec.method));
    if let Some(version) = measured.version {
        environment.programs.insert("mptd".into(), version);
    }
    if let Method::Adapter { name } = &spec.method
        && let Ok(adapter) = Adapter::load(name, lab.adapters.as_deref())
    {
        let version = adapter.version();
        environment.programs.insert(name.clone(), format!("{version}: {}", adapter.about.trim()));
    }
    let mut metrics = measured.outcome.metrics;
    metrics.extend(measured.processors);
    let per_gigabyte = cpu_per_gigabyte(&metrics);
    metrics.extend(per_gigabyte.map(|seconds| (metric::CPU_PER_GB.to_owned(), seconds)));
    Ok(CaseResult {
        spec: spec.clone(),
        metrics,
        series: measured.outcome.series,
        counters: measured.counters,
        flags,
        environment,
        began,
        took: start.elapsed().as_secs_f64(),
    })
}

fn measure(
    spec: &CaseSpec,
    lab: &Laboratory,
    flags: &mut Vec<Flag>,
    interrupt: &Interrupt,
) -> Result<Measured> {
    check(spec)?;
    // A short name: the path of a UNIX socket has at most 107 bytes.
    let scratch = tempfile::Builder::new().prefix(&leftovers::prefix()).tempdir()?;
    let network = Network::new(spec, lab, interrupt).context("the network")?;
    for end in [End::A, End::B] {
        settings::apply(network.host(end), spec)?;
    }
    let carrier = Carrier::start(spec, &network, lab, scratch.path(), interrupt)?;
    let run =
        Run { spec, network: &network, carrier: &carrier, directory: scratch.path(), interrupt };
    let measured = run.measure(flags);
    measured.map_err(|error| {
        let logs = carrier.logs();
        if logs.trim().is_empty() { error } else { error.context(format!("logs:\n{logs}")) }
    })
}

/// Rejects specifications that no network can realise.
fn check(spec: &CaseSpec) -> Result<()> {
    let links = spec.network.links.len();
    for event in &spec.events {
        let (Action::CarrierLost { link }
        | Action::CarrierBack { link }
        | Action::BlackHole { link }
        | Action::BlackHoleEnds { link }
        | Action::PathDown { link }
        | Action::PathUp { link }) = event.action;
        ensure!(link < links, "an event at link {link}, and there are {links}");
    }
    Ok(())
}

/// A measurement whose traffic can start.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    spec: &'a CaseSpec,
    network: &'a Network,
    carrier: &'a Carrier,
    directory: &'a Path,
    interrupt: &'a Interrupt,
}

impl Run<'_> {
    fn measure(self, flags: &mut Vec<Flag>) -> Result<Measured> {
        let spec = self.spec;
        for end in [End::A, End::B] {
            settings::steer(self.network.host(end), spec.receive_steering)?;
        }
        let congestion = self.set_congestion(flags)?;
        self.wait_for_an_answer()?;

        let ends = Ends {
            a: self.network.host(End::A),
            b: self.network.host(End::B),
            from: self.carrier.address(End::A),
            to: self.carrier.address(End::B),
            directory: self.directory,
            interrupt: self.interrupt,
        };
        let ready = traffic::prepare(&spec.traffic, &spec.method, &congestion, ends)?;
        let duration = duration::traffic(spec);
        let mut beside = beside::start(spec, self.carrier, ends, duration)?;
        self.interrupt.sleep(spec.observation.lead)?;
        let mut before = Counters::new();
        self.count(&mut before)?;
        self.network.links().start_schedule()?;
        let window = Window::new(spec, Moment::now(), duration);
        for companion in &mut beside {
            companion.begin(ends)?;
        }
        let running = ready.start(ends)?;
        let mut watched = self.carrier.processes();
        watched.extend(running.processes());
        watched.extend(beside.iter().flat_map(|companion| companion.processes()));
        if let Some(pid) = self.network.links().pid() {
            watched.push(Watched::emulator(pid));
        }
        let first = Reading::take(&watched)?;
        let (mut outcome, used) = self.attend(running, &congestion, &watched, &first)?;
        let mut after = Counters::new();
        let (version, links) = self.count(&mut after)?;
        let counters = counters::growth(&before, &after);
        outcome.deviations.extend(self.carrier.check(&counters)?);
        for companion in beside {
            companion.finish(&window, &mut outcome, self.interrupt)?;
        }
        observe(spec, &counters, &mut outcome);
        let lateness = links.lateness.map(|lateness| lateness.p99);
        let processors = processor_metrics(&used, &watched);
        Ok(Measured { outcome, counters, used: Some(used), processors, lateness, version })
    }

    /// Sets the congestion control of the programs that do not set it themselves, and returns it.
    fn set_congestion(self, flags: &mut Vec<Flag>) -> Result<String> {
        let (Traffic::Tcp { congestion, .. } | Traffic::Download { congestion, .. }) =
            &self.spec.traffic
        else {
            return Ok(String::new());
        };
        let (congestion, deviation) = settings::congestion(congestion);
        flags.extend(deviation.map(|what| Flag::Deviation { what }));
        for end in [End::A, End::B] {
            settings::congestion_of_routes(self.network.host(end), &congestion)?;
        }
        Ok(congestion)
    }

    /// Waits until addresses are resolved and tunnels have agreed on keys, which the measurement does not cover.
    fn wait_for_an_answer(self) -> Result<()> {
        let mut addresses = vec![self.carrier.address(End::B)];
        if matches!(self.carrier, Carrier::Mptcp { .. }) {
            addresses = (0..self.network.names().len())
                .map(|link| super::network::address(link, End::B, 4))
                .collect();
        }
        let start = Instant::now();
        for address in addresses {
            loop {
                let mut command = Command::new("ping");
                command.args(["-n", "-q", "-c", "1", "-W", "1", &address.to_string()]);
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                let ping = self.network.host(End::A).spawn_child(command)?;
                if processes::finish(ping, ANSWER, self.interrupt)?.status.success() {
                    break;
                }
                if start.elapsed() > ANSWER {
                    bail!("{address} does not answer within {} s", ANSWER.as_secs());
                }
                self.interrupt.sleep(POLL)?;
            }
        }
        Ok(())
    }

    /// Reads all counters. Returns the daemons' version, and the counters of the links.
    fn count(self, counters: &mut Counters) -> Result<(Option<String>, emulator::Counters)> {
        for end in [End::A, End::B] {
            counters::of_host(self.network.host(end), end, counters)?;
        }
        let channels: Vec<String> =
            self.spec.network.channels.iter().map(|channel| channel.name.clone()).collect();
        let links = counters::of_links(self.network, &channels, counters)?;
        Ok((self.carrier.read(counters)?, links))
    }

    /// Carries out the events, records what the traffic does not report, and waits for its end.
    fn attend(
        self,
        mut running: Box<dyn Running>,
        congestion: &str,
        watched: &[Watched],
        first: &Reading,
    ) -> Result<(Outcome, Used)> {
        let began = Instant::now();
        let look_at = duration::traffic(self.spec).mul_f64(LOOK_AT);
        let longest = duration::longest(self.spec) + OVERTIME;
        let mut events: Vec<&Event> = self.spec.events.iter().collect();
        events.sort_by_key(|event| event.after);
        let mut events = events.into_iter().peekable();
        let silent = running.is_silent_about_tcp();
        let (mut again, mut ran) = (Vec::new(), None);
        let mut last = Reading::take(watched)?;
        let mut watch = self.spec.observation.watch.map(Watch::new);
        while !running.ended()? {
            self.interrupt.check()?;
            let elapsed = began.elapsed();
            while let Some(event) = events.next_if(|event| event.after <= elapsed) {
                self.act(&event.action).with_context(|| event.action.to_string())?;
            }
            if silent && elapsed >= analysis::STEP * u32::try_from(again.len()).unwrap_or(u32::MAX)
            {
                again.push(self.retransmissions()?);
            }
            if silent && ran.is_none() && elapsed >= look_at {
                ran = self.congestion_that_runs()?;
            }
            if let Some(watch) = watch.as_mut().filter(|watch| watch.is_due(elapsed))
                && let Some(snapshot) = self.carrier.snapshot()?
            {
                watch.add(began.elapsed(), &snapshot);
            }
            if elapsed > longest {
                bail!("the traffic goes on and on");
            }
            let next =
                events.peek().map_or(POLL, |event| event.after.saturating_sub(began.elapsed()));
            thread::sleep(next.min(POLL));
            // The figures are read again and again, because processes that have ended have none.
            if last.age() >= READ {
                last = Reading::take(watched)?;
            }
        }
        let used = last.since(first);
        let mut outcome = running.outcome(self.interrupt)?;
        if silent {
            again.push(self.retransmissions()?);
            let total = again.last().zip(again.first()).map_or(0, |(last, first)| last - first);
            outcome.metrics.insert(metric::RETRANSMISSIONS.into(), total as f64);
            let values = again.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let step = analysis::STEP.as_secs_f64();
            let series = Series { unit: "segments".into(), step, values };
            outcome.series.insert("retransmissions".into(), series);
        }
        if let Some(watch) = watch {
            outcome.series.extend(watch.series(duration::traffic(self.spec)));
        }
        if let Some(ran) = ran.filter(|ran| ran != congestion) {
            outcome.deviations.push(format!("TCP {ran} ran, not {congestion}"));
        }
        Ok((outcome, used))
    }

    fn act(self, action: &Action) -> Result<()> {
        if self.network.act(action)? {
            return Ok(());
        }
        self.carrier.act(action, self.network)
    }

    /// Returns the number of TCP segments that host a has sent again so far.
    fn retransmissions(self) -> Result<u64> {
        let mut counters = Counters::new();
        counters::of_host(self.network.host(End::A), End::A, &mut counters)?;
        Ok(counters.get("a/tcp/RetransSegs").copied().unwrap_or(0))
    }

    /// Returns the congestion control of the connection on which host a has sent most; `None` while there is none.
    fn congestion_that_runs(self) -> Result<Option<String>> {
        let mut command = self.network.host(End::A).namespace().command("ss")?;
        command.args(["-tinHO", "state", "established"]);
        let output = command.output().context("cannot run ss")?;
        Ok(congestion_in(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Returns the congestion control of the connection that has sent most, from lines of `ss -tiO`.
fn congestion_in(output: &str) -> Option<String> {
    let sent = |line: &str| -> Option<u64> {
        line.split_ascii_whitespace()
            .find_map(|word| word.strip_prefix("bytes_sent:"))?
            .parse()
            .ok()
    };
    let (line, _) =
        output.lines().filter_map(|line| Some((line, sent(line)?))).max_by_key(|it| it.1)?;
    let known =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").ok()?;
    let known: Vec<&str> = known.split_ascii_whitespace().collect();
    line.split_ascii_whitespace().find(|word| known.contains(word)).map(str::to_owned)
}

/// Adds the figures that follow from counters and from the part of the time that counts.
fn observe(spec: &CaseSpec, counters: &Counters, outcome: &mut Outcome) {
    let (from, to) = spec.observation.counts;
    let counts = (from.as_secs_f64(), to.as_secs_f64());
    let goodput = outcome.series.get("goodput").map(|series| series.values.clone());
    let goodput = goodput.unwrap_or_default();
    outcome.metric(metric::GOODPUT_COUNTED, analysis::between(&goodput, counts));
    for target in &spec.observation.targets {
        let (from, to) = (target.after.as_secs_f64(), target.until.as_secs_f64());
        let (rate, name) = match target.step {
            Step::Down => (target.rate as f64 / 1e6, metric::REACHED_DOWN),
            Step::Up => (target.rate as f64 / 1e6, metric::REACHED_UP),
        };
        let reached = analysis::reached(&goodput, (from, to), rate);
        if reached.is_none() {
            outcome.deviations.push(format!(
                "90 % of {rate} Mbit/s were not held for 3 s between {from} and {to} s: {name} is that time"
            ));
        }
        outcome.metric(name, Some(reached.unwrap_or(to - from)));
    }
    let seconds = duration::traffic(spec).as_secs_f64();
    counters::figures(spec, counters, seconds, |name, value| outcome.metric(name, Some(value)));
}

/// Returns the shares of processors as figures.
fn processor_metrics(used: &Used, watched: &[Watched]) -> BTreeMap<String, f64> {
    let share = |process: &Watched| {
        Some((process.metric?.to_owned(), 100.0 * used.processes.get(&process.name)?))
    };
    let mut metrics: BTreeMap<String, f64> = watched.iter().filter_map(share).collect();
    metrics.insert(metric::CPU_MACHINE.into(), 100.0 * (1.0 - used.idle));
    metrics
}

/// Returns the processor time of both daemons for each gigabyte that arrived; `None` where there are no daemons or nothing arrived.
fn cpu_per_gigabyte(metrics: &BTreeMap<String, f64>) -> Option<f64> {
    let percent = metrics.get(metric::CPU_DAEMON_A)? + metrics.get(metric::CPU_DAEMON_B)?;
    let gigabytes_per_second = metrics.get(metric::GOODPUT)? / 8e3;
    (gigabytes_per_second > 0.0).then(|| percent / 100.0 / gigabytes_per_second)
}

/// Adds flags where the figures are not what they seem to be.
fn judge(spec: &CaseSpec, measured: &Measured, flags: &mut Vec<Flag>) {
    let deviations = measured.outcome.deviations.iter();
    flags.extend(deviations.map(|what| Flag::Deviation { what: what.clone() }));
    if let Some(used) = measured.used.as_ref().filter(|used| used.is_saturated()) {
        flags.push(Flag::CpuSaturated { idle: used.idle });
        if let Some((thread, share)) = used.busy_thread() {
            let what = format!("thread {thread} was busy for {:.0} % of the time", 100.0 * share);
            flags.push(Flag::Deviation { what });
        }
    }
    if let Some(p99) = measured.lateness.filter(|&p99| p99 > lateness_limit(spec)) {
        flags.push(Flag::EmulatorLate { p99: p99.as_secs_f64() });
    }
    let cut = spec.events.iter().filter_map(|event| match event.action {
        Action::CarrierLost { link } => Some(spec.network.links.get(link)?.name.as_str()),
        _ => None,
    });
    let mut hidden = counters::hidden(&measured.counters, &cut.collect::<Vec<_>>());
    if let Method::Adapter { name } = &spec.method {
        // A foreign tunnel includes the way in which its program reads its socket.
        hidden.retain(|(counter, packets)| {
            let own = counter.ends_with("/udp/RcvbufErrors");
            if own {
                let what = format!("{name} let {packets} packets overflow its socket ({counter})");
                flags.push(Flag::Deviation { what });
            }
            !own
        });
    }
    for (counter, packets) in &hidden {
        flags.push(Flag::HiddenLoss { counter: counter.clone(), packets: *packets });
    }
    if !hidden.is_empty() {
        let what: Vec<String> =
            hidden.iter().map(|(name, packets)| format!("{packets} ({name})")).collect();
        flags.push(Flag::Failed {
            why: format!("packets were lost where no link is: {}", what.join(", ")),
        });
    }
}

/// Returns how late the emulator may be (99th percentile) before a figure is not that of the network.
fn lateness_limit(spec: &CaseSpec) -> Duration {
    let least = match spec.traffic {
        Traffic::Ping { .. } | Traffic::Rtp { .. } => LATE_FOR_DELAYS,
        Traffic::Tcp { .. } | Traffic::Udp { .. } | Traffic::Download { .. } => LATE_FOR_THROUGHPUT,
    };
    let delays = spec.network.channels.iter().map(|channel| channel.params.delay);
    least.max(delays.max().unwrap_or_default().mul_f64(LATE_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_congestion_control_is_that_of_the_busiest_connection() {
        let output = "0 0 10.71.1.1:8021 10.71.1.2:4000 bbr wscale:7,7 rto:204 bytes_sent:500 segs_out:9\n\
            0 900 10.71.1.1:40001 10.71.1.2:4001 cubic wscale:7,7 rto:204 bytes_sent:500000 segs_out:900\n\
            0 0 10.71.1.1:1 10.71.1.2:2 reno wscale:7,7\n";
        assert_eq!(congestion_in(output).as_deref(), Some("cubic"));
        assert_eq!(congestion_in(""), None);
    }
}
