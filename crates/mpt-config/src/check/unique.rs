//! Names that have to be unique.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::syntax::reader::Context;

/// Reports names that two of a kind have.
pub(crate) fn unique<'n>(
    context: &Context<'_>,
    key: &str,
    noun: &str,
    names: impl Iterator<Item = (&'n str, usize)>,
) {
    let mut first = HashMap::new();
    for (name, line) in names {
        match first.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(line);
            }
            Entry::Occupied(earlier) => {
                let place = match earlier.get() {
                    0 => String::new(),
                    line => format!(", in line {line}"),
                };
                let message =
                    format!("there is a {noun} \"{name}\" already{place}; write another name");
                context.error(line, key, message);
            }
        }
    }
}
