//! The view that the subflows of a connection have of each other.

/// What the subflows of a connection know of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Congestion window.
    pub window: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub rtt: f64,
    /// Segments acknowledged between the last two losses or since the last, whichever is more (OLIA).
    pub between_losses: f64,
}
