//! The expected duration of a measurement.

use std::time::Duration;

use crate::experiments::case::{CaseSpec, Method, NetworkSpec, Traffic};

/// Time to make and remove namespaces and links.
const NETWORK: Duration = Duration::from_millis(1500);
/// Time until the paths of two daemons, or of another tunnel, are up.
const TUNNEL: Duration = Duration::from_millis(1500);
/// Time to connect and to exchange results.
const TRAFFIC: Duration = Duration::from_millis(700);
/// Share of the links' rate that a download is expected to get if nothing else is known.
const SHARE: f64 = 0.85;

/// Returns how long a measurement will take, set-up and removal of everything included: for progress bars.
pub(crate) fn expected_duration(spec: &CaseSpec) -> Duration {
    let tunnel = match spec.method {
        Method::Plain | Method::Mptcp => Duration::ZERO,
        Method::Tunnel(_) | Method::Adapter { .. } => TUNNEL,
    };
    NETWORK + tunnel + TRAFFIC + spec.observation.lead + traffic(spec)
}

/// The longest that the traffic may run.
pub(crate) fn longest(spec: &CaseSpec) -> Duration {
    match spec.traffic {
        Traffic::Download { limit, .. } => limit,
        _ => traffic(spec),
    }
}

/// Returns how long the traffic runs.
pub(crate) fn traffic(spec: &CaseSpec) -> Duration {
    match spec.traffic {
        Traffic::Tcp { duration, .. }
        | Traffic::Udp { duration, .. }
        | Traffic::Rtp { duration, .. } => duration,
        Traffic::Ping { count, interval } => interval * count,
        Traffic::Download { bytes, limit, .. } => {
            let Some(rate) = forward_rate(&spec.network) else { return limit.min(TRAFFIC) };
            let seconds = bytes as f64 * 8.0 / (rate as f64 * SHARE);
            Duration::try_from_secs_f64(seconds).unwrap_or(limit).min(limit)
        }
    }
}

/// Returns what the links together can carry from `a` to `b`, in bit/s: each its slowest channel, a channel that several share once.
/// `None`: no limit.
pub(crate) fn forward_rate(network: &NetworkSpec) -> Option<u64> {
    let mut counted = vec![false; network.channels.len()];
    let mut sum = 0_u64;
    for link in &network.links {
        let rate = |&channel: &usize| Some((network.channels.get(channel)?.params.rate?, channel));
        let (rate, channel) = link.forward.iter().filter_map(rate).min()?;
        if !std::mem::replace(&mut counted[channel], true) {
            sum = sum.saturating_add(rate.bits_per_second());
        }
    }
    Some(sum)
}
