//! What a session learns of its paths and of the data on them, and tells its peer of it.

pub(crate) mod asking;
pub(crate) mod budget;
pub(crate) mod correction;
pub(crate) mod due;
pub(crate) mod leads;
pub(crate) mod learning;
pub(crate) mod speed_tests;
pub(crate) mod survey;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a survey has less than 2^16 probes"
)]
pub(crate) mod surveying;
pub(crate) mod test;
