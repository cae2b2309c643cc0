//! Errors and warnings about a file, with their places.

use std::fmt;

/// An error or a warning about the configuration file. Displayed as `mpt.toml:31: connection.path.weight: 0 is not a weight;
/// write an integer from 1 to 65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as it was named to the program.
    pub file: String,
    /// Line, from 1; `None` when the file could not be read at all.
    pub line: Option<usize>,
    /// Key with the tables around it, joined by dots; empty when the text is not TOML.
    pub key: String,
    /// The fault and its remedy.
    pub message: String,
}

/// All errors of a file, in the order of its lines. Displayed one per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
