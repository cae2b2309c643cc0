//! Results of a sweep: a file that grows line by line, and is taken up again where it ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::study::in_parallel;
use crate::{study, tunnel};

/// A unit of work of a sweep.
pub trait Job: Sync {
    /// The type of its result.
    type Outcome: Serialize + DeserializeOwned + Send;

    /// Runs it. Returns `None` for a combination that does not exist.
    fn outcome(&self) -> Option<Self::Outcome>;
}

impl Job for study::Case {
    type Outcome = study::Outcome;

    fn outcome(&self) -> Option<Self::Outcome> {
        self.run()
    }
}

impl Job for tunnel::Case {
    type Outcome = tunnel::Outcome;

    fn outcome(&self) -> Option<Self::Outcome> {
        Some(self.run())
    }
}

#[derive(Serialize, Deserialize)]
struct Line<K, O> {
    #[serde(flatten)]
    key: K,
    outcome: O,
}

/// Runs every case whose key is not among the results in `path` and appends it there. Returns their number. `progress` is called for each case, new
/// or not.
///
/// # Errors
///
/// Fails if the file cannot be read or written, or has other contents.
pub fn run<K, J: Job>(
    cases: &[(K, J)],
    path: &Path,
    progress: &(dyn Fn() + Sync),
) -> io::Result<usize>
where
    K: Serialize + DeserializeOwned + PartialEq + Sync,
{
    let (done, complete) = read::<K, J::Outcome>(path)?;
    // The last line of an interrupted sweep may be half a line.
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.set_len(complete)?;
    drop(file);
    let file = Mutex::new(OpenOptions::new().append(true).open(path)?);
    let open: Vec<&(K, J)> = cases.iter().filter(|(key, _)| !done.contains(key)).collect();
    for _ in open.len()..cases.len() {
        progress();
    }
    let written = in_parallel(&open, |(key, job)| write(&file, key, job), progress);
    written.into_iter().collect::<io::Result<()>>()?;
    Ok(open.len())
}

fn write<K: Serialize, J: Job>(file: &Mutex<File>, key: &K, job: &J) -> io::Result<()> {
    let Some(outcome) = job.outcome() else { return Ok(()) };
    let mut line = serde_json::to_vec(&Line { key, outcome })?;
    line.push(b'\n');
    file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
}

/// Returns the keys that are there, and the length of the whole lines of the file in bytes.
fn read<K: DeserializeOwned, O: DeserializeOwned>(path: &Path) -> io::Result<(Vec<K>, u64)> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let complete = text.rfind('\n').map_or(0, |at| at + 1);
    let keys = text[..complete].lines().enumerate().map(|(number, line)| {
        let line: Line<K, O> = serde_json::from_str(line).map_err(|error| {
            io::Error::new(ErrorKind::InvalidData, format!("line {}: {error}", number + 1))
        })?;
        Ok(line.key)
    });
    Ok((keys.collect::<io::Result<_>>()?, complete as u64))
}
