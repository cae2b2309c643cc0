//! Makes measurements, each in a process of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::schedule::{self, Load};
use super::store::{self, Store};
use crate::case::{self, CaseResult, CaseSpec, Flag, Laboratory, LinkSpec, Method};
use crate::interrupt::Interrupt;
use crate::process::{POLL, Talking};
use crate::progress::Progress;

/// A measurement that takes that much longer than expected, and this on top, is given up: something hangs.
const PATIENCE: (u32, Duration) = (3, Duration::from_secs(150));
/// How long an interrupted measurement may take to remove what it made.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long the measurements will take.
pub(super) fn expected(specs: &[CaseSpec], jobs: usize) -> Duration {
    let loads: Vec<Load> = specs.iter().map(Load::of).collect();
    schedule::total(&loads, jobs)
}

/// A measurement that runs.
struct Running {
    spec: CaseSpec,
    load: Load,
    process: Talking,
    began: Instant,
}

/// Makes all measurements; gives those that have no figure, as text.
///
/// # Errors
///
/// An interrupt, when all processes are gone; results that cannot be written.
pub(super) fn measure(
    store: &Store,
    specs: &[CaseSpec],
    jobs: usize,
    laboratory: &Laboratory,
    interrupt: &Interrupt,
) -> Result<Vec<String>> {
    let mut loads: Vec<Load> = specs.iter().map(Load::of).collect();
    let mut waiting: Vec<&CaseSpec> = specs.iter().collect();
    let total = schedule::total(&loads, jobs);
    // What runs beside something else takes less of the whole time than of its own.
    let alone: Duration = loads.iter().map(|load| load.expected).sum();
    let share = total.as_secs_f64() / alone.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut progress = Progress::new(total);
    let mut running: Vec<Running> = Vec::new();
    let mut failures = Vec::new();
    loop {
        if interrupt.check().is_err() {
            for mut case in running {
                case.process.terminate(FAREWELL);
            }
            interrupt.check()?;
            return Ok(failures);
        }
        let beside: Vec<Load> = running.iter().map(|case| case.load).collect();
        if let Some(index) = schedule::next(&loads, &beside, jobs) {
            let (spec, load) = (waiting.remove(index), loads.remove(index));
            progress.step(&name(spec), load.expected.mul_f64(share));
            let fingerprint = spec.fingerprint();
            // A failure of an earlier run is not to be taken for one of this run.
            let _ = std::fs::remove_file(store.case(&fingerprint));
            let child = spawn(laboratory, &store.spec(&fingerprint), &store.case(&fingerprint))?;
            let process = Talking::new(child);
            running.push(Running { spec: spec.clone(), load, process, began: Instant::now() });
            continue;
        }
        if running.is_empty() {
            return Ok(failures);
        }
        let mut index = 0;
        while index < running.len() {
            let case = &mut running[index];
            let limit = case.load.expected * PATIENCE.0 + PATIENCE.1;
            let ended = case.process.ended()?.is_some();
            if ended || case.began.elapsed() > limit {
                let case = running.swap_remove(index);
                failures.extend(finish(store, case, ended, interrupt)?);
            } else {
                index += 1;
            }
        }
        thread::sleep(POLL);
    }
}

/// Starts the process that makes a measurement.
fn spawn(laboratory: &Laboratory, spec: &Path, out: &Path) -> Result<Child> {
    let mut command = Command::new(&laboratory.laboratory);
    command.arg("case").arg("--spec").arg(spec).arg("--out").arg(out);
    command.arg("--mptd").arg(&laboratory.mptd);
    if let Some(adapters) = &laboratory.adapters {
        command.arg("--adapters").arg(adapters);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().with_context(|| format!("cannot start {}", laboratory.laboratory.display()))
}

/// Looks at what a measurement left; why it has no figure, as text.
fn finish(
    store: &Store,
    mut case: Running,
    ended: bool,
    interrupt: &Interrupt,
) -> Result<Option<String>> {
    let fingerprint = case.spec.fingerprint();
    if store.measured(&fingerprint).is_some() {
        return Ok(None);
    }
    let why = if ended {
        let finished = case.process.finish(FAREWELL, interrupt)?;
        let lines = finished.stderr.trim();
        match store::read::<CaseResult>(&store.case(&fingerprint)) {
            Ok(result) => return Ok(Some(reason(&result))),
            Err(_) if lines.is_empty() => format!("it ended with {}", finished.status),
            Err(_) => lines.to_owned(),
        }
    } else {
        case.process.terminate(FAREWELL);
        format!("it did not end within {:.0} s", case.began.elapsed().as_secs_f64())
    };
    let text = format!("{}: {why}", name(&case.spec));
    let took = case.began.elapsed().as_secs_f64();
    store::write(&store.case(&fingerprint), &without_figure(case.spec, why, took))?;
    Ok(Some(text))
}

fn reason(result: &CaseResult) -> String {
    let why = result.flags.iter().find_map(|flag| match flag {
        Flag::Failed { why } => Some(why.as_str()),
        _ => None,
    });
    format!("{}: {}", name(&result.spec), why.unwrap_or("no figure"))
}

/// The result of a measurement whose process could not write one.
fn without_figure(spec: CaseSpec, why: String, took: f64) -> CaseResult {
    let environment = case::environment(spec.backend);
    CaseResult {
        spec,
        metrics: BTreeMap::new(),
        series: BTreeMap::new(),
        counters: BTreeMap::new(),
        flags: vec![Flag::Failed { why }],
        environment,
        began: 0,
        took,
    }
}

/// A measurement in a few words, such as `10 + 100 Mbit/s, tunnel, 8 s`.
fn name(spec: &CaseSpec) -> String {
    let rate = |link: &LinkSpec| {
        let rates = link
            .forward
            .iter()
            .filter_map(|&channel| spec.network.channels.get(channel)?.params.rate);
        let slowest = rates.min().map(|rate| rate.bits_per_second() as f64 / 1e6);
        slowest.map_or("no limit".into(), |megabits| format!("{megabits}"))
    };
    let rates: Vec<String> = spec.network.links.iter().map(rate).collect();
    let rates = match &rates[..] {
        [first, second, third, .., last] => format!("{first} + {second} + {third} .. {last}"),
        few => few.join(" + "),
    };
    let method = match &spec.method {
        Method::Plain => "alone".to_owned(),
        Method::Mptcp => "kernel MPTCP".to_owned(),
        Method::Tunnel(tunnel) if tunnel.session => "tunnel".to_owned(),
        Method::Tunnel(_) => "tunnel without session".to_owned(),
        Method::Adapter { name } => name.clone(),
    };
    format!("{rates} Mbit/s, {method}, {:.0} s", case::expected_duration(spec).as_secs_f64())
}
