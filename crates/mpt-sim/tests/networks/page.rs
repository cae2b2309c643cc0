//! A page that a flow fetches as soon as the tunnel is there.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_sim::tunnel::{Case, Path, Profile};

/// Size of a page that takes three round-trip times to send from nothing, in bytes.
const PAGE: u64 = 60_000;

/// Seconds until a flow over these paths has delivered a page.
pub(crate) fn time(paths: Vec<Path>, seed: u64) -> f64 {
    let mut case = Case::new(Profile::Ours, paths, seed);
    (case.mapping, case.duration) = (Mapping::Adaptive, Duration::from_secs(3));
    let mut done = f64::INFINITY;
    case.run_with(|time, bytes| {
        if bytes >= PAGE {
            done = done.min(time.as_duration().as_secs_f64());
        }
    });
    done
}
