//! The measurements of a path that are of now.

use mpt_api::Estimate;
use mpt_api::snapshot::{Path, PathState};

/// The recent measurements of a path; `None` where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Smoothed round-trip time in microseconds.
    pub(crate) rtt_us: Option<u64>,
    /// Variation of the delay in microseconds.
    pub(crate) jitter_us: Option<u64>,
    /// Packets lost, in a million.
    pub(crate) lost_per_million: Option<u32>,
    /// Time that packets wait in the path's own queue, in microseconds.
    pub(crate) queue_us: Option<u64>,
}

impl Measured {
    /// Returns the measurements of a path. What was measured before it went down says nothing about it now; nor do loss and queue, which data alone
    /// shows, once it has carried none for a while.
    pub(crate) fn of(path: &Path) -> Measured {
        if path.state == PathState::Down {
            return Measured::default();
        }
        let recent = path.estimate.filter(Estimate::is_recent);
        let liveness = path.liveness.as_ref();
        Measured {
            rtt_us: liveness.and_then(|it| it.rtt_us),
            jitter_us: match path.estimate {
                Some(estimate) => Some(estimate.jitter_us),
                None => liveness.and_then(|it| it.rtt_variation_us),
            },
            lost_per_million: recent.map(|it| it.lost_per_million),
            queue_us: recent.map(|it| it.queue_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// A path with adaptive mapping that has carried nothing for this time.
    fn idle_for(idle_ms: Option<u64>) -> Path {
        let liveness = example::snapshot().connections[0].paths[1].liveness;
        let estimate = Estimate {
            lost_per_million: 51_000,
            queue_us: 240_000,
            jitter_us: 3_000,
            idle_ms,
            ..Estimate::default()
        };
        let path = example::path("lte", "192.0.2.1:4754", "198.51.100.1:4754");
        Path { liveness, estimate: Some(estimate), ..path }
    }

    #[test]
    fn loss_and_queue_are_those_of_data_that_came_lately() {
        let measured = Measured::of(&idle_for(Some(9_000)));
        assert_eq!((measured.lost_per_million, measured.queue_us), (Some(51_000), Some(240_000)));
        for idle in [Some(11_000), None] {
            let measured = Measured::of(&idle_for(idle));
            assert_eq!((measured.lost_per_million, measured.queue_us), (None, None), "{idle:?}");
            assert_eq!(
                (measured.rtt_us, measured.jitter_us),
                (Some(49_900), Some(3_000)),
                "probes go on"
            );
        }
    }

    #[test]
    fn a_path_that_is_down_has_none() {
        let path = Path { state: PathState::Down, ..idle_for(Some(40)) };
        assert_eq!(Measured::of(&path), Measured::default());
    }

    #[test]
    fn without_adaptive_mapping_probes_alone_measure() {
        let measured = Measured::of(&Path { estimate: None, ..idle_for(None) });
        let expected =
            Measured { rtt_us: Some(49_900), jitter_us: Some(1_500), ..Measured::default() };
        assert_eq!(measured, expected);
    }
}
