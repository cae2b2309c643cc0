//! Events while the traffic runs.

use crate::support::{Link, measure, plain, rtp, spec, tcp, tunnel, with_event};

const LINKS: [Link; 2] = [Link::new(20), Link::new(20)];

#[test]
fn when_it_swallows_everything() {
    let spec = with_event(spec(&LINKS, tunnel(4, 4, true), tcp(8)), 2000, "black-hole", 1);
    let measured = measure(&spec);
    let series = measured.series("goodput");
    let share = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64 / 20.0;
    let (before, after) = (share(&series[5..19]), share(&series[60..80]));
    assert!(before > 1.7, "both at first: {before}");
    assert!((0.8..1.0).contains(&after), "one in the end: {after}");
    assert!(measured.counter("b/path path2/flaps") > 0);
}

#[test]
fn when_its_carrier_is_lost_and_comes_back() {
    let spec = with_event(spec(&LINKS, tunnel(4, 4, true), rtp(4, 4)), 1000, "carrier-lost", 1);
    let measured = measure(&with_event(spec, 2000, "carrier-back", 1));
    // One path carries 4 Mbit/s, so that only what was on its way at the moment is missing.
    let loss = measured.metric("loss_percent");
    assert!(loss < 5.0, "{loss} %");
    let gap = measured.metric("longest_gap_ms");
    assert!(gap < 1000.0, "{gap} ms");
}

#[test]
fn and_nothing_is_lost_when_the_administrator_takes_it_out_of_use() {
    let spec = with_event(spec(&LINKS, tunnel(4, 4, true), rtp(4, 3)), 1000, "path-down", 0);
    let measured = measure(&with_event(spec, 2000, "path-up", 0));
    assert_eq!(measured.metric("loss_percent"), 0.0);
    let [first, second] =
        ["path1", "path2"].map(|path| measured.counter(&format!("a/path {path}/sent_packets")));
    assert!(first * 4 < second * 3, "a third of the time only path 2: {first}, {second}");
}

#[test]
fn and_without_a_tunnel_a_link_that_swallows_everything_is_a_gap() {
    let spec = with_event(spec(&LINKS[..1], plain(), rtp(2, 3)), 1000, "black-hole", 0);
    let measured = measure(&with_event(spec, 2000, "black-hole-ends", 0));
    let gap = measured.metric("longest_gap_ms");
    assert!((900.0..1300.0).contains(&gap), "{gap} ms");
    let loss = measured.metric("loss_percent");
    assert!((28.0..39.0).contains(&loss), "{loss} %");
}
