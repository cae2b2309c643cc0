//! The measurements that a session makes of its paths by frames of its own: delays, losses and
//! speed.

pub(crate) mod leads;
pub(crate) mod speed_tests;
pub(crate) mod survey;
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a loop counts through the session's paths; a survey has less than 2^16 probes"
)]
pub(crate) mod surveying;
pub(crate) mod test;
pub(crate) mod train;
