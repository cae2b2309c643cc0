//! The keys of a session, and those of the data of its connection.

pub(crate) mod data_keys;
pub(crate) mod epochs;
pub(crate) mod sealing;
