//! What sessions and the data of connections tell each other: announcements, measurements, repair and keys.

mod announced;
mod correction;
pub(crate) mod learning;
mod sealing;
