//! The choice of what is measured, and the plans that follow from it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::experiments::definition::{self, Mode, Plan};

/// The experiment on the accuracy of the links, which is no file.
pub(crate) const ACCURACY: &str = "emulator-accuracy";
/// The name that stands for all experiments.
pub(super) const ALL: &str = "all";

/// What of an experiment is measured.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Measure fewer values of each axis, for a shorter time, once
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of repetitions, instead of the experiment's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) repeat: Option<u32>,
    /// Another value of an axis, a variable or a key of the file: delay=5ms,10ms or traffic.duration=60s
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
    /// Measure only these rows
    #[arg(long, value_name = "ROW")]
    pub(super) only_row: Vec<String>,
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().into(), value.trim().into()))
}

impl Choice {
    /// Returns the plan of an experiment, with only the rows that are wanted.
    pub(crate) fn plan(&self, name: &str) -> Result<Plan> {
        let mode = Mode { quick: self.quick, repeat: self.repeat };
        let mut plan = definition::load(name, &self.set, mode)?;
        for row in &self.only_row {
            let names: Vec<_> = plan.rows.iter().map(|row| row.name.as_str()).collect();
            ensure!(
                names.contains(&row.as_str()),
                "--only-row {row}: {name} has the rows {}",
                names.join(", ")
            );
        }
        if !self.only_row.is_empty() {
            let wanted = |name: &String| self.only_row.contains(name);
            plan.rows.retain(|row| wanted(&row.name));
            plan.cases.retain(|case| wanted(&case.row));
            plan.published.retain(|published| wanted(&published.row));
            plan.expectations.retain(|e| wanted(&e.row) && e.over.iter().all(wanted));
        }
        Ok(plan)
    }
}

/// Returns the plans of all experiments that are asked for.
pub(crate) fn plans(asked: &[String], choice: &Choice) -> Result<Vec<Plan>> {
    let all = |name| if name == ALL { definition::names().collect() } else { vec![name] };
    let mut names: Vec<&str> = asked.iter().flat_map(|name| all(name.as_str())).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| *name != ACCURACY && seen.insert(*name));
    let plans = names.into_iter().map(|name| choice.plan(name)).collect::<Result<Vec<Plan>>>()?;
    let mut titles = BTreeSet::new();
    for plan in &plans {
        ensure!(
            titles.insert(&plan.name),
            "two experiments are called {}; rename a file",
            plan.name
        );
    }
    Ok(plans)
}

/// Returns a rounded duration as a text: "52 min".
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5399 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::accuracy;
    use crate::experiments::run::cases::{self, distinct};

    #[test]
    fn durations_are_for_people() {
        let time = |seconds| time(Duration::from_secs(seconds));
        assert_eq!(time(42), "42 s");
        assert_eq!(time(3120), "52 min");
        assert_eq!(time(9000), "2.5 h");
    }

    #[test]
    fn everything_quick_takes_less_than_an_hour() {
        let mode = Mode { quick: true, repeat: None };
        let plans: Vec<Plan> =
            definition::names().map(|name| definition::load(name, &[], mode).unwrap()).collect();
        let total = cases::expected(&distinct(&plans), 1) + accuracy::expected(true);
        assert!(total < Duration::from_secs(59 * 60), "{}", time(total));
    }

    #[test]
    fn assignments_have_a_key() {
        assert_eq!(assignment("delay = 5ms"), Ok(("delay".into(), "5ms".into())));
        assert!(assignment("delay").is_err());
    }
}
