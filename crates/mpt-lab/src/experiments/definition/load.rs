//! Reading a file into a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::file::{Body, ExpectationFile, Header, PublishedFile, RowTable};
use super::mode::Mode;
use super::network::Network;
use super::plan::{Cell, Expectation, Plan, PlannedCase, Published, Row};
use super::syntax::source::Source;
use super::syntax::template::{Template, header_step};
use super::{catalogue, observation, rows, traffic};
use crate::experiments::case::{CaseSpec, Method, metric};

/// The most measurements of one experiment: more are a mistake in its axes.
const MOST_CASES: usize = 100_000;

/// Reads the plan of an experiment of the catalogue, or of a file.
///
/// `overrides` are axes, variables or keys of the file with other values.
///
/// # Errors
///
/// Returns an error if there is no such experiment, or the file is wrong: then it says where and what to write instead.
pub(crate) fn load(name_or_file: &str, overrides: &[(String, String)], mode: Mode) -> Result<Plan> {
    if let Some(text) = catalogue::text(name_or_file) {
        let file = format!("{name_or_file}.toml");
        return read(Source { name: &file, text }, name_or_file, None, overrides, mode);
    }
    let path = Path::new(name_or_file);
    if path.extension().is_none_or(|extension| extension != "toml") {
        bail!(
            "there is no experiment \"{name_or_file}\"; `mpt-lab list` names all, and the name of a file ends in .toml"
        );
    }
    let text = std::fs::read_to_string(path).with_context(|| name_or_file.to_owned())?;
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name = stem.with_context(|| format!("{name_or_file} has no name"))?;
    let directory = path.parent();
    read(Source { name: name_or_file, text: &text }, name, directory, overrides, mode)
}

pub(super) fn read(
    source: Source<'_>,
    name: &str,
    directory: Option<&Path>,
    overrides: &[(String, String)],
    mode: Mode,
) -> Result<Plan> {
    let template = Template::read(source, overrides, mode)?;
    let header = &template.header;
    check_metrics(&template)?;
    let repetitions = mode.repeat.unwrap_or(header.repetitions);
    if repetitions == 0 {
        let key = [super::syntax::source::Step::Key("repetitions")];
        let message = "0 measurements say nothing; write 1 or more";
        return Err(source.error_at(&template.header_tree, &key, message));
    }
    let mut names: Vec<Row> = Vec::new();
    // All rows, those included that this run leaves out.
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut once = Vec::new();
    for (cell, tree) in template.cells()? {
        let body: Body = source.read(tree.clone())?;
        let network = Network::read(&source, &tree, &body, directory)?;
        let traffic = traffic::traffic(&source, &tree, &body)?;
        let mut of_cell: BTreeSet<String> = BTreeSet::new();
        for (index, row) in body.rows.iter().enumerate() {
            let row = rows::complete(&row.0, &network.names());
            let step = header_step("rows", index, "only");
            if !of_cell.insert(row.name.clone()) {
                let message = format!("there are two rows \"{}\"; give one another name", row.name);
                return Err(source.error_at(&tree, &step, message));
            }
            known.insert(row.name.clone());
            let (network_spec, links, method) =
                rows::method(&source, &tree, index, &row, &body, &network)?;
            let is_tunnel = matches!(method, Method::Tunnel(_));
            let events = traffic::events(&source, &tree, &body, &network, &links, is_tunnel)?;
            let observation =
                observation::observation(&source, &tree, &body, &network, &links, &method)?;
            for (axis, values) in &row.only {
                let place = |message| source.error_at(&tree, &step, message);
                check_values(&template, axis, &values.0).map_err(place)?;
            }
            if !wanted(&row, &cell, mode.quick) {
                continue;
            }
            if !names.iter().any(|other| other.name == row.name) {
                let label = row.label.clone().unwrap_or_else(|| row.name.clone());
                names.push(Row { name: row.name.clone(), label });
            }
            let spec = CaseSpec {
                network: network_spec,
                backend: body.network.backend,
                method,
                traffic: traffic.clone(),
                events,
                observation,
                ecn: body.traffic.ecn.unwrap_or(false),
                receive_steering: body.network.receive_steering,
                scale: body.network.scale,
                seed: body.network.seed,
                repetition: 0,
            };
            let case = PlannedCase { cell: cell.clone(), row: row.name, spec };
            // If a cell sets the number of repetitions, the quick run and the command line still decide.
            let own = body.measure.repetitions.filter(|_| mode.repeat.is_none() && !mode.quick);
            once.push((case, own.unwrap_or(repetitions)));
        }
    }
    let most = once.iter().map(|&(_, repetitions)| repetitions).max().unwrap_or(0);
    if once.len().saturating_mul(most as usize) > MOST_CASES {
        bail!(
            "{}: more than {MOST_CASES} measurements; write fewer values or repetitions",
            source.name
        );
    }
    // Every repetition goes through all cells, so that a run that is cut short has all of them.
    let repeated = |repetition: u32| {
        once.iter().filter(move |(_, of_cell)| repetition < *of_cell).map(move |(case, _)| {
            let mut case = case.clone();
            case.spec.repetition = repetition;
            case.spec.seed = case.spec.seed.wrapping_add(u64::from(repetition));
            case
        })
    };
    let cases: Vec<PlannedCase> = (0..most).flat_map(repeated).collect();
    let mut plan = Plan {
        name: name.into(),
        title: header.title.clone(),
        source: header.source.clone(),
        about: header.about.trim().into(),
        axes: template.plan_axes(),
        // In the order of the file, also where the first cell has not all of them.
        rows: names,
        metric: header.metric.clone(),
        also: header.also.clone(),
        plots: header.plots.clone(),
        strict: header.strict,
        cases,
        published: Vec::new(),
        expectations: Vec::new(),
    };
    plan.published = published(&template, header, &known, &plan)?;
    plan.expectations = expectations(&template, header, &known, &plan)?;
    Ok(plan)
}

