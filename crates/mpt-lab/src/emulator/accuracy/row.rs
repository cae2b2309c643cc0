//! One figure of the emulator's accuracy.

use serde::{Deserialize, Serialize};

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What it is.
    pub(crate) figure: String,
    /// What it must be.
    pub(crate) must: String,
    /// What it was, with its unit.
    pub(crate) measured: String,
    /// True if it is what it must be.
    pub(crate) pass: bool,
}

impl Row {
    pub(super) fn new(
        figure: impl Into<String>,
        must: impl Into<String>,
        measured: String,
        pass: bool,
    ) -> Self {
        Self { figure: figure.into(), must: must.into(), measured, pass }
    }
}
