//! Types of the local control API, shared by the daemon and its clients.
#![forbid(unsafe_code)]
