//! Echo requests.

use serde_json::json;

use crate::support::{Link, measure, ping, plain, spec, tunnel};

#[test]
fn of_a_link_and_of_a_tunnel_over_it() {
    let links = [Link { delay: 10, ..Link::new(20) }];
    for method in [plain(), tunnel(4, 4, true)] {
        let measured = measure(&spec(&links, method, ping(50, 20)));
        let [min, avg, max] =
            ["rtt_min_ms", "rtt_avg_ms", "rtt_max_ms"].map(|name| measured.metric(name));
        assert!((20.0..25.0).contains(&min) && min <= avg && avg <= max, "{min} {avg} {max}");
        assert_eq!(measured.metric("loss_percent"), 0.0);
    }
}

#[test]
fn of_a_link_that_has_jitter() {
    let mut spec = spec(&[Link { delay: 20, ..Link::new(20) }], plain(), ping(100, 20));
    for channel in spec["network"]["channels"].as_array_mut().unwrap() {
        let half_width = json!({ "secs": 0, "nanos": 10_000_000 });
        channel["params"]["jitter"] = json!({ "distribution": { "Uniform": { "half_width": half_width } }, "redraw": "EveryPacket" });
    }
    let measured = measure(&spec);
    // The difference of two round-trip times is the sum of four uniform variables of +-10 ms each: 9 ms in the mean.
    let jitter = measured.metric("jitter_ms");
    assert!((6.0..12.0).contains(&jitter), "{jitter} ms");
    // A round-trip time is the sum of two, with a standard deviation of 8.2 ms.
    let deviation = measured.metric("rtt_sd_ms");
    assert!((6.0..10.5).contains(&deviation), "{deviation} ms");
}
