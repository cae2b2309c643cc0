//! The version of this API, where the daemon listens, and how long lines may be.

/// Version of this API, carried by every message.
pub const VERSION: u32 = 2;

/// The socket at which the daemon listens unless its configuration names another one.
pub const DEFAULT_SOCKET: &str = "/run/mpt/mptd.sock";

/// Longest request line in bytes, without its newline. The daemon answers a longer one with an error and hangs up.
pub const MAX_REQUEST: usize = 64 * 1024;

/// Longest response line in bytes, without its newline, that a client has to expect: room for the snapshot of a
/// concentrator with tens of thousands of paths.
pub const MAX_RESPONSE: usize = 64 * 1024 * 1024;
