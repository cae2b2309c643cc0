//! Results for spreadsheets and statistics programs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use csv::Writer;

use crate::experiments::case::{Backend, CaseResult};
use crate::experiments::report::figure::{Grid, Outcome, Repetition};
use crate::results::files::replace;

/// Writes `cases.csv` (one line per planned measurement, all its metrics) and `series.csv` (one line per value over
/// time).
///
/// Writes the files. A measurement that was limited by the machine or the emulator, or that failed, has its state and no figures; `results.json` has
/// what it measured.
pub(crate) fn write(grid: &Grid, directory: &Path) -> Result<()> {
    let files = [("cases.csv", cases(grid)), ("series.csv", series(grid))];
    for (name, contents) in files {
        let path = directory.join(name);
        let contents = contents.with_context(|| format!("cannot write {}", path.display()))?;
        replace(&path, &contents)?;
    }
    Ok(())
}

fn cases(grid: &Grid) -> Result<Vec<u8>> {
    let sound = || grid.every().filter_map(|(_, _, repetition)| sound(repetition));
    let metrics: BTreeSet<&String> = sound().flat_map(|case| case.metrics.keys()).collect();
    let mut writer = Writer::from_writer(Vec::new());
    let fixed = ["row", "repetition", "fingerprint", "state", "why"];
    let more = ["backend", "scale", "seed", "began", "took_s"];
    let heading = axes(grid).chain(fixed).chain(more);
    writer.write_record(heading.chain(metrics.iter().map(|name| name.as_str())))?;
    for (cell, row, repetition) in grid.every() {
        let mut record = place(grid, cell, row, repetition);
        let (state, why) = match &repetition.outcome {
            Outcome::Missing => ("not measured", String::new()),
            Outcome::Failed(why) => ("failed", why.clone()),
            Outcome::Limited(limit) => ("limited", limit.sentence()),
            Outcome::Sound(_) => ("sound", String::new()),
        };
        let spec = repetition.spec;
        let backend = match spec.backend {
            Backend::Emulator => "emulator",
            Backend::Kernel => "kernel",
        };
        record.extend([state.to_owned(), why, backend.to_owned()]);
        record.extend([spec.scale.to_string(), spec.seed.to_string()]);
        let case = repetition.case;
        record.push(case.map(|case| case.began.to_string()).unwrap_or_default());
        record.push(case.map(|case| case.took.to_string()).unwrap_or_default());
        record.extend(metrics.iter().map(|&name| {
            let value = sound_metric(repetition, name);
            value.map(|value| value.to_string()).unwrap_or_default()
        }));
        writer.write_record(&record)?;
    }
    Ok(writer.into_inner()?)
}

fn series(grid: &Grid) -> Result<Vec<u8>> {
    let mut writer = Writer::from_writer(Vec::new());
    let fixed = ["row", "repetition", "fingerprint", "series", "unit", "time_s", "value"];
    writer.write_record(axes(grid).chain(fixed))?;
    for (cell, row, repetition) in grid.every() {
        let Some(case) = sound(repetition) else { continue };
        let place = place(grid, cell, row, repetition);
        for (name, series) in &case.series {
            for (index, value) in series.values.iter().enumerate() {
                // The time is the end of the interval, when its value is known.
                let time = format!("{:.3}", (index as f64 + 1.0) * series.step);
                let value = value.to_string();
                let ours = [name, &series.unit, &time, &value];
                writer.write_record(place.iter().chain(ours))?;
            }
        }
    }
    Ok(writer.into_inner()?)
}

fn axes<'g>(grid: &'g Grid) -> impl Iterator<Item = &'g str> {
    grid.results.plan.axes.iter().map(|axis| axis.name.as_str())
}

/// Returns the values of the axes, row, repetition and fingerprint.
fn place(grid: &Grid, cell: usize, row: &str, repetition: &Repetition) -> Vec<String> {
    let values = axes(grid).map(|axis| grid.cells[cell].get(axis).cloned().unwrap_or_default());
    let mut place: Vec<String> = values.collect();
    place.push(row.to_owned());
    place.push(repetition.spec.repetition.to_string());
    place.push(repetition.fingerprint.clone());
    place
}

fn sound<'a>(repetition: &Repetition<'a>) -> Option<&'a CaseResult> {
    match repetition.outcome {
        Outcome::Sound(case) => Some(case),
        _ => None,
    }
}

fn sound_metric(repetition: &Repetition, name: &str) -> Option<f64> {
    sound(repetition)?.metrics.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::case::Flag;
    use crate::experiments::report::samples::{Sample, delays};

    fn text(contents: Result<Vec<u8>>) -> String {
        String::from_utf8(contents.unwrap()).unwrap()
    }

    #[test]
    fn one_line_per_planned_measurement() {
        let sample = delays().planned(&[("delay", "50ms")], "ours", 1);
        let written = text(cases(&Grid::new(&sample.results)));
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines.len(), 1 + sample.results.plan.cases.len());
        let heading = "delay,row,repetition,fingerprint,state,why,backend,scale,seed,began,took_s,\
                       goodput_mbit,retransmissions";
        assert_eq!(lines[0], heading);
        assert!(lines[1].starts_with("0ms,path1,0,"), "{}", lines[1]);
        assert!(lines[1].ends_with(",sound,,emulator,1,1,1767225600,12.5,9.8,7"), "{}", lines[1]);
        let missing = lines.iter().find(|line| line.contains("not measured")).unwrap();
        assert!(missing.ends_with(",,,,"), "{missing}");
    }

    #[test]
    fn a_limited_measurement_has_no_figures() {
        let sample = delays();
        let written = text(cases(&Grid::new(&sample.results)));
        let limited = written.lines().find(|line| line.contains(",limited,")).unwrap();
        assert!(limited.ends_with(",12.5,,"), "{limited}");
        assert!(!written.contains("77.77"));
        let written = text(series(&Grid::new(&sample.results)));
        assert!(!written.contains("77.77"));
    }

    #[test]
    fn whatever_stands_in_files_comes_back_as_it_was() {
        let odd = "a \"quoted\", odd\nvalue";
        let why = Flag::Failed { why: "one,\r\ntwo;\"three\"".into() };
        let sample = Sample::new("x").axis(odd, &[odd]).rows(&["ours"]);
        let sample = sample.flagged(&[(odd, odd)], "ours", 1.0, why);
        let written = text(cases(&Grid::new(&sample.results)));
        let mut reader = csv::Reader::from_reader(written.as_bytes());
        assert_eq!(reader.headers().unwrap().get(0), Some(odd));
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!((record.get(0), record.get(5)), (Some(odd), Some("one,\r\ntwo;\"three\"")));
    }

    #[test]
    fn series_are_long() {
        let sample = Sample::new("x").rows(&["ours"]).measured(&[], "ours", &[8.0]);
        let fingerprint = sample.results.plan.cases[0].spec.fingerprint();
        let expected = format!(
            "row,repetition,fingerprint,series,unit,time_s,value\n\
             ours,0,{fingerprint},goodput,Mbit/s,0.100,4\n\
             ours,0,{fingerprint},goodput,Mbit/s,0.200,8\n"
        );
        assert_eq!(text(series(&Grid::new(&sample.results))), expected);
    }
}
