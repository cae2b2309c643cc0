//! The kinds of work that a process may need system calls for.

/// The work of a process, for which it needs system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A daemon: files, sockets of the families IPv4, IPv6, netlink and UNIX, threads; no other processes.
    Daemon,
    /// Opening files and handing them over.
    Opening,
}
