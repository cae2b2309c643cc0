//! Experiments, each described by a file: the descriptions, the measurement of one case, the runs over all cases, and the reports.

pub(super) mod case;
mod definition;
pub(super) mod report;
pub(super) mod run;
