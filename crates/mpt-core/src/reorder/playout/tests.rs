//! The counts of a play-out do not overflow, however much comes.

use std::time::Instant;

use super::*;
use crate::reorder::Config;

/// A peer that tells no send times has sent four billion packets, which is an hour at a million per
/// second.
#[test]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
fn a_peer_that_tells_no_times_may_send_as_much_as_it_likes() {
    let now = Instant::now();
    let mut playout: PlayOut<()> = PlayOut::new(now, Bounds::of(Config::default()));
    playout.samples.sampling.packets = u32::MAX;
    playout.sample(now.into(), 0, Sequence(1), Class::Acknowledgement);
    assert_eq!(playout.samples.sampling.packets, u32::MAX);
}
