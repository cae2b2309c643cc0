//! The files of a run.
//!
//! ```text
//! OUT/cases/<fingerprint>.json    one result each; whole or not at all
//! OUT/specs/<fingerprint>.json    what is to be measured, for `mpt-lab case`
//! OUT/<experiment>/plan.json      what belongs to an experiment
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::experiments::case::{CaseResult, CaseSpec, Flag};
use crate::experiments::definition::Plan;

/// The names of files under the directory of a run.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    out: PathBuf,
}

impl Store {
    /// Makes the directories that are missing.
    pub(crate) fn create(out: &Path) -> Result<Self> {
        for directory in ["cases", "specs"] {
            let path = out.join(directory);
            fs::create_dir_all(&path)
                .with_context(|| format!("{} cannot be made", path.display()))?;
        }
        Ok(Self { out: out.to_owned() })
    }

    /// Returns the file of a measurement's result.
    pub(crate) fn case(&self, fingerprint: &str) -> PathBuf {
        self.out.join("cases").join(format!("{fingerprint}.json"))
    }

    /// Returns the file of its specification.
    pub(crate) fn spec(&self, fingerprint: &str) -> PathBuf {
        self.out.join("specs").join(format!("{fingerprint}.json"))
    }

    /// Writes the plan of an experiment.
    pub(crate) fn write_plan(&self, plan: &Plan) -> Result<()> {
        let directory = self.out.join(&plan.name);
        fs::create_dir_all(&directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
        write(&directory.join("plan.json"), plan)
    }

    /// Writes the specification of a measurement. One that is there already stays as it is, and as old: it is named by what
    /// it says, and machinery that goes by the age of files would measure it again.
    pub(crate) fn write_spec(&self, spec: &CaseSpec) -> Result<()> {
        let path = self.spec(&spec.fingerprint());
        if path.exists() { Ok(()) } else { write(&path, spec) }
    }

    /// The result of a measurement that was made before. `None`: it was not, or it failed then, or cannot be read.
    pub(crate) fn measured(&self, fingerprint: &str) -> Option<CaseResult> {
        let result: CaseResult = read(&self.case(fingerprint)).ok()?;
        (!failed(&result)).then_some(result)
    }
}

/// True if a measurement ended without a figure.
pub(crate) fn failed(result: &CaseResult) -> bool {
    result.flags.iter().any(|flag| matches!(flag, Flag::Failed { .. }))
}

/// True if a measurement's figures are those of the machine or of the emulator rather than of the network.
pub(crate) fn limited(result: &CaseResult) -> bool {
    let limits =
        |flag: &Flag| matches!(flag, Flag::CpuSaturated { .. } | Flag::EmulatorLate { .. });
    result.flags.iter().any(limits)
}

/// Writes a file whole or not at all: readers and interrupted runs never see a part of it.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let write = || -> Result<()> {
        let directory = path.parent().context("it has no directory")?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut file, value)?;
        // The file gets the permissions of an ordinary one: the temporary file is private.
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(permissions)?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Reads what [`write()`] has written.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not what it should be", path.display()))
}
