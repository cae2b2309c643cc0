//! Downloads by real clients from real servers.

use crate::support::{Link, download, measure, plain, spec, tunnel};

const BYTES: u64 = 6_000_000;

#[test]
fn over_a_link() {
    for protocol in ["ftp", "http"] {
        check(protocol, &[Link::new(20)], plain());
    }
}

#[test]
fn through_a_tunnel() {
    for protocol in ["ftp", "http"] {
        check(protocol, &[Link::new(10), Link::new(10)], tunnel(4, 4, true));
    }
}

fn check(protocol: &str, links: &[Link], method: serde_json::Value) {
    let measured = measure(&spec(links, method, download(protocol, BYTES)));
    let (time, goodput) = (measured.metric("download_s"), measured.metric("goodput_mbit"));
    assert!(
        (time * goodput * 1e6 / 8.0 - BYTES as f64).abs() < 1.0,
        "{protocol}: {time} s, {goodput} Mbit/s"
    );
    assert!((0.8..1.0).contains(&(goodput / 20.0)), "{protocol}: {goodput} Mbit/s");
    assert_eq!(measured.deviations(), [""; 0], "{protocol}: cubic ran");
    assert!(measured.series("goodput").len() >= 20, "{protocol}");
}
