//! The exchange between sessions and the data of connections: announcements, measurements, repair
//! and keys.

mod announced;
mod correction;
pub(crate) mod learning;
mod sealing;
#[cfg(test)]
mod tests;
