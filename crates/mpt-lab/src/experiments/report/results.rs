//! An experiment and its measurements: read from a directory, judged sound or refused with the name of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::experiments::case::CaseResult;
use crate::experiments::definition::Plan;
use crate::results::files::replace;

/// Directory of the results of single measurements.
pub(super) const CASES: &str = "cases";
/// Directory of the emulator's own experiment, which has neither plan nor cases.
pub(super) const ACCURACY: &str = "emulator-accuracy";
const PLAN: &str = "plan.json";
const RESULTS: &str = "results.json";

/// An experiment with all its measurements; `results.json` is this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Results {
    /// The plan of the measurements.
    pub(crate) plan: Plan,
    /// The results, by the fingerprint of their specifications.
    pub(crate) cases: BTreeMap<String, CaseResult>,
}

/// Reads what there is of an experiment's measurements below `out`.
///
/// # Errors
///
/// Returns an error that names the file that cannot be read, or that holds something else than its name says.
pub(crate) fn results(plan: Plan, out: &Path) -> Result<Results> {
    let mut cases = BTreeMap::new();
    let fingerprints: BTreeSet<_> = plan.cases.iter().map(|case| case.spec.fingerprint()).collect();
    for fingerprint in fingerprints {
        let path = out.join(CASES).join(format!("{fingerprint}.json"));
        if path.exists() {
            cases.insert(fingerprint, read(&path)?);
        }
    }
    let results = Results { plan, cases };
    results.check().with_context(|| format!("results below {}", out.display()))?;
    Ok(results)
}

/// Reads all experiments below `out`, by name. An experiment is a directory with `plan.json`, or with `results.json`
/// alone, as somebody else may have sent it.
pub(super) fn load(out: &Path) -> Result<Vec<Results>> {
    let mut directories = Vec::new();
    let entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", out.display()))?.path();
        let special = path.file_name().is_some_and(|name| name == CASES || name == ACCURACY);
        if path.is_dir() && !special {
            directories.push(path);
        }
    }
    directories.sort();
    let mut all = Vec::new();
    for directory in directories {
        let (plan_file, results_file) = (directory.join(PLAN), directory.join(RESULTS));
        let (file, loaded) = if plan_file.exists() {
            let plan: Plan = read(&plan_file)?;
            check_plan(&plan).with_context(|| plan_file.display().to_string())?;
            (plan_file, results(plan, out)?)
        } else if results_file.exists() {
            let loaded: Results = read(&results_file)?;
            loaded.check().with_context(|| results_file.display().to_string())?;
            (results_file, loaded)
        } else {
            continue;
        };
        // The name becomes that of a directory to write to.
        ensure!(
            directory.file_name().is_some_and(|name| name == loaded.plan.name.as_str()),
            "{}: the experiment is called \"{}\", unlike its directory",
            file.display(),
            loaded.plan.name
        );
        all.push(loaded);
    }
    Ok(all)
}

impl Results {
    /// Writes `results.json` of the experiment.
    pub(super) fn write(&self, out: &Path) -> Result<()> {
        let json = serde_json::to_vec(self).context("results cannot be written as JSON")?;
        replace(&self.directory(out).join(RESULTS), &json)
    }

    /// Returns the directory of the experiment's files.
    pub(super) fn directory(&self, out: &Path) -> PathBuf {
        out.join(&self.plan.name)
    }

    /// Checks everything that the rest of the report relies on.
    fn check(&self) -> Result<()> {
        check_plan(&self.plan)?;
        for (fingerprint, case) in &self.cases {
            ensure!(
                case.spec.fingerprint() == *fingerprint,
                "{fingerprint}.json: holds another measurement than its name says"
            );
            for (name, series) in &case.series {
                ensure!(
                    series.step.is_finite() && series.step > 0.0,
                    "{fingerprint}.json: series \"{name}\": {} seconds between its values",
                    series.step
                );
            }
        }
        Ok(())
    }
}

