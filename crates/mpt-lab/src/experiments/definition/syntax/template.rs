//! Axes and variables, and a file with their values put in where it says `"$name"`.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Error;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

use super::source::{Node, Source, Step, Tree, assign, from_command_line, merge, moved};
use crate::experiments::definition::file::Header;
use crate::experiments::definition::plan::Cell;
use crate::experiments::definition::{Mode, plan};

/// The keys of [`Header`], which do not vary.
const HEADER: [&str; 10] = [
    "title",
    "source",
    "about",
    "metric",
    "also",
    "plots",
    "repetitions",
    "strict",
    "published",
    "expectation",
];
/// The keys of [`crate::experiments::definition::file::Body`], which may vary.
const BODY: [&str; 8] =
    ["network", "channel", "link", "traffic", "measure", "beside", "event", "rows"];
/// The keys that make the rest vary.
const VARYING: [&str; 3] = ["axis", "variables", "quick"];
/// The most cells of one experiment: more are a mistake in its axes.
const MOST_CELLS: usize = 10_000;

/// A file, ready to be read once for each cell.
pub(crate) struct Template<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) header: Header,
    /// The tree of the header, with the places of its keys.
    pub(crate) header_tree: Tree<'a>,
    pub(crate) axes: Vec<Axis<'a>>,
    variables: Variables<'a>,
    body: Tree<'a>,
}

type Variables<'a> = BTreeMap<String, Node<'a>>;

/// An axis with its values of this run.
pub(crate) struct Axis<'a> {
    pub(crate) name: String,
    pub(crate) label: String,
    /// All values of the file, for messages and for the published figures.
    pub(crate) all: Vec<String>,
    values: Vec<AxisValue<'a>>,
    place: Range<usize>,
}

#[derive(Clone)]
struct AxisValue<'a> {
    label: String,
    variables: Variables<'a>,
    place: Range<usize>,
}

/// An axis without its values, which are nodes and not types.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisFile {
    name: String,
    label: String,
}

impl<'a> Template<'a> {
    /// Reads what does not vary. `overrides` are keys and values of the command line: the values of an axis, a variable, or
    /// any key of the file by its full name, such as `traffic.duration`.
    pub(crate) fn read(
        source: Source<'a>,
        overrides: &'a [(String, String)],
        mode: Mode,
    ) -> Result<Self, Error> {
        let mut root = source.parse()?;
        check_keys(&source, &root)?;
        let quick = take_table(&source, &mut root, "quick")?;
        if mode.quick {
            if !quick.contains_key("repetitions") {
                root.remove("repetitions");
            }
            merge(&mut root, quick);
        }
        for (key, value) in overrides.iter().filter(|(key, _)| key.contains('.')) {
            assign(&mut root, key, from_command_line(value))
                .map_err(|table| anyhow::anyhow!("--set: {key}: {table} is not a table"))?;
        }
        check_keys(&source, &root)?;
        let mut axes = read_axes(&source, &mut root, mode.quick)?;
        let mut variables: Variables<'_> = take_table(&source, &mut root, "variables")?
            .into_iter()
            .map(|(key, value)| (key.into_inner().into_owned(), value))
            .collect();
        for (key, value) in overrides.iter().filter(|(key, _)| !key.contains('.')) {
            if let Some(axis) = axes.iter_mut().find(|axis| axis.name == *key) {
                axis.restrict(value).map_err(|why| anyhow::anyhow!("--set: {key}: {why}"))?;
            } else if let Some(variable) = variables.get_mut(key) {
                *variable = from_command_line(value);
            } else {
                let names = axes.iter().map(|axis| axis.name.as_str());
                let names: Vec<_> = names.chain(variables.keys().map(String::as_str)).collect();
                let names = if names.is_empty() { "nothing".into() } else { names.join(", ") };
                anyhow::bail!(
                    "--set: {key}: {} has no such axis or variable; it has {names}, and every key of the file can be \
                     set by its full name, such as traffic.duration",
                    source.name
                );
            }
        }
        let (body, header_tree) =
            root.into_iter().partition(|(key, _)| BODY.contains(&key.get_ref().as_ref()));
        let header: Header = source.read(Tree::clone(&header_tree))?;
        let template = Self { source, header, header_tree, axes, variables, body };
        template.check_names()?;
        Ok(template)
    }

