//! What a session learns of its paths and of the data on them, and tells its peer of it.

pub(in crate::session::engine) mod asking;
pub(in crate::session::engine) mod budget;
pub(in crate::session::engine) mod correction;
pub(in crate::session::engine) mod due;
pub(in crate::session::engine) mod leads;
pub(in crate::session::engine) mod learning;
pub(in crate::session::engine) mod speed_tests;
pub(in crate::session::engine) mod survey;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a survey has less than 2^16 probes"
)]
pub(in crate::session::engine) mod surveying;
pub(in crate::session::engine) mod test;
