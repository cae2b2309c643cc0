//! A cable is pulled at one end, and a switch in the middle keeps the carrier of the other end: that one is told over another
//! path, and stops sending into the void.

use std::time::{Duration, Instant};

use mpt_api::{DownReason, PathState};

use crate::hosts::{Line, Pair, Pulse, wait_for};
use crate::support::{start_with_session, wait_until_down};

/// 50 ms here and a round trip more there, and what a busy machine adds.
const LIMIT: Duration = Duration::from_millis(300);

#[test]
fn the_other_end_is_told_of_a_lost_carrier() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let [a, b] = start_with_session(&pair);
    let there = Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000"));
    let back = Pulse::start((&pair.b, "10.72.0.2:5001"), (&pair.a, "10.72.0.1:5001"));
    let mut cuts = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        pair.cut(1, true);
        // The system may take its time for it.
        let cut = Instant::now();
        let here = wait_for("the end without carrier notices", || {
            (a.path("tunnel", "line1").state == PathState::Down).then(|| cut.elapsed())
        });
        let path = wait_for("the other end is told", || {
            let path = b.path("tunnel", "line1");
            (path.state == PathState::Down).then_some(path)
        });
        let both = cut.elapsed();
        assert_eq!(a.path("tunnel", "line1").down, Some(DownReason::Interface));
        assert_eq!(path.down, Some(DownReason::Peer), "it is told, and does not find out");
        assert!(here < LIMIT && both < LIMIT, "{here:?}, {both:?}");
        cuts.push((start, Instant::now()));

        pair.cut(1, false);
        let back = Instant::now();
        wait_until_down(&a, "line1", None);
        wait_until_down(&b, "line1", None);
        assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
    }
    for beats in [there.end(), back.end()] {
        for (start, told) in &cuts {
            // Half of what was sent until both knew, at most.
            let lost = beats.lost(*start - Duration::from_millis(5), *told).len() as u128;
            assert!(lost <= (*told - *start).as_millis() / 2 + 20, "{lost}");
        }
        let during: usize = cuts
            .iter()
            .map(|(start, told)| beats.lost(*start - Duration::from_millis(5), *told).len())
            .sum();
        let all = beats.lost(beats.sent[0], Instant::now()).len();
        assert_eq!(all, during, "nothing is lost at any other time, nor when the path returns");
    }
}
