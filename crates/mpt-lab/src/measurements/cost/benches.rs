//! Executables of criterion, run as `cargo bench` runs them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::console::interrupt::Interrupt;
use crate::measurements::bench::criterion;
use crate::results::samples::Samples;

/// Approximate duration of all benchmarks.
pub(super) const DURATION: Duration = Duration::from_secs(60);
/// Duration of one benchmark, for tables.
pub(super) const EXTENT: &str = "0.5 s";
const ARGUMENTS: [&str; 6] =
    ["--bench", "--noplot", "--warm-up-time", "0.2", "--measurement-time", "0.5"];

/// Adds the median of each benchmark, in nanoseconds per iteration.
pub(super) fn measure(
    benches: &[PathBuf],
    side: &str,
    samples: &mut Samples,
    interrupt: &Interrupt,
) -> Result<()> {
    let home = tempfile::tempdir()?;
    for bench in benches {
        interrupt.check()?;
        let mut command = Command::new(bench);
        command.args(ARGUMENTS).env("CRITERION_HOME", home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status().with_context(|| format!("cannot run {}", bench.display()))?;
        ensure!(status.success(), "{}: {status}", bench.display());
    }
    let mut found = Samples::default();
    criterion::read(home.path(), &mut found)?;
    for name in found.names() {
        if let Some(id) = name.strip_prefix(criterion::MEDIAN).and_then(|id| id.strip_prefix('/'))
            && let Some(median) = found.median(name)
        {
            samples.add(format!("{side}/bench/{id}"), median);
        }
    }
    Ok(())
}
