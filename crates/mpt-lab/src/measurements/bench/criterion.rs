//! Results of `cargo bench`, as criterion leaves them in the target directory.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::results::samples::Samples;

/// First part of the name of a benchmark's median.
pub(crate) const MEDIAN: &str = "criterion";
/// First part of the names of the bounds of the median's 95 % confidence interval, the lower one first.
pub(super) const BOUNDS: &str = "criterion-bounds";

/// Adds the median time of every benchmark below `directory`, in nanoseconds per iteration, named `criterion/<id>`, and the
/// bounds of its confidence interval, named `criterion-bounds/<id>`. Where no benchmark has run there is nothing to add.
pub(crate) fn read(directory: &Path, samples: &mut Samples) -> Result<()> {
    visit(directory, "", samples)
}

/// Reads `<group>/<function>/<parameter>/new/estimates.json`, with as many levels as the id has.
fn visit(directory: &Path, name: &str, samples: &mut Samples) -> Result<()> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        match path.file_name().and_then(|file| file.to_str()) {
            Some("new") => {
                let file = path.join("estimates.json");
                let Ok(text) = fs::read_to_string(&file) else { continue };
                let median = parse(&text).with_context(|| file.display().to_string())?;
                samples.add(format!("{MEDIAN}{name}"), median.point_estimate);
                let interval = median.confidence_interval;
                samples.add(format!("{BOUNDS}{name}"), interval.lower_bound);
                samples.add(format!("{BOUNDS}{name}"), interval.upper_bound);
            }
            Some("base" | "change" | "report") | None => {}
            Some(level) => visit(&path, &format!("{name}/{level}"), samples)?,
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Returns the median of the times per iteration, in nanoseconds.
fn parse(estimates: &str) -> Result<Estimate> {
    Ok(serde_json::from_str::<Estimates>(estimates)?.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATES: &str = r#"{"mean":{"confidence_interval":{"confidence_level":0.95,
        "lower_bound":1.0,"upper_bound":2.0},"point_estimate":1.5,"standard_error":0.1},
        "median":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1.0,
        "upper_bound":2.0},"point_estimate":42.5,"standard_error":0.1},"slope":null}"#;

    #[test]
    fn medians_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        for id in ["one", "group/two", "group/three/1000"] {
            for version in ["new", "base"] {
                let path = directory.path().join(id).join(version);
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("estimates.json"), ESTIMATES).unwrap();
            }
        }
        let mut samples = Samples::default();
        read(directory.path(), &mut samples).unwrap();
        let names: Vec<_> = samples.names().collect();
        let expected = [
            "criterion-bounds/group/three/1000",
            "criterion-bounds/group/two",
            "criterion-bounds/one",
            "criterion/group/three/1000",
            "criterion/group/two",
            "criterion/one",
        ];
        assert_eq!(names, expected);
        assert_eq!(samples.values("criterion/one"), [42.5]);
        assert_eq!(samples.values("criterion-bounds/one"), [1.0, 2.0]);
    }

    #[test]
    fn no_results_are_no_error_but_broken_ones_are() {
        let directory = tempfile::tempdir().unwrap();
        let mut samples = Samples::default();
        read(&directory.path().join("missing"), &mut samples).unwrap();
        assert_eq!(samples.names().count(), 0);
        let path = directory.path().join("one/new");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("estimates.json"), "{}").unwrap();
        read(directory.path(), &mut samples).unwrap_err();
    }
}
