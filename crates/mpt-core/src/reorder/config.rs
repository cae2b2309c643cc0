//! What the receive window is told by its owner.

use std::time::Duration;

/// How a connection's receive window works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many numbers, from the next one due, packets are stored for. 0 switches reordering off:
    /// packets are delivered as they come and only duplicates are dropped.
    pub window: u16,
    /// How long a packet is stored at the most. Beyond [`MAX_DELAY_LIMIT`] it counts as that limit.
    pub max_delay: Duration,
    /// True if a missing number is given up as soon as the other packets prove it lost. Otherwise
    /// only `max_delay` ends the waiting, which is the papers' plain rule.
    pub early_release: bool,
    /// What happens to a packet whose number has been given up.
    pub late: Late,
    /// What is held on paths that are shorter than others ([`super::EqualizedBuffer`]).
    pub equalize: Equalize,
}

/// The longest `max_delay` taken at its word.
pub const MAX_DELAY_LIMIT: Duration = Duration::from_secs(3600);
/// The path of a packet that no path has brought, since it was restored.
pub const RESTORED: usize = u16::MAX as usize;

impl Default for Config {
    fn default() -> Self {
        Self {
            window: 16_384,
            max_delay: Duration::from_millis(300),
            early_release: true,
            late: Late::Deliver,
            equalize: Equalize::Tcp,
        }
    }
}

/// What happens to a packet that arrives after its number has been given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is delivered at once, out of order: to TCP a dropped late packet is a loss.
    #[default]
    Deliver,
    /// It is dropped: strict order, the papers' rule.
    Drop,
}

/// Which packets are held on a shorter path, until they are as late as on the longest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equalize {
    /// None.
    Off,
    /// Those of TCP connections, which would take the longer path for a queue.
    #[default]
    Tcp,
    /// All.
    All,
}
