//! Two daemons' data paths in memory and in virtual time: devices, sockets and links that are nothing but queues.
//!
//! No privileges, no kernel, no thread: what a test sees is the data path's own doing, and the same on every run.

mod daemons;
mod lines;
mod packets;
mod peers;
mod system;