/// True if a row is measured in a cell.
fn wanted(row: &RowTable, cell: &Cell, quick: bool) -> bool {
    let there = row
        .only
        .iter()
        .all(|(axis, values)| cell.get(axis).is_some_and(|value| values.0.contains(value)));
    there && (!quick || row.quick.unwrap_or(true))
}

/// Checks that an axis has these values; the error names the ones that it has.
fn check_values(template: &Template<'_>, axis: &str, values: &[String]) -> Result<(), String> {
    let Some(found) = template.axes.iter().find(|other| other.name == axis) else {
        let names: Vec<_> = template.axes.iter().map(|axis| axis.name.as_str()).collect();
        return Err(format!("there is no axis \"{axis}\"; write one of {}", names.join(", ")));
    };
    for value in values {
        if !found.all.contains(value) {
            let all = found.all.join(", ");
            return Err(format!("the axis {axis} has no value \"{value}\"; write one of {all}"));
        }
    }
    Ok(())
}

fn check_metrics(template: &Template<'_>) -> Result<()> {
    let header = &template.header;
    let one = |metric: &Option<String>| metric.clone();
    let metrics = [("metric", header.metric.clone())]
        .into_iter()
        .chain(header.also.iter().map(|metric| ("also", metric.clone())))
        .chain(header.published.iter().filter_map(|p| Some(("published", one(&p.metric)?))))
        .chain(header.expectation.iter().filter_map(|e| Some(("expectation", one(&e.metric)?))));
    for (key, name) in metrics {
        if !metric::ALL.contains(&name.as_str()) {
            let message =
                format!("\"{name}\" is not a metric; write one of {}", metric::ALL.join(", "));
            let key = [super::syntax::source::Step::Key(key)];
            return Err(template.source.error_at(&template.header_tree, &key, message));
        }
    }
    Ok(())
}

/// Returns the figures of the paper for the cells of this run.
fn published(
    template: &Template<'_>,
    header: &Header,
    known: &BTreeSet<String>,
    plan: &Plan,
) -> Result<Vec<Published>> {
    let mut all = Vec::new();
    for (index, file) in header.published.iter().enumerate() {
        let error = |key: &'static str, message: String| {
            let step = header_step("published", index, key);
            template.source.error_at(&template.header_tree, &step, message)
        };
        check_row(known, &file.row).map_err(|why| error("row", why))?;
        for (axis, value) in &file.only {
            check_values(template, axis, std::slice::from_ref(value))
                .map_err(|why| error("only", why))?;
        }
        let metric = file.metric.clone().unwrap_or_else(|| header.metric.clone());
        for (cell, value) in figures(template, file).map_err(|(key, why)| error(key, why))? {
            if in_run(plan, &cell, &file.row) {
                all.push(Published { cell, row: file.row.clone(), metric: metric.clone(), value });
            }
        }
    }
    Ok(all)
}

