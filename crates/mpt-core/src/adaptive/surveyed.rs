//! The result of a survey, which is all that is known of a path before there is data.

use crate::path::model::Capacity;

/// The result of a survey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surveyed {
    /// The number of probes that show losses.
    pub(crate) probes: u16,
    /// The number of these probes that were lost, or whose echoes were.
    pub(crate) lost: u16,
    /// The mean deviation of the round-trip time, in microseconds.
    pub(crate) variation: f64,
    pub(crate) capacity: Option<Capacity>,
}
