//! The text of an experiment, and the places of its keys and values.

use std::ops::Range;

use anyhow::{Error, anyhow};
use mpt_text::position::Lines;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// A table whose keys and values have their places in the text.
pub(crate) type Tree<'a> = DeTable<'a>;
/// A value with its place in the text.
pub(crate) type Node<'a> = Spanned<DeValue<'a>>;

/// The place of values that come from the command line.
const COMMAND_LINE: Range<usize> = usize::MAX - 1..usize::MAX;

/// The text of an experiment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The file as it was named to the program.
    pub(crate) name: &'a str,
    /// Its text.
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Parses the text into a tree.
    pub(crate) fn parse(&self) -> Result<Tree<'a>, Error> {
        let tree = DeTable::parse(self.text).map_err(|error| self.toml(&Tree::new(), error))?;
        Ok(tree.into_inner())
    }

    /// Reads a table as a type.
    pub(crate) fn read<T: DeserializeOwned>(&self, table: Tree<'_>) -> Result<T, Error> {
        let span = 0..self.text.len();
        T::deserialize(Deserializer::from(Spanned::new(span, table.clone())))
            .map_err(|error| self.toml(&table, error))
    }

    /// Returns an error at a place, displayed as `table1.toml:12: link.rate: "10" has no unit`.
    pub(crate) fn error(&self, at: &Range<usize>, key: &str, message: impl AsRef<str>) -> Error {
        let message = message.as_ref();
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        if *at == COMMAND_LINE {
            return anyhow!("--set: {key}{message}");
        }
        anyhow!("{}:{}: {key}{message}", self.name, Lines::of(self.text).line(at.start))
    }

    /// Returns an error at a key. If the key is missing, the place is the nearest table around it that is there.
    pub(crate) fn error_at(
        &self,
        tree: &Tree<'_>,
        path: &[Step<'_>],
        message: impl AsRef<str>,
    ) -> Error {
        let mut key = String::new();
        for step in path {
            if let Step::Key(name) = step {
                key = if key.is_empty() { (*name).to_owned() } else { format!("{key}.{name}") };
            }
        }
        self.error(&place(tree, path), &key, message)
    }

    fn toml(&self, tree: &Tree<'_>, error: toml::de::Error) -> Error {
        let at = error.span().unwrap_or(0..0);
        let key = key_at(tree, at.start).unwrap_or_default();
        self.error(&at, &key, error.message().replace('\n', " "))
    }
}

/// A step from a table to what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// The step to the value of a key.
    Key(&'a str),
    /// The step to an element of a list.
    Index(usize),
}

/// Returns the place of the innermost of the steps that exists.
fn place(tree: &Tree<'_>, path: &[Step<'_>]) -> Range<usize> {
    let mut at = 0..0;
    let Some((Step::Key(first), rest)) = path.split_first() else { return at };
    let Some((key, mut node)) = tree.get_key_value(*first) else { return at };
    at = key.span();
    for step in rest {
        let next = match (step, node.get_ref()) {
            (Step::Key(name), DeValue::Table(table)) => table.get_key_value(*name),
            (Step::Index(index), DeValue::Array(array)) => {
                let Some(element) = array.get(*index) else { break };
                at = element.span();
                node = element;
                continue;
            }
            _ => None,
        };
        let Some((key, value)) = next else { break };
        at = key.span();
        node = value;
    }
    at
}

/// Name of the key whose name or value stands at an offset, with the tables around it.
fn key_at(tree: &Tree<'_>, offset: usize) -> Option<String> {
    tree.iter().find_map(|(key, value)| {
        let name = key.get_ref().as_ref();
        if let Some(inner) = inside(value, offset) {
            return Some(if inner.is_empty() {
                name.to_owned()
            } else {
                format!("{name}.{inner}")
            });
        }
        (key.span().contains(&offset) || value.span().contains(&offset)).then(|| name.to_owned())
    })
}

fn inside(value: &Node<'_>, offset: usize) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => key_at(table, offset),
        DeValue::Array(elements) => elements.iter().find_map(|element| {
            inside(element, offset).or_else(|| element.span().contains(&offset).then(String::new))
        }),
        _ => None,
    }
}

/// Returns a value of the command line: as TOML would read it, otherwise as a text.
pub(super) fn from_command_line(text: &str) -> Node<'_> {
    let value = match DeValue::parse(text) {
        Ok(value) => value.into_inner(),
        Err(_) => DeValue::String(text.into()),
    };
    moved(Spanned::new(COMMAND_LINE, value), &COMMAND_LINE)
}

/// Returns the same value at another place, with all that is in it.
pub(super) fn moved<'a>(node: Node<'a>, place: &Range<usize>) -> Node<'a> {
    let value = match node.into_inner() {
        DeValue::Array(elements) => {
            DeValue::Array(elements.into_iter().map(|element| moved(element, place)).collect())
        }
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| {
                (Spanned::new(place.clone(), key.into_inner()), moved(value, place))
            });
            DeValue::Table(entries.collect())
        }
        other => other,
    };
    Spanned::new(place.clone(), value)
}

/// Sets a value at a key, `table.key` with as many tables as there are dots, which are made where they are missing. An error names the key that is
/// not a table.
pub(super) fn assign<'a>(
    tree: &mut Tree<'a>,
    path: &'a str,
    value: Node<'a>,
) -> Result<(), &'a str> {
    let Some((table, rest)) = path.split_once('.') else {
        // The key of a value that is replaced stays where it was.
        match tree.get_mut(path) {
            Some(present) => *present = value,
            None => drop(tree.insert(Spanned::new(value.span(), path.into()), value)),
        }
        return Ok(());
    };
    if !tree.contains_key(table) {
        let key = Spanned::new(value.span(), table.into());
        tree.insert(key, Spanned::new(value.span(), DeValue::Table(Tree::new())));
    }
    match tree.get_mut(table).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => assign(inner, rest, value),
        _ => Err(table),
    }
}

/// Puts the values of `other` over those of `tree`, table by table.
pub(super) fn merge<'a>(tree: &mut Tree<'a>, other: Tree<'a>) {
    for (key, value) in other {
        let name: &str = key.get_ref();
        let span = value.span();
        match (tree.get_mut(name).map(Spanned::get_mut), value.into_inner()) {
            (Some(DeValue::Table(present)), DeValue::Table(new)) => merge(present, new),
            (Some(present), new) => *present = new,
            (None, new) => drop(tree.insert(key, Spanned::new(span, new))),
        }
    }
}
