//! The keys of a session, and those of the data of its connection.

pub(in crate::session::engine) mod data_keys;
pub(in crate::session::engine) mod epochs;
pub(in crate::session::engine) mod sealing;
