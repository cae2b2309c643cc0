//! `mpt-lab performance`: the tables of `docs/performance.md` from the results that are kept beside it.
//!
//! A document `NAME.md` has its results in the directory `NAME`. The commands that measure write there (`--store`); this one
//! reads and writes, so the same results always make the same document.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::measurements::{bench, clients, cost};
use crate::results::document;

/// Options of `mpt-lab performance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Markdown file whose tables between `<!-- results: NAME -->` and `<!-- end -->` are replaced; the results are in the
    /// directory of its name without the ending
    file: PathBuf,
}

/// Writes the tables.
///
/// # Errors
///
/// Fails with the name of the file that cannot be read, understood or written, or of the marker that has no results. Except for the last, the
/// document stays as it was.
pub(crate) fn run(options: &Options) -> Result<()> {
    let file = &options.file;
    let directory = file.with_extension("");
    let mut tables = BTreeMap::new();
    for made in
        [bench::tables(&directory)?, clients::tables(&directory)?, cost::tables(&directory)?]
    {
        tables.extend(made);
    }
    let filled = document::fill(file, |name| tables.get(name).cloned())?;
    // `println!` would panic when the reader has gone.
    writeln!(io::stdout(), "{}: {} tables written", file.display(), filled.written.len())?;
    ensure!(
        filled.left.is_empty(),
        "{}: no results in {} for: {}",
        file.display(),
        directory.display(),
        filled.left.join(", ")
    );
    Ok(())
}
