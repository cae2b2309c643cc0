//! The common part of plans: TOML tables of values to be combined, and the faults that are found in them.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

/// A fault in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line of the file, from 1.
    pub line: usize,
    /// Description of the fault, with the name of the key.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

/// A value for each of both paths. It is no array, which would take the first two of more.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Vec<T>")]
pub(super) struct Pair<T>(pub(super) [T; 2]);

impl<T> TryFrom<Vec<T>> for Pair<T> {
    type Error = &'static str;

    fn try_from(values: Vec<T>) -> Result<Self, Self::Error> {
        let pair = values.try_into();
        pair.map(Self).map_err(|_| "not one value for each of two paths; write [first, second]")
    }
}

/// Reads a plan. A fault has its line and key.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        let what = error.message();
        // A value may stand some lines below its key.
        let above = text.lines().take(line).collect::<Vec<_>>();
        let key = above.iter().rev().find_map(|line| Some(line.split_once('=')?.0.trim()));
        let what = key.map_or_else(|| what.to_owned(), |key| format!("`{key}`: {what}"));
        Fault { line, what }
    })
}

/// Returns the values of a key that may be missing.
pub(super) fn list<T>(values: &Option<Spanned<Vec<T>>>) -> Option<&Vec<T>> {
    values.as_ref().map(Spanned::get_ref)
}

/// Combines every key with every value; without values, `keys` stays as it is.
pub(super) fn combine<K: Copy, T: Copy>(
    keys: &mut Vec<K>,
    values: Option<&Vec<T>>,
    set: impl Fn(&mut K, T),
) {
    let Some(values) = values else { return };
    *keys = keys
        .iter()
        .flat_map(|key| {
            values.iter().map(|&value| {
                let mut key = *key;
                set(&mut key, value);
                key
            })
        })
        .collect();
}

/// Returns the line of a byte, from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// Checks that a list, if it is there, has values.
pub(super) fn not_empty<T>(
    text: &str,
    key: &str,
    list: Option<&Spanned<Vec<T>>>,
) -> Result<(), Fault> {
    match list {
        Some(list) if list.get_ref().is_empty() => {
            let what = format!("`{key}` is empty: there would be nothing to run");
            Err(Fault { line: line(text, list.span().start), what })
        }
        _ => Ok(()),
    }
}

/// Checks that a list of pairs, if it is there, has values, whose members are all within the range.
pub(super) fn pairs<T: PartialOrd + fmt::Display>(
    text: &str,
    key: &str,
    list: Option<&Spanned<Vec<Pair<T>>>>,
    range: &RangeInclusive<T>,
) -> Result<(), Fault> {
    not_empty(text, key, list)?;
    let Some(list) = list else { return Ok(()) };
    match list.get_ref().iter().flat_map(|pair| &pair.0).find(|&value| !range.contains(value)) {
        Some(value) => Err(outside(line(text, list.span().start), key, value, range)),
        None => Ok(()),
    }
}

/// Checks that a list, if it is there, has values, which are all within the range.
pub(super) fn each<T: PartialOrd + fmt::Display>(
    text: &str,
    key: &str,
    list: Option<&Spanned<Vec<T>>>,
    range: &RangeInclusive<T>,
) -> Result<(), Fault> {
    not_empty(text, key, list)?;
    let Some(list) = list else { return Ok(()) };
    match list.get_ref().iter().find(|value| !range.contains(value)) {
        Some(value) => Err(outside(line(text, list.span().start), key, value, range)),
        None => Ok(()),
    }
}

/// Checks that a value, if it is there, is within the range.
pub(super) fn one<T: PartialOrd + fmt::Display>(
    text: &str,
    key: &str,
    value: Option<&Spanned<T>>,
    range: &RangeInclusive<T>,
) -> Result<(), Fault> {
    match value {
        Some(value) if !range.contains(value.get_ref()) => {
            Err(outside(line(text, value.span().start), key, value.get_ref(), range))
        }
        _ => Ok(()),
    }
}

fn outside<T: fmt::Display>(line: usize, key: &str, value: &T, range: &RangeInclusive<T>) -> Fault {
    let what = format!("`{key}`: {value} is not from {} to {}", range.start(), range.end());
    Fault { line, what }
}