    /// Returns every cell with the file as it is there, in the order of the axes, the last of which varies fastest.
    pub(crate) fn cells(&self) -> Result<Vec<(Cell, Tree<'a>)>, Error> {
        let mut cells = vec![(Cell::new(), self.variables.clone())];
        for axis in &self.axes {
            let with = |(cell, variables): &(Cell, Variables<'a>)| -> Vec<_> {
                let at = |value: &AxisValue<'a>| {
                    let (mut cell, mut variables) = (cell.clone(), variables.clone());
                    cell.insert(axis.name.clone(), value.label.clone());
                    variables.extend(value.variables.clone());
                    (cell, variables)
                };
                axis.values.iter().map(at).collect()
            };
            if cells.len() * axis.values.len() > MOST_CELLS {
                let message = format!(
                    "together the axes have more than {MOST_CELLS} cells; write fewer values"
                );
                return Err(self.source.error(&axis.place, "axis.values", message));
            }
            cells = cells.iter().flat_map(with).collect();
        }
        let put_in = |(cell, variables): (Cell, Variables<'a>)| {
            let mut body = self.body.clone();
            for (key, value) in &mut body {
                substitute(&self.source, key.get_ref(), value, &variables)?;
            }
            Ok((cell, body))
        };
        cells.into_iter().map(put_in).collect()
    }

    /// Returns the axes for the plan.
    pub(crate) fn plan_axes(&self) -> Vec<plan::Axis> {
        let labels = |axis: &Axis<'_>| axis.values.iter().map(|v| v.label.clone()).collect();
        let axis = |axis: &Axis<'_>| plan::Axis {
            name: axis.name.clone(),
            label: axis.label.clone(),
            values: labels(axis),
        };
        self.axes.iter().map(axis).collect()
    }

    /// Checks that no name stands for two things.
    fn check_names(&self) -> Result<(), Error> {
        let mut names: BTreeMap<&str, &str> =
            self.variables.keys().map(|name| (name.as_str(), "variables")).collect();
        for axis in &self.axes {
            let of_axis: std::collections::BTreeSet<&str> =
                axis.values.iter().flat_map(|v| v.variables.keys()).map(String::as_str).collect();
            for name in of_axis {
                if let Some(other) = names.insert(name, &axis.name) {
                    let message =
                        format!("both {other} and {} give ${name} a value; rename one", axis.name);
                    return Err(self.source.error(&axis.place, "axis", message));
                }
            }
            for value in &axis.values {
                let given: Vec<_> = value.variables.keys().collect();
                if given != axis.values[0].variables.keys().collect::<Vec<_>>() {
                    let message = format!(
                        "\"{}\" gives other variables than the values before it",
                        value.label
                    );
                    return Err(self.source.error(&value.place, "axis.values", message));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Axis<'a> {
    /// Keeps only the values that a list names; a value that the file does not have stands for itself.
    fn restrict(&mut self, list: &'a str) -> Result<(), String> {
        let simple = self
            .values
            .iter()
            .all(|value| value.variables.len() == 1 && value.variables.contains_key(&self.name));
        let all = std::mem::take(&mut self.values);
        let file = all.iter().map(|value| format!("\"{}\"", value.label)).collect::<Vec<_>>();
        let file = file.join(", ");
        let mut rest = Some(list);
        while let Some(list) = rest {
            let (text, more) = first_of(list, &all);
            rest = more;
            let found = all.iter().find(|value| value.label == text).cloned();
            match found {
                Some(value) => self.values.push(value),
                None if simple && !text.is_empty() => {
                    let node = from_command_line(text);
                    let place = node.span();
                    let variables = BTreeMap::from([(self.name.clone(), node)]);
                    self.values.push(AxisValue { label: text.into(), variables, place });
                }
                None => return Err(format!("there is no value \"{text}\"; write some of {file}")),
            }
        }
        Ok(())
    }
}

/// Returns the first of a list of values, and the text after its comma. A label may have commas, too: of those that the list may begin with it is the
/// longest.
fn first_of<'a>(list: &'a str, values: &[AxisValue<'a>]) -> (&'a str, Option<&'a str>) {
    let list = list.trim_start();
    let end = |label: &str| {
        let after = list.strip_prefix(label)?.trim_start();
        (after.is_empty() || after.starts_with(',')).then_some(label.len())
    };
    let length = values.iter().filter_map(|value| end(&value.label)).max();
    let length = length.unwrap_or_else(|| list.find(',').unwrap_or(list.len()));
    let (text, after) = list.split_at(length);
    (text.trim_end(), after.trim_start().strip_prefix(','))
}

/// Reports keys that no experiment has: the tables themselves are checked as they are read.
fn check_keys(source: &Source<'_>, root: &Tree<'_>) -> Result<(), Error> {
    let known: Vec<&str> = HEADER.iter().chain(&BODY).chain(&VARYING).copied().collect();
    for key in root.keys() {
        let name: &str = key.get_ref();
        if !known.contains(&name) {
            let message = format!("unknown key; write one of {}", known.join(", "));
            return Err(source.error(&key.span(), name, message));
        }
    }
    Ok(())
}

fn take_table<'a>(source: &Source<'_>, root: &mut Tree<'a>, key: &str) -> Result<Tree<'a>, Error> {
    let Some(node) = root.remove(key) else { return Ok(Tree::new()) };
    let span = node.span();
    match node.into_inner() {
        DeValue::Table(table) => Ok(table),
        _ => Err(source.error(&span, key, format!("is not a table; write [{key}]"))),
    }
}

fn read_axes<'a>(
    source: &Source<'_>,
    root: &mut Tree<'a>,
    quick: bool,
) -> Result<Vec<Axis<'a>>, Error> {
    let Some(node) = root.remove("axis") else { return Ok(Vec::new()) };
    let span = node.span();
    let DeValue::Array(elements) = node.into_inner() else {
        return Err(source.error(&span, "axis", "there may be several; write [[axis]]"));
    };
    let axis = |element: Node<'a>| {
        let place = element.span();
        match element.into_inner() {
            DeValue::Table(table) => read_axis(source, table, place, quick),
            _ => Err(source.error(&place, "axis", "is not a table; write [[axis]]")),
        }
    };
    elements.into_iter().map(axis).collect()
}

