//! What the receive window is told by its owner.

use std::time::Duration;

/// How a connection's receive window works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many numbers, from the next one due, packets are stored for. 0 switches reordering off:
    /// packets are delivered as they come and only duplicates are dropped. Without one there are
    /// [`USUAL_WINDOW`], or as many as play-out has room for where bulk is held until its time.
    pub window: Option<u16>,
    /// How long a packet is stored at the most. Beyond [`MAX_DELAY_LIMIT`] it counts as that limit.
    /// Without one it is [`USUAL_MAX_DELAY`], or as long as the paths' measured delays and repairs
    /// need where bulk is held until its time.
    pub max_delay: Option<Duration>,
    /// True if a missing number is given up as soon as the other packets prove it lost. Otherwise
    /// only `max_delay` ends the waiting, which is the papers' plain rule.
    pub early_release: bool,
    /// What happens to a packet whose number has been given up.
    pub late: Late,
    /// What is held on paths that are shorter than others ([`super::EqualizedBuffer`]).
    pub equalize: Equalize,
}

impl Config {
    /// Returns how many numbers the window spans where nothing is held until its time.
    #[must_use]
    pub fn window(&self) -> u16 {
        self.window.unwrap_or(USUAL_WINDOW)
    }

    /// Returns how long a packet is stored at the most where nothing is held until its time.
    #[must_use]
    pub fn max_delay(&self) -> Duration {
        self.max_delay.unwrap_or(USUAL_MAX_DELAY).min(MAX_DELAY_LIMIT)
    }
}

/// The window, in numbers, where none is configured.
pub const USUAL_WINDOW: u16 = 16_384;
/// The longest time that a packet is stored where none is configured.
pub const USUAL_MAX_DELAY: Duration = Duration::from_millis(300);
/// The longest `max_delay` taken at its word.
pub const MAX_DELAY_LIMIT: Duration = Duration::from_secs(3600);
/// The path of a packet that no path has brought, since it was restored.
pub const RESTORED: usize = u16::MAX as usize;

impl Default for Config {
    fn default() -> Self {
        Self {
            window: None,
            max_delay: None,
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
