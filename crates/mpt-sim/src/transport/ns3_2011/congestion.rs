//! Congestion control, equations (1) to (6) of the paper. Windows are in packets.

/// The growth and decrease of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Congestion {
    /// Each subflow is controlled by itself: equations (1) and (2).
    Uncoupled,
    /// The sum of the windows controls growth and decrease: equations (3) and (4).
    FullyCoupled,
    /// The growth is shared (RFC 6356): equations (5) and (6), decrease by (2).
    Coupled,
}

/// The state of one subflow that congestion control uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) window: f64,
    /// The window, smoothed.
    pub(super) smoothed: f64,
    /// Estimated round-trip time in seconds.
    pub(super) rtt: f64,
}

impl Congestion {
    /// Returns the growth by one acknowledgement in congestion avoidance.
    pub(super) fn increase(self, own: usize, flows: &[View]) -> f64 {
        let total: f64 = flows.iter().map(|flow| flow.window).sum();
        match self {
            Self::Uncoupled => 1.0 / flows[own].window,
            Self::FullyCoupled => 1.0 / total,
            Self::Coupled => (alpha(flows) / total).min(1.0 / flows[own].window),
        }
    }

    /// Returns the window after a congestion event.
    pub(super) fn decreased(self, own: usize, flows: &[View]) -> f64 {
        let window = flows[own].window;
        match self {
            Self::Uncoupled | Self::Coupled => window / 2.0,
            Self::FullyCoupled => window - flows.iter().map(|flow| flow.window).sum::<f64>() / 2.0,
        }
        .max(1.0)
    }
}

/// Returns alpha of equation (6), of smoothed windows.
fn alpha(flows: &[View]) -> f64 {
    let total: f64 = flows.iter().map(|flow| flow.smoothed).sum();
    let best = flows.iter().map(|flow| flow.smoothed / (flow.rtt * flow.rtt)).fold(0.0, f64::max);
    let sum: f64 = flows.iter().map(|flow| flow.smoothed / flow.rtt).sum();
    total * best / (sum * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(list: [(f64, f64); 2]) -> [View; 2] {
        list.map(|(window, rtt)| View { window, smoothed: window, rtt })
    }

    #[test]
    fn coupled_growth_of_equal_paths_is_that_of_one_connection() {
        let flows = views([(10.0, 0.1), (10.0, 0.1)]);
        // alpha = 20 x 1000 / 200^2 = 0.5: both together grow by 10 x 2 x 0.5 / 20 = 0.5 packets per round trip,
        // half of what each connection alone would.
        assert!((Congestion::Coupled.increase(0, &flows) - 0.025).abs() < 1e-12);
        assert_eq!(Congestion::Uncoupled.increase(0, &flows), 0.1);
        assert_eq!(Congestion::FullyCoupled.increase(0, &flows), 0.05);
    }

    #[test]
    fn fully_coupled_decrease_stops_at_one_packet() {
        let flows = views([(10.0, 0.1), (30.0, 0.1)]);
        assert_eq!(Congestion::FullyCoupled.decreased(0, &flows), 1.0);
        assert_eq!(Congestion::FullyCoupled.decreased(1, &flows), 10.0);
        assert_eq!(Congestion::Coupled.decreased(1, &flows), 15.0);
    }
}
