//! Experiments and measurements made up for tests.

use std::collections::BTreeMap;
use std::path::Path;

use super::results::{CASES, Results};
use crate::experiments::case::{
    Backend, CaseResult, CaseSpec, Environment, Flag, Method, NetworkSpec, Observation, Series,
    Traffic, TunnelSpec, metric,
};
use crate::experiments::definition::{Axis, Cell, Expectation, Plan, PlannedCase, Published, Row};
use crate::results::files::replace;

/// An experiment in the making.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) results: Results,
    /// Seed of the next measurement. Every measurement gets a seed of its own, hence a fingerprint of its own.
    seed: u64,
}

pub(super) fn cell(axes: &[(&str, &str)]) -> Cell {
    axes.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect()
}

/// Returns an expectation of goodput over other rows.
pub(super) fn expectation(row: &str, over: &[&str], at_least: f64) -> Expectation {
    Expectation {
        what: format!("{row} is good"),
        row: row.to_owned(),
        metric: metric::GOODPUT.to_owned(),
        over: over.iter().map(|&row| row.to_owned()).collect(),
        difference: false,
        at_least: Some(at_least),
        at_most: None,
        sound_up_to: None,
        only: Cell::new(),
        goal: false,
    }
}

impl Sample {
    pub(super) fn new(name: &str) -> Self {
        let plan = Plan {
            name: name.to_owned(),
            title: format!("Title of {name}"),
            source: "imareen2023, Table I".to_owned(),
            about: "Delay in both directions.".to_owned(),
            axes: Vec::new(),
            rows: Vec::new(),
            metric: metric::GOODPUT.to_owned(),
            also: vec![metric::RETRANSMISSIONS.to_owned()],
            plots: vec!["goodput".to_owned()],
            strict: false,
            cases: Vec::new(),
            published: Vec::new(),
            expectations: Vec::new(),
        };
        Self { results: Results { plan, cases: BTreeMap::new() }, seed: 0 }
    }

    pub(super) fn axis(mut self, name: &str, values: &[&str]) -> Self {
        self.results.plan.axes.push(Axis {
            name: name.to_owned(),
            label: format!("{name} of path 1"),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        });
        self
    }

    pub(super) fn rows(mut self, names: &[&str]) -> Self {
        let rows =
            names.iter().map(|&name| Row { name: name.into(), label: format!("row {name}") });
        self.results.plan.rows.extend(rows);
        self
    }

    pub(super) fn published(mut self, at: &[(&str, &str)], row: &str, value: f64) -> Self {
        let metric = metric::GOODPUT.to_owned();
        let published = Published { cell: cell(at), row: row.to_owned(), metric, value };
        self.results.plan.published.push(published);
        self
    }

    pub(super) fn expects(mut self, expectation: Expectation) -> Self {
        self.results.plan.expectations.push(expectation);
        self
    }

    /// Adds repetitions that were planned and not measured.
    pub(super) fn planned(mut self, at: &[(&str, &str)], row: &str, count: usize) -> Self {
        for _ in 0..count {
            self.plan_case(at, row);
        }
        self
    }

    /// Adds repetitions, each with its goodput.
    pub(super) fn measured(mut self, at: &[(&str, &str)], row: &str, goodputs: &[f64]) -> Self {
        for &goodput in goodputs {
            let spec = self.plan_case(at, row);
            self.insert(result(spec, goodput));
        }
        self
    }

    /// Adds a repetition with a goodput and a flag.
    pub(super) fn flagged(
        mut self,
        at: &[(&str, &str)],
        row: &str,
        value: f64,
        flag: Flag,
    ) -> Self {
        let spec = self.plan_case(at, row);
        self.insert(CaseResult { flags: vec![flag], ..result(spec, value) });
        self
    }

    /// Sets the scale of everything planned so far.
    pub(super) fn scaled(mut self, scale: f64) -> Self {
        let cases = std::mem::take(&mut self.results.cases);
        for case in &mut self.results.plan.cases {
            let found = cases.get(&case.spec.fingerprint()).cloned();
            case.spec.scale = scale;
            if let Some(found) = found {
                let spec = case.spec.clone();
                self.results.cases.insert(spec.fingerprint(), CaseResult { spec, ..found });
            }
        }
        self
    }