/// Returns the cells and values of a table of figures; an error is a key and what is wrong there.
fn figures(
    template: &Template<'_>,
    file: &PublishedFile,
) -> Result<Vec<(Cell, f64)>, (&'static str, String)> {
    match (&file.along, &file.values, file.value) {
        (None, None, Some(value)) => Ok(vec![(file.only.clone(), value.0)]),
        (Some(along), Some(values), None) => {
            check_values(template, along, &[]).map_err(|why| ("along", why))?;
            let axis = template.axes.iter().find(|axis| axis.name == *along);
            let labels = axis.map(|axis| axis.all.clone()).unwrap_or_default();
            if labels.len() != values.len() {
                let message = format!(
                    "{} figures for {} values of the axis {along}; write one for each",
                    values.len(),
                    labels.len()
                );
                return Err(("values", message));
            }
            let figure = |(label, value): (String, &super::file::Number)| {
                let mut cell = file.only.clone();
                cell.insert(along.clone(), label);
                (cell, value.0)
            };
            Ok(labels.into_iter().zip(values).map(figure).collect())
        }
        _ => Err(("value", "write either value, or along and values".into())),
    }
}

fn expectations(
    template: &Template<'_>,
    header: &Header,
    known: &BTreeSet<String>,
    plan: &Plan,
) -> Result<Vec<Expectation>> {
    let mut all = Vec::new();
    for (index, file) in header.expectation.iter().enumerate() {
        let error = |key: &'static str, message: String| {
            let step = header_step("expectation", index, key);
            template.source.error_at(&template.header_tree, &step, message)
        };
        check_row(known, &file.row).map_err(|why| error("row", why))?;
        for row in &file.over {
            check_row(known, row).map_err(|why| error("over", why))?;
        }
        if file.at_least.is_none() && file.at_most.is_none() {
            return Err(error("at_least", "missing; write at_least or at_most".into()));
        }
        if file.sound_up_to.is_some() && (file.over.is_empty() || file.difference) {
            return Err(error(
                "sound_up_to",
                "only a ratio has one; write over, and no difference".into(),
            ));
        }
        for (axis, values) in &file.only {
            check_values(template, axis, &values.0).map_err(|why| error("only", why))?;
        }
        let rows = std::iter::once(&file.row).chain(&file.over);
        for only in cells(file) {
            if rows.clone().all(|row| in_run(plan, &only, row)) {
                all.push(Expectation {
                    what: file.what.clone(),
                    row: file.row.clone(),
                    metric: file.metric.clone().unwrap_or_else(|| header.metric.clone()),
                    over: file.over.clone(),
                    difference: file.difference,
                    at_least: file.at_least.map(|limit| limit.0),
                    at_most: file.at_most.map(|limit| limit.0),
                    sound_up_to: file.sound_up_to.map(|limit| limit.0),
                    only,
                    goal: file.goal,
                });
            }
        }
    }
    Ok(all)
}

/// Returns every combination of the values that an expectation is about.
fn cells(file: &ExpectationFile) -> Vec<Cell> {
    let mut cells = vec![BTreeMap::new()];
    for (axis, values) in &file.only {
        let with = |cell: &Cell| {
            let (cell, axis) = (cell.clone(), axis.clone());
            values.0.iter().map(move |value| {
                let mut cell = cell.clone();
                cell.insert(axis.clone(), value.clone());
                cell
            })
        };
        cells = cells.iter().flat_map(with).collect::<Vec<_>>();
    }
    cells
}

fn check_row(known: &BTreeSet<String>, row: &str) -> Result<(), String> {
    if known.contains(row) {
        return Ok(());
    }
    let all: Vec<_> = known.iter().map(String::as_str).collect();
    Err(format!("there is no row \"{row}\"; write one of {}", all.join(", ")))
}

/// True if this run measures a row in a cell, of which not every axis needs to be named.
fn in_run(plan: &Plan, cell: &Cell, row: &str) -> bool {
    plan.cases.iter().any(|case| {
        case.row == row && cell.iter().all(|(axis, value)| case.cell.get(axis) == Some(value))
    })
}
