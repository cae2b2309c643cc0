//! Pings, messages over TCP, a web page and a rival beside the traffic of a measurement; and what the daemon knows meanwhile.

use serde_json::{Value, json};

use crate::support::{Link, Measured, measure, mptcp, plain, spec, tunnel};

const LINKS: [Link; 2] = [Link { delay: 10, ..Link::new(20) }, Link { delay: 10, ..Link::new(20) }];

fn seconds(seconds: u64) -> Value {
    json!({ "secs": seconds, "nanos": 0 })
}

fn milliseconds(milliseconds: u64) -> Value {
    json!({ "secs": 0, "nanos": milliseconds * 1_000_000 })
}

/// A flow of the laboratory of so many seconds, after two in which what is beside it is alone; all but the first second counts.
fn observed(method: Value, duration: u64, beside: &[Value]) -> Measured {
    let traffic = json!({
        "kind": "tcp", "flows": 1, "duration": seconds(duration), "congestion": "cubic", "own": true,
    });
    let mut spec = spec(&LINKS, method, traffic);
    if spec["method"]["kind"] == "plain" {
        spec["network"]["links"].as_array_mut().unwrap().truncate(1);
        spec["network"]["channels"].as_array_mut().unwrap().truncate(2);
    }
    spec["observation"] = json!({
        "beside": beside,
        "lead": seconds(2),
        "counts": [seconds(1), seconds(duration)],
        "watch": milliseconds(100),
        "targets": [],
    });
    measure(&spec)
}

fn ping() -> Value {
    json!({ "kind": "ping", "interval": milliseconds(50) })
}

fn echo() -> Value {
    json!({ "kind": "echo", "interval": milliseconds(100) })
}

fn page() -> Value {
    json!({ "kind": "page", "pause": milliseconds(200) })
}

#[test]
fn pings_and_messages_alone_and_beside_a_flow() {
    let measured = observed(plain(), 4, &[ping(), echo()]);
    for name in ["ping", "echo"] {
        let [idle, p50, p95] =
            ["idle_ms", "p50_ms", "p95_ms"].map(|it| measured.metric(&format!("{name}_{it}")));
        assert!((20.0..40.0).contains(&idle), "{name}: {idle}");
        // A flow of cubic fills the queue of 100 ms.
        assert!((idle + 20.0..250.0).contains(&p50) && p95 >= p50, "{name}: {p50}, {p95}");
        let added = measured.metric(&format!("{name}_p50_added_ms"));
        assert!((added - (p50 - idle)).abs() < 1e-6);
        assert_eq!(measured.series(name).len(), 40);
    }
    assert_eq!(measured.metric("echo_lost_percent"), 0.0);
    assert!(measured.metric("goodput_counted_mbit") > 10.0);
    assert_eq!(measured.deviations(), [""; 0]);
}

#[test]
fn the_same_over_multipath_tcp() {
    let measured = observed(mptcp(), 3, &[ping(), echo()]);
    assert!((20.0..40.0).contains(&measured.metric("echo_idle_ms")));
    assert!(measured.metric("goodput_counted_mbit") > 10.0);
    assert_eq!(measured.deviations(), [""; 0]);
    // Where the page has filled the queue, the first packet of a connection may be lost, and the next: it comes after 3 s then.
    let measured = observed(mptcp(), 8, &[page()]);
    assert!((0.3..1.6).contains(&measured.metric("page_idle_s")));
    assert_eq!(measured.deviations(), [""; 0]);
}

#[test]
fn a_page_takes_longer_beside_a_flow() {
    let measured = observed(tunnel(4, 4, true), 8, &[page()]);
    let [idle, beside, ratio] =
        ["page_idle_s", "page_s", "page_ratio"].map(|name| measured.metric(name));
    // 2.6 MB over 40 Mbit/s.
    assert!((0.5..1.6).contains(&idle), "{idle}");
    assert!(ratio > 1.1, "{beside} over {idle}");
    assert!((ratio - beside / idle).abs() < 1e-9);
}

#[test]
fn a_rival_shares_its_link_only() {
    let rival = json!({
        "kind": "rival", "over": { "link": 0 }, "after": seconds(1), "congestion": "cubic",
    });
    let measured = observed(tunnel(4, 4, true), 6, &[rival]);
    let [ours, theirs] = [measured.metric("goodput_counted_mbit"), measured.metric("rival_mbit")];
    assert!((1.0..20.0).contains(&theirs), "{theirs}");
    assert!(ours + theirs < 40.0 && ours > 5.0, "{ours}, {theirs}");
    let rival = measured.series("rival");
    assert_eq!(rival.len(), 60);
    assert!(rival[..10].iter().all(|&rate| rate == 0.0), "it begins after a second");
    assert!(rival[20..].iter().any(|&rate| rate > 0.0));
}

#[test]
fn two_connections_share_the_paths() {
    let rival = json!({
        "kind": "rival", "over": "second-connection", "after": seconds(1), "congestion": "cubic",
    });
    let mut method = tunnel(4, 4, true);
    method["second_connection"] = json!(true);
    let measured = observed(method, 12, &[rival]);
    let [ours, theirs] = [measured.metric("goodput_counted_mbit"), measured.metric("rival_mbit")];
    // What each of them gets in a few seconds depends on how both flows began; the experiment "competing" judges it. Here both carry data, over the
    // same links.
    assert!(ours > 1.0 && theirs > 1.0 && ours + theirs < 40.0, "{ours}, {theirs}");
}

#[test]
fn the_daemon_tells_what_it_knows_of_its_paths() {
    let measured = observed(tunnel(4, 4, true), 3, &[]);
    for path in ["path1", "path2"] {
        let series = |what: &str| measured.series(&format!("path {what}/{path}"));
        assert_eq!(series("rate").len(), 30);
        let rate = series("rate")[15..25].iter().sum::<f64>() / 10.0;
        assert!((10.0..21.0).contains(&rate), "{rate} of 20 Mbit/s");
        let share = series("share")[20];
        assert!((30.0..70.0).contains(&share), "{share} % of the tunnel");
        assert!(series("rtt").iter().all(|&rtt| rtt == 0.0 || rtt > 19.0));
        assert_eq!((series("queue").len(), series("limit").len()), (30, 30));
    }
    assert_eq!(measured.series("tunnel queue").len(), 30);
}

#[test]
fn the_time_until_a_new_rate_is_reached() {
    let traffic = json!({
        "kind": "tcp", "flows": 1, "duration": seconds(8), "congestion": "cubic", "own": true,
    });
    let mut spec = spec(&LINKS[..1], plain(), traffic);
    spec["network"]["channels"][0]["schedule"] = json!([[seconds(3), { "Rate": 5_000_000 }]]);
    let target = |step: &str, rate: u64| json!({ "step": step, "after": seconds(3), "until": seconds(8), "rate": rate });
    spec["observation"] = json!({
        "beside": [], "lead": seconds(0), "counts": [seconds(1), seconds(3)], "watch": null,
        "targets": [target("down", 4_700_000), target("up", 19_000_000)],
    });
    let measured = measure(&spec);
    assert!(measured.metric("reached_down_s") < 1.5);
    assert_eq!(measured.metric("reached_up_s"), 5.0, "never: the whole time");
    let [deviation] = &measured.deviations()[..] else { panic!("{:?}", measured.deviations()) };
    assert!(deviation.contains("90 % of 19 Mbit/s were not held"), "{deviation}");
    assert!(measured.metric("goodput_counted_mbit") > 15.0);
}