fn check_plan(plan: &Plan) -> Result<()> {
    let unique = |names: &mut dyn Iterator<Item = &String>, what: &str| -> Result<()> {
        let mut seen = BTreeSet::new();
        for name in names {
            ensure!(seen.insert(name.clone()), "two {what} are called \"{name}\"");
        }
        Ok(())
    };
    unique(&mut plan.axes.iter().map(|axis| &axis.name), "axes")?;
    unique(&mut plan.rows.iter().map(|row| &row.name), "rows")?;
    for case in &plan.cases {
        ensure!(
            plan.rows.iter().any(|row| row.name == case.row),
            "a case is of the row \"{}\", which there is not",
            case.row
        );
        for (name, value) in &case.cell {
            match plan.axes.iter().find(|axis| axis.name == *name) {
                None => bail!("a case stands on the axis \"{name}\", which there is not"),
                Some(axis) => ensure!(
                    axis.values.contains(value),
                    "a case has {name} = \"{value}\", which is not on that axis"
                ),
            }
        }
    }
    Ok(())
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot understand {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::samples::delays;
    use super::*;

    /// Returns the error of reading a directory after `spoil` has changed it.
    fn refused(spoil: impl FnOnce(&Path)) -> String {
        let out = tempfile::tempdir().unwrap();
        delays().write(out.path());
        spoil(out.path());
        format!("{:#}", load(out.path()).unwrap_err())
    }

    /// Replaces the plan on disk by the one that `edit` makes of its JSON.
    fn edited(out: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
        let file = out.join("imareen2023-table1/plan.json");
        let mut plan = read(&file).unwrap();
        edit(&mut plan);
        replace(&file, plan.to_string().as_bytes()).unwrap();
    }

    fn first_case(out: &Path) -> PathBuf {
        let mut cases: Vec<_> =
            fs::read_dir(out.join(CASES)).unwrap().map(|entry| entry.unwrap().path()).collect();
        cases.sort();
        cases.remove(0)
    }

    #[test]
    fn what_was_written_is_read() {
        let out = tempfile::tempdir().unwrap();
        let sample = delays().planned(&[("delay", "0ms")], "ours", 1);
        sample.write(out.path());
        fs::create_dir(out.path().join("something else")).unwrap();
        assert_eq!(load(out.path()).unwrap(), std::slice::from_ref(&sample.results));
        // `results.json` alone is enough.
        let copy = tempfile::tempdir().unwrap();
        sample.results.write(copy.path()).unwrap();
        assert_eq!(load(copy.path()).unwrap(), [sample.results]);
    }

    #[test]
    fn a_garbled_file_is_named() {
        let plan = "imareen2023-table1/plan.json";
        let written = |text: &'static [u8]| refused(|out| fs::write(out.join(plan), text).unwrap());
        for text in [&b"{}"[..], b"", b"[1,2", b"\xff\xfe", b"null"] {
            let error = written(text);
            assert!(error.contains("cannot understand") && error.contains(plan), "{error}");
        }
        let error = refused(|out| fs::write(first_case(out), "{\"spec\": 1e999}").unwrap());
        assert!(error.contains("cannot understand") && error.contains("/cases/"), "{error}");
        let error = refused(|out| {
            fs::remove_file(out.join(plan)).unwrap();
            fs::create_dir(out.join(plan)).unwrap();
        });
        assert!(error.contains("cannot read") && error.contains(plan), "{error}");
        let error = format!("{:#}", load(Path::new("/nonexistent")).unwrap_err());
        assert!(error.contains("/nonexistent"), "{error}");
    }

    #[test]
    fn a_plan_that_contradicts_itself_is_refused() {
        let error = refused(|out| edited(out, |plan| plan["name"] = "../elsewhere".into()));
        assert!(error.contains("plan.json: the experiment is called \"../elsewhere\""), "{error}");
        let error = refused(|out| edited(out, |plan| plan["cases"][0]["row"] = "theirs".into()));
        assert!(error.contains("plan.json: a case is of the row \"theirs\""), "{error}");
        let error =
            refused(|out| edited(out, |plan| plan["cases"][0]["cell"]["delay"] = "7ms".into()));
        assert!(error.contains("a case has delay = \"7ms\""), "{error}");
        let error =
            refused(|out| edited(out, |plan| plan["cases"][0]["cell"]["loss"] = "1%".into()));
        assert!(error.contains("on the axis \"loss\""), "{error}");
        let error = refused(|out| edited(out, |plan| plan["rows"][1] = plan["rows"][0].clone()));
        assert!(error.contains("two rows are called \"path1\""), "{error}");
    }

    #[test]
    fn a_measurement_under_another_name_is_refused() {
        let error = refused(|out| {
            let one = first_case(out);
            let other = fs::read_dir(out.join(CASES)).unwrap().map(|entry| entry.unwrap().path());
            let other = other.filter(|path| *path != one).min().unwrap();
            fs::copy(other, one).unwrap();
        });
        assert!(error.contains("holds another measurement than its name says"), "{error}");
    }

    #[test]
    fn series_without_time_are_refused() {
        let error = refused(|out| {
            let file = first_case(out);
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, text.replace("\"step\":0.1", "\"step\":0")).unwrap();
        });
        assert!(error.contains("series \"goodput\": 0 seconds between its values"), "{error}");
    }
}
