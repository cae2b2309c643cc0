//! The configuration of the receive window.

use std::time::Duration;

/// The configuration of a connection's receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The window: the number of numbers, from the next one due, for which packets are stored. 0
    /// switches reordering off, so that packets are delivered as they arrive and only duplicates
    /// are dropped. `None` stands for [`USUAL_WINDOW`], or for the window of play-out while bulk is
    /// held until its time.
    pub window: Option<u16>,
    /// The longest time for which a packet is stored, at most [`MAX_DELAY_LIMIT`]. `None` stands
    /// for [`USUAL_MAX_DELAY`], or for the time that measured delays and repairs need while bulk is
    /// held until its time.
    pub max_delay: Option<Duration>,
    /// True if a missing number is given up as soon as the other packets prove it lost. Otherwise
    /// only `max_delay` ends the waiting, which is the papers' plain rule.
    pub early_release: bool,
    /// The treatment of a packet whose number has been given up.
    pub late: Late,
    /// The packets that are held on paths that are shorter than others
    /// ([`super::EqualizedBuffer`]).
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

/// The treatment of a packet that arrives after its number has been given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is delivered at once, out of order: to TCP a dropped late packet is a loss.
    #[default]
    Deliver,
    /// It is dropped: strict order, the papers' rule.
    Drop,
}

/// The packets that are held on a shorter path, until they are as late as on the longest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equalize {
    /// None.
    Off,
    /// Packets of TCP connections, which would take the longer path for a queue.
    #[default]
    Tcp,
    /// All.
    All,
}
