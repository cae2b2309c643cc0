//! What a survey has shown of a path before there is data.

use crate::path::model::Capacity;

/// The result of a survey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surveyed {
    /// The probes that tell of losses.
    pub(crate) probes: u16,
    /// Those of them that were lost, or their echoes.
    pub(crate) lost: u16,
    pub(crate) capacity: Option<Capacity>,
}
