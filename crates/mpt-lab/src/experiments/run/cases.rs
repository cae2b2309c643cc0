//! Makes measurements, each in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::schedule::{self, Load};
use super::store::{self, Store};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::experiments::case::{self, CaseResult, CaseSpec, Flag, Laboratory};
use crate::experiments::definition::{Plan, PlannedCase};
use crate::processes::Talking;
use crate::processes::poll::POLL;

/// Factor on the expected time, and time on top, after which a measurement is given up: something hangs.
const PATIENCE: (u32, Duration) = (3, Duration::from_secs(150));
/// The longest time that an interrupted measurement may take to remove what it made.
const FAREWELL: Duration = Duration::from_secs(10);

/// Returns how long the measurements will take.
pub(super) fn expected(measurements: &[Measurement], jobs: usize) -> Duration {
    let loads: Vec<Load> = measurements.iter().map(|it| Load::of(&it.spec)).collect();
    schedule::total(&loads, jobs)
}

/// A measurement to be made.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// The name of its first place, such as `imareen2023-table1 delay=10ms ours`.
    pub(crate) name: String,
    /// Its specification.
    pub(crate) spec: CaseSpec,
}

/// Returns every measurement of some plans once, in their order.
pub(crate) fn distinct(plans: &[Plan]) -> Vec<Measurement> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for plan in plans {
        for PlannedCase { cell, row, spec } in &plan.cases {
            if seen.insert(spec.fingerprint()) {
                let cell: String =
                    cell.iter().map(|(axis, value)| format!(" {axis}={value}")).collect();
                let name = format!("{}{cell} {row}", plan.name);
                all.push(Measurement { name, spec: spec.clone() });
            }
        }
    }
    all
}

/// A measurement that runs.
struct Running {
    measurement: Measurement,
    load: Load,
    process: Talking,
    began: Instant,
}

/// Makes all measurements. Returns those that have no figure, as text.
///
/// # Errors
///
/// Fails after an interrupt, when all processes are gone, and when results cannot be written.
pub(super) fn measure(
    store: &Store,
    measurements: &[Measurement],
    jobs: usize,
    laboratory: &Laboratory,
    interrupt: &Interrupt,
) -> Result<Vec<String>> {
    let mut loads: Vec<Load> = measurements.iter().map(|it| Load::of(&it.spec)).collect();
    let mut waiting: Vec<&Measurement> = measurements.iter().collect();
    let total = schedule::total(&loads, jobs);
    // A measurement beside others takes less of the whole time than its own duration.
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
            let (measurement, load) = (waiting.remove(index), loads.remove(index));
            progress.step(&measurement.name, load.expected.mul_f64(share));
            let fingerprint = measurement.spec.fingerprint();
            // A failure of an earlier run is not to be taken for one of this run.
            let _ = std::fs::remove_file(store.case(&fingerprint));
            let child = spawn(laboratory, &store.spec(&fingerprint), &store.case(&fingerprint))?;
            let process = Talking::new(child);
            let measurement = measurement.clone();
            running.push(Running { measurement, load, process, began: Instant::now() });
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

/// Reads the result of a measurement. Returns the reason why it has no figure, as text.
fn finish(
    store: &Store,
    mut case: Running,
    ended: bool,
    interrupt: &Interrupt,
) -> Result<Option<String>> {
    let Measurement { name, spec } = &case.measurement;
    let fingerprint = spec.fingerprint();
    if store.measured(&fingerprint).is_some() {
        return Ok(None);
    }
    let why = if ended {
        let finished = case.process.finish(FAREWELL, interrupt)?;
        let lines = finished.stderr.trim();
        match store::read::<CaseResult>(&store.case(&fingerprint)) {
            Ok(result) => return Ok(Some(format!("{name}: {}", reason(&result)))),
            Err(_) if lines.is_empty() => format!("it ended with {}", finished.status),
            Err(_) => lines.to_owned(),
        }
    } else {
        case.process.terminate(FAREWELL);
        format!("it did not end within {:.0} s", case.began.elapsed().as_secs_f64())
    };
    let text = format!("{name}: {why}");
    let took = case.began.elapsed().as_secs_f64();
    store::write(&store.case(&fingerprint), &without_figure(spec.clone(), why, took))?;
    Ok(Some(text))
}

fn reason(result: &CaseResult) -> &str {
    let why = result.flags.iter().find_map(|flag| match flag {
        Flag::Failed { why } => Some(why.as_str()),
        _ => None,
    });
    why.unwrap_or("no figure")
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