    fn plan_case(&mut self, at: &[(&str, &str)], row: &str) -> CaseSpec {
        self.seed += 1;
        let plan = &mut self.results.plan;
        let place = |case: &&PlannedCase| case.row == row && case.cell == cell(at);
        let repetition = plan.cases.iter().filter(place).count() as u32;
        let spec = CaseSpec {
            network: NetworkSpec { channels: Vec::new(), links: Vec::new() },
            backend: Backend::Emulator,
            method: match row {
                "ours" | "paper" => Method::Tunnel(TunnelSpec {
                    inner: 4,
                    outer: 4,
                    session: false,
                    second_connection: false,
                    connection: BTreeMap::new(),
                    paths_a: Vec::new(),
                    paths_b: Vec::new(),
                }),
                _ => Method::Plain,
            },
            traffic: Traffic::Ping { count: 1, interval: std::time::Duration::from_millis(10) },
            events: Vec::new(),
            observation: Observation::default(),
            ecn: false,
            receive_steering: false,
            scale: 1.0,
            seed: self.seed,
            repetition,
        };
        plan.cases.push(PlannedCase { cell: cell(at), row: row.into(), spec: spec.clone() });
        spec
    }

    fn insert(&mut self, result: CaseResult) {
        self.results.cases.insert(result.spec.fingerprint(), result);
    }

    /// Writes it as the runner does.
    pub(super) fn write(&self, out: &Path) {
        let plan = serde_json::to_vec(&self.results.plan).unwrap();
        replace(&self.results.directory(out).join("plan.json"), &plan).unwrap();
        for (fingerprint, case) in &self.results.cases {
            let case = serde_json::to_vec(case).unwrap();
            replace(&out.join(CASES).join(format!("{fingerprint}.json")), &case).unwrap();
        }
    }
}

fn result(spec: CaseSpec, goodput: f64) -> CaseResult {
    let programs = BTreeMap::from([("iperf3".to_owned(), "3.12".to_owned())]);
    let series = Series { unit: "Mbit/s".into(), step: 0.1, values: vec![goodput / 2.0, goodput] };
    let metrics = [(metric::GOODPUT, goodput), (metric::RETRANSMISSIONS, 7.0)];
    CaseResult {
        spec,
        metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
        series: BTreeMap::from([("goodput".to_owned(), series)]),
        counters: BTreeMap::new(),
        flags: Vec::new(),
        environment: Environment {
            mpt: "0.1.0 (abcdef0)".to_owned(),
            kernel: "6.1.0".to_owned(),
            processors: "2 x Example".to_owned(),
            emulator: "mpt-lab 0.1.0".to_owned(),
            programs,
        },
        began: 1_767_225_600,
        took: 12.5,
    }
}

/// Returns a table of delays with two paths and two tunnels, everything sound but for one cell that the machine limited.
pub(super) fn delays() -> Sample {
    let mut sample = Sample::new("imareen2023-table1")
        .axis("delay", &["0ms", "10ms", "50ms"])
        .rows(&["path1", "path2", "mptcp", "paper", "ours"])
        .expects(expectation("ours", &["path1", "path2"], 0.97))
        .expects(expectation("paper", &["path1", "path2"], 0.4));
    let lines: [(&str, f64, &[f64], &[f64]); 3] = [
        ("0ms", 103.5, &[102.9, 103.1, 102.5], &[103.4, 103.5, 103.2]),
        ("10ms", 98.61, &[97.0, 99.5, 98.2], &[103.1, 103.0, 103.3]),
        ("50ms", 52.65, &[50.1, 49.0, 55.5], &[102.2, 102.9, 102.6]),
    ];
    for (delay, printed, paper, ours) in lines {
        let at = [("delay", delay)];
        sample = sample
            .published(&at, "paper", printed)
            .measured(&at, "path1", &[9.8, 9.82, 9.81])
            .measured(&at, "path2", &[94.8, 94.75, 94.8])
            .measured(&at, "paper", paper)
            .measured(&at, "ours", ours);
        sample = match delay {
            "10ms" => sample.flagged(&at, "mptcp", 77.77, Flag::CpuSaturated { idle: 0.01 }),
            _ => sample.measured(&at, "mptcp", &[102.0]),
        };
    }
    sample
}
