//! Measured values by name, the files that keep them, and the tables that are made of them in documents.

pub(super) mod document;
pub(super) mod files;
pub(super) mod record;
pub(super) mod samples;
