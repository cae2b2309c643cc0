//! Results of a sweep: a file that grows line by line, and is taken up again where it ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::study::{Case, Outcome, in_parallel};

use super::Key;

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    key: Key,
    outcome: Outcome,
}

/// Runs every case whose key is not among the results in `path` and appends it there; gives their number. Calls
/// `progress` for each case, new or not.
///
/// # Errors
///
/// A file that cannot be read or written, or has other things in it.
pub fn run(cases: &[(Key, Case)], path: &Path, progress: &(dyn Fn() + Sync)) -> io::Result<usize> {
    let (done, complete) = read(path)?;
    // The last line of an interrupted sweep may be half a line.
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.set_len(complete)?;
    drop(file);
    let file = Mutex::new(OpenOptions::new().append(true).open(path)?);
    let open: Vec<&(Key, Case)> = cases.iter().filter(|(key, _)| !done.contains(key)).collect();
    for _ in open.len()..cases.len() {
        progress();
    }
    let written = in_parallel(&open, |(key, case)| write(&file, *key, case), progress);
    written.into_iter().collect::<io::Result<()>>()?;
    Ok(open.len())
}

fn write(file: &Mutex<File>, key: Key, case: &Case) -> io::Result<()> {
    let Some(outcome) = case.run() else { return Ok(()) };
    let mut line = serde_json::to_vec(&Line { key, outcome })?;
    line.push(b'\n');
    file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
}

/// The keys that are there, and how many bytes of the file are whole lines.
fn read(path: &Path) -> io::Result<(Vec<Key>, u64)> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let complete = text.rfind('\n').map_or(0, |at| at + 1);
    let keys = text[..complete].lines().enumerate().map(|(number, line)| {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            io::Error::new(ErrorKind::InvalidData, format!("line {}: {error}", number + 1))
        })?;
        Ok(line.key)
    });
    Ok((keys.collect::<io::Result<_>>()?, complete as u64))
}
