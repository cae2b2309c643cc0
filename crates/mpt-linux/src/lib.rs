//! The only crate that touches the operating system.
pub mod offload;
pub mod poller;
pub mod tun;
pub mod udp;
