//! One figure of the emulator's accuracy.

use serde::{Deserialize, Serialize};

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) figure: String,
    /// Its limit, for reports.
    pub(crate) must: String,
    /// The measured value, with its unit.
    pub(crate) measured: String,
    /// True if it keeps its limit.
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
