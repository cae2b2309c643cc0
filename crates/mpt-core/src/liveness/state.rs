//! The states of a path as its owner sees them.

/// The state of the sending direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The path is not confirmed since its start; or it was dead, and some of the confirmations that
    /// it needs have come.
    Probing,
    /// The peer has recently confirmed that it hears us on this path.
    Up,
    /// The path was up, and the peer has ceased to confirm that it hears us on it.
    Dead,
}

/// The state of both directions of a path, as it differs from what was reported before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The state of the sending direction.
    pub state: State,
    /// True if the receiving direction is silent: nothing has arrived for so long that nothing should
    /// be waited for.
    pub silent: bool,
}