fn read_axis<'a>(
    source: &Source<'_>,
    mut table: Tree<'a>,
    place: Range<usize>,
    quick: bool,
) -> Result<Axis<'a>, Error> {
    let values = take_list(source, &mut table, "values", &place)?;
    let fewer = match table.contains_key("quick") {
        true => Some(take_list(source, &mut table, "quick", &place)?),
        false => None,
    };
    let file: AxisFile = source.read(table)?;
    let mut all: Vec<AxisValue<'_>> = Vec::new();
    for node in values {
        let value = axis_value(source, &file.name, node)?;
        if all.iter().any(|other| other.label == value.label) {
            let message = format!("\"{}\" stands there twice", value.label);
            return Err(source.error(&value.place, "axis.values", message));
        }
        all.push(value);
    }
    let labels: Vec<String> = all.iter().map(|value| value.label.clone()).collect();
    let mut chosen = Vec::new();
    for node in fewer.into_iter().flatten() {
        let place = node.span();
        let label = scalar(node.get_ref()).unwrap_or_default();
        let Some(value) = all.iter().find(|value| value.label == label) else {
            let message =
                format!("\"{label}\" is not among the values; write some of {}", labels.join(", "));
            return Err(source.error(&place, "axis.quick", message));
        };
        chosen.push(value.clone());
    }
    let values = if quick && !chosen.is_empty() { chosen } else { all };
    if values.is_empty() {
        return Err(source.error(&place, "axis.values", "is empty; write at least one value"));
    }
    Ok(Axis { name: file.name, label: file.label, all: labels, values, place })
}

