//! The configuration in effect: what connections, paths and clients there are to be, and the changes at run time.

mod changes;
pub(super) mod clients;
pub(super) mod wanted;
