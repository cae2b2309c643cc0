//! `mpt advise`: which weights, window and maximum delay suit some paths, and what a flow will carry then.

mod answer;
mod ask;
pub(crate) mod given;
mod named;

use std::io::{self, Write};

use mpt_core::advise::{self, Path};

use crate::client::Failed;
use crate::command_line::args::{Advise, Daemon};

use given::Given;
pub(crate) use named::Named;

/// Gives the advice.
pub(crate) fn run(
    wanted: &Advise,
    daemon: &Daemon,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let (paths, mapping) = match &wanted.connection {
        Some(connection) => {
            ask::paths(connection, daemon).map(|(paths, mapping)| (paths, Some(mapping)))?
        }
        None => (named(&wanted.paths), None),
    };
    let bare: Vec<Path> = paths.iter().map(|named| named.path).collect();
    let advice = advise::advise(&bare).map_err(|error| Failed::Usage(error.to_string()))?;
    let answer = answer::Answer::new(&paths, mapping, &bare, &advice);
    if json {
        serde_json::to_writer_pretty(&mut *out, &answer).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{answer}")?;
    }
    Ok(())
}

/// Names paths without a name as in the examples: path1, path2, ...
fn named(given: &[Given]) -> Vec<Named> {
    let number = (1..).zip(given);
    number
        .map(|(number, given)| Named {
            name: given.name.clone().unwrap_or_else(|| format!("path{number}")),
            path: given.path,
        })
        .collect()
}