fn take_list<'a>(
    source: &Source<'_>,
    table: &mut Tree<'a>,
    key: &str,
    place: &Range<usize>,
) -> Result<Vec<Node<'a>>, Error> {
    let name = format!("axis.{key}");
    let Some(node) = table.remove(key) else {
        return Err(source.error(place, &name, "missing; write a list of values"));
    };
    let span = node.span();
    match node.into_inner() {
        DeValue::Array(elements) => Ok(elements.into_iter().collect()),
        _ => Err(source.error(&span, &name, "is not a list; write [value, value]")),
    }
}

/// Reads a value by itself, which is that of the variable of the axis' name; or a table of a label and variables.
fn axis_value<'a>(source: &Source<'_>, axis: &str, node: Node<'a>) -> Result<AxisValue<'a>, Error> {
    let place = node.span();
    if let Some(label) = scalar(node.get_ref()) {
        let variables = BTreeMap::from([(axis.to_owned(), node)]);
        return Ok(AxisValue { label, variables, place });
    }
    let instead = "write a text or a number, or { label = \"..\", variable = .. }";
    let DeValue::Table(mut table) = node.into_inner() else {
        return Err(source.error(&place, "axis.values", format!("not a value; {instead}")));
    };
    let label = table.remove("label").and_then(|label| scalar(label.get_ref()));
    let Some(label) = label else {
        return Err(source.error(
            &place,
            "axis.values",
            format!("a table without a label; {instead}"),
        ));
    };
    let variables =
        table.into_iter().map(|(key, value)| (key.into_inner().into_owned(), value)).collect();
    Ok(AxisValue { label, variables, place })
}

/// Returns a text, number or truth value as the file writes it.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(integer) => Some(integer.to_string()),
        DeValue::Float(float) => Some(float.to_string()),
        DeValue::Boolean(boolean) => Some(boolean.to_string()),
        _ => None,
    }
}

/// Puts variables in: a text that is only `$name` becomes the value, whatever its type; `${name}` within a text becomes its text.
fn substitute<'a>(
    source: &Source<'_>,
    key: &str,
    node: &mut Node<'a>,
    variables: &Variables<'a>,
) -> Result<(), Error> {
    let place = node.span();
    match node.get_mut() {
        DeValue::Table(table) => {
            for (name, value) in table.iter_mut() {
                substitute(source, &format!("{key}.{}", name.get_ref()), value, variables)?;
            }
        }
        DeValue::Array(elements) => {
            for element in elements.iter_mut() {
                substitute(source, key, element, variables)?;
            }
        }
        DeValue::String(text) if text.contains('$') => {
            let put_in = put_in(text, variables).map_err(|name| {
                let names: Vec<_> = variables.keys().map(|name| format!("${name}")).collect();
                let known = match names.is_empty() {
                    true => "there are none".to_owned(),
                    false => format!("write one of {}", names.join(", ")),
                };
                let message = format!("no axis and no variable is called \"{name}\"; {known}");
                source.error(&place, key, message)
            })?;
            *node = match put_in {
                // A fault of the value is reported where the value was written.
                PutIn::Value(value) => value,
                PutIn::Text(text) => {
                    moved(Spanned::new(place.clone(), DeValue::String(text.into())), &place)
                }
            };
        }
        _ => {}
    }
    Ok(())
}

enum PutIn<'a> {
    Value(Node<'a>),
    Text(String),
}

/// Replaces the variables of a text. An error is the name that is not known.
fn put_in<'a>(text: &str, variables: &Variables<'a>) -> Result<PutIn<'a>, String> {
    if let Some(name) = text.strip_prefix('$')
        && !name.starts_with('{')
    {
        let value = variables.get(name).ok_or_else(|| name.to_owned())?;
        return Ok(PutIn::Value(value.clone()));
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let (name, after) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        let value = variables.get(name).and_then(|node| scalar(node.get_ref()));
        out.push_str(&value.ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    out.push_str(rest);
    Ok(PutIn::Text(out))
}

/// Returns the steps to a key of the header.
pub(crate) fn header_step<'a>(table: &'a str, index: usize, key: &'a str) -> [Step<'a>; 3] {
    [Step::Key(table), Step::Index(index), Step::Key(key)]
}
