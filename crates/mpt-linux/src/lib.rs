//! The only crate that touches the operating system.
pub mod clock;
pub mod confine;
pub mod files;
pub mod memory;
pub mod netlink;
pub mod netns;
pub mod poller;
pub mod realtime;
pub mod reverse_path;
pub mod sysctl;
pub mod tap;
pub mod tun;
pub mod udp;
