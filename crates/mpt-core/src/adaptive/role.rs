//! The choice of the paths that carry bulk: the set over which a flow reaches the most.
//!
//! A path that loses packets may cost a flow more than it adds, since TCP sends less after each
//! loss, whatever the other paths would carry. So a path is first given copies of packets that
//! another path carries. They do no harm, and show the loss of the path. The path carries bulk once
//! it is known to add more than it costs, and gets copies again when it no longer does.

use smallvec::SmallVec;

use super::Adaptive;
use super::path::Role;

/// Packets after which the loss of a path is known well enough. A path that loses 0.5 % has lost
/// none of this many in one of 150 cases.
const KNOWN: u32 = 1_000;
/// Packets after which the loss of a path without jitter is known well enough. A link that loses
/// packets at random is mostly a radio link, which jitters.
const KNOWN_STILL: u32 = 150;
/// The payload of a packet in the estimate, in bits.
const SEGMENT: f64 = 1_400.0 * 8.0;
/// The factor by which a set of paths has to be better to be preferred to one with less loss.
const BETTER: f64 = 1.02;

/// The least loss of repairs that is assumed of any path.
const LEAST_LOSS: f64 = 0.001;

/// A path that may carry bulk.
#[derive(Clone, Copy)]
struct Candidate {
    slot: u16,
    loss: f64,
    /// Bits per microsecond.
    rate: f64,
    /// Microseconds.
    rtt: f64,
}

impl Adaptive {
    /// Gives each path its role by the present estimates.
    pub(super) fn assign_roles(&mut self, now: i64) {
        let mut candidates: SmallVec<[Candidate; 8]> = SmallVec::new();
        for (place, &slot) in self.order.iter().enumerate() {
            let Some(path) = self.path_at(slot) else { continue };
            let (counted, loss) = (path.model.loss().0, path.loss());
            let known = if path.model.sigma() > 0.0 { KNOWN } else { KNOWN_STILL };
            if counted >= known || path.surveyed.is_some() || place == 0 || path.role == Role::Bulk
            {
                let (rate, rtt) = (8.0 * path.model.possible_rate(), path.model.rtt());
                candidates.push(Candidate { slot, loss, rate, rtt });
            }
        }
        candidates.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let repairs = self.is_repairing();
        let mut best = (0.0, 0);
        for count in 1..=candidates.len() {
            let set = &candidates[..count];
            let value = flow_rate(set, repairs);
            // Without loss every path adds to the flow.
            if value > best.0 * BETTER || candidates[count - 1].loss == 0.0 {
                best = (value, count);
            }
        }
        let mut chosen: SmallVec<[u16; 8]> = SmallVec::new();
        let of_set = |slot: &&u16| candidates[..best.1].iter().any(|it| it.slot == **slot);
        chosen.extend(self.order.iter().filter(of_set).copied());
        self.update_reach(now, &chosen);
        chosen.retain(|slot| self.reach.takes(*slot));
        let avoided = |path: &super::path::Sender| path.foreign_queue > 0.0;
        self.trying = chosen.len() < self.order.len() || self.paths.iter().flatten().any(avoided);
        for (slot, path) in self.paths.iter_mut().enumerate() {
            let Some(path) = path else { continue };
            path.role = if chosen.contains(&(slot as u16)) {
                Role::Bulk
            } else if path.model.keep_to_floor() {
                Role::Least
            } else if candidates.iter().any(|it| usize::from(it.slot) == slot) {
                Role::Aside
            } else {
                Role::Trial
            };
        }
    }
}

/// Returns the rate that a TCP flow reaches over these paths, in bits per microsecond: their summed
/// rate, and at most what their loss allows ([`tcp_rate`]).
///
/// If losses are repaired, the loss that remains counts. A packet is lost for good only if it is lost on its own path, then on the path with the
/// least loss, and then on both of the two paths with the least (`docs/repair.md`). `paths` begins with these two.
fn flow_rate(paths: &[Candidate], repairs: bool) -> f64 {
    let rate: f64 = paths.iter().map(|it| it.rate).sum();
    let mean = paths.iter().map(|it| it.rate * it.loss).sum::<f64>() / rate.max(1e-9);
    let repair = |path: Option<&Candidate>| path.map_or(1.0, |it| it.loss.max(LEAST_LOSS));
    let least = repair(paths.first());
    let loss = if repairs { mean * least * least * repair(paths.get(1)) } else { mean };
    let rtt = paths.iter().map(|it| it.rtt).fold(0.0, f64::max);
    rate.min(tcp_rate(rtt, loss))
}

/// Returns the rate that a TCP flow reaches at most, in bits per microsecond, with this round-trip
/// time in microseconds and this share of lost packets (Mathis et al. 1997).
pub(super) fn tcp_rate(rtt: f64, loss: f64) -> f64 {
    1.22 * SEGMENT / (rtt.max(1.0) * loss.sqrt().max(1e-9))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::RateBounds;
    use crate::scheduler::Member;

    /// Two paths of 40 ms, of which a survey has shown that the second one loses a twentieth.
    fn lossy_beside_clean(bounds: RateBounds) -> Adaptive {
        let mut adaptive = Adaptive::new(Instant::now());
        for slot in 0..2 {
            let member = Member { weight: 1, tier: 0, up: true, identity: slot as u64 };
            adaptive.set(slot, Some(member), 36);
            let mut rtt = crate::session::Rtt::new();
            (0..50).for_each(|_| rtt.record(Duration::from_millis(40)));
            adaptive.set_rtt(slot, rtt.known().expect("samples"));
        }
        adaptive.set_bounds(1, bounds);
        for (slot, loss) in [(0, 0.0), (1, 0.05)] {
            if let Some(path) = &mut adaptive.paths[slot] {
                path.surveyed = Some(loss);
            }
        }
        adaptive.reorder_paths();
        adaptive.assign_roles(0);
        adaptive
    }

    #[test]
    fn a_path_that_costs_more_than_it_brings_carries_its_least_rate() {
        let roles =
            |adaptive: &Adaptive| adaptive.paths().map(|(_, path)| path.role).collect::<Vec<_>>();
        let free = lossy_beside_clean(RateBounds::NONE);
        assert_eq!(roles(&free), [Role::Bulk, Role::Aside]);
        let bounds = RateBounds::new(Some(8_000_000), None).expect("a good bound");
        let bounded = lossy_beside_clean(bounds);
        assert_eq!(roles(&bounded), [Role::Bulk, Role::Least]);
        let rates: Vec<f64> = bounded.paths().map(|(_, path)| path.model.rate()).collect();
        assert_eq!(rates[1], 1.0, "bytes per microsecond");
    }
}
