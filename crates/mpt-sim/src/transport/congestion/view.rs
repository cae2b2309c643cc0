//! The view that the subflows of a connection have of each other.

/// The state of one subflow that the other subflows of its connection see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Congestion window.
    pub window: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub rtt: f64,
    /// Segments acknowledged between the last two losses or since the last, whichever is more (OLIA).
    pub between_losses: f64,
}
