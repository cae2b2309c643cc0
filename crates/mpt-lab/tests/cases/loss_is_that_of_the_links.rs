//! Packets that a link loses are missing at the receiver, and stand in the link's counter; others are not missing.

use crate::support::{Link, measure, plain, rtp, spec, tunnel};

/// Bytes of a datagram of the stream on its way: 1,000 of its own, and the headers of UDP, IP and Ethernet.
const FRAME: u64 = 1000 + 8 + 20 + 14;

#[test]
fn of_a_stream_over_one_link() {
    let link = Link { loss: 0.1, ..Link::new(20) };
    let measured = measure(&spec(&[link], plain(), rtp(4, 3)));
    // 1,500 datagrams: the standard deviation of the loss is 0.8 %.
    let loss = measured.metric("loss_percent");
    assert!((7.0..13.0).contains(&loss), "{loss} %");
    let missing = (loss / 100.0 * 1500.0).round() as u64;
    // The hosts have packets of their own, which are lost as all others: few and small ones, together less than a datagram.
    let others = measured.counter("links/0 path1 forward/offered_bytes") - 1500 * FRAME;
    assert!(others < FRAME, "{others} bytes besides");
    let lost = measured.counter("links/0 path1 forward/lost_bytes");
    assert_eq!(lost / FRAME, missing, "the link lost {lost} bytes");
    let counted = measured.counter("links/0 path1 forward/lost");
    assert!(counted >= missing, "{missing} are missing, the link lost {counted}");
    assert!(measured.metric("longest_gap_ms") >= 4.0);
}

#[test]
fn and_nothing_is_lost_in_a_tunnel_over_good_links() {
    let links = [Link { delay: 5, ..Link::new(20) }, Link::new(20)];
    let measured = measure(&spec(&links, tunnel(4, 6, true), rtp(4, 3)));
    assert_eq!(measured.metric("loss_percent"), 0.0);
    // Nor does it come out of order, but for what a busy machine sends later than the reorder window expects: that is counted.
    // Without a reorder window each second packet would be overtaken.
    let late = measured.counter("b/reorder/late") as f64;
    let reordered = measured.metric("reordered_percent");
    assert!((reordered / 100.0 * 1500.0 - late).abs() < 0.5, "{reordered} %, {late} late");
    assert!(reordered < 1.0, "{reordered} %");
    let delay = measured.series("delay");
    let mean = delay.iter().sum::<f64>() / delay.len() as f64;
    assert!(mean >= 2.5, "half of the packets take 5 ms: {mean} ms");
}
