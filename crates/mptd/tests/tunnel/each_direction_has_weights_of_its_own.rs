//! Super-aggregation: nearly everything on one path one way, almost evenly spread the other way.

use std::thread;

use crate::hosts::Pair;
use crate::hosts::traffic::deliver;

#[test]
fn each_direction_has_weights_of_its_own() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for (line, there, back) in [("line1", 10_000, 94), ("line2", 1, 121)] {
        configs[0].path("tunnel", line).set("weight", there).set("weight_in", back);
        configs[1].path("tunnel", line).set("weight", back).set("weight_in", there);
    }
    let [a, b] = pair.start(&configs);
    let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    thread::scope(|scope| {
        scope.spawn(|| deliver(&near, &far, 10_001));
        scope.spawn(|| deliver(&far, &near, 215 * 20));
    });
    assert_eq!(a.packets_sent("tunnel"), [10_000, 1]);
    assert_eq!(b.packets_sent("tunnel"), [94 * 20, 121 * 20]);
    for daemon in [a, b] {
        let reorder = daemon.connection("tunnel").reorder;
        // Late ones are possible: a sender that loses the processor between two paths is later than
        // any delay known so far.
        assert_eq!((reorder.duplicate, reorder.overflow, reorder.stray), (0, 0, 0));
    }
}
