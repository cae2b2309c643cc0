//! Two paths to one address, to which only the first has a route when the daemon starts.

use crate::hosts::{Capture, Line, Pair, wait_for};
use crate::support::{Stream, wait_for_use};

#[test]
fn and_leaves_by_no_other_interface_meanwhile() {
    let pair = Pair::new(&[Line::plain(); 2]);
    pair.b.add_address("lo", "10.70.0.2/32");
    for host in pair.hosts() {
        for key in ["all", "line1", "line2"] {
            host.sysctl(&format!("net/ipv4/conf/{key}/rp_filter"), "0");
        }
    }
    pair.a.ip("route add 10.70.0.2 via 10.71.1.2 dev line1");
    let mut configs = pair.configs();
    for line in ["line1", "line2"] {
        configs[0].path("tunnel", line).set("remote", "10.70.0.2");
        configs[1].path("tunnel", line).set("local", "10.70.0.2");
    }
    let [a, _b] = pair.start(&configs);
    let told = "no route to 10.70.0.2 leaves by line2";
    assert!(a.log().contains(told), "{}", a.log());

    let capture = Capture::start(&pair.a);
    let socket = pair.a.udp("10.72.0.1:0");
    for _ in 0..100 {
        socket.send_to(b"x", "10.72.0.2:9").unwrap();
    }
    wait_for("those of the second path fail", || {
        (*a.path("tunnel", "line2").drops.get("send_failed")? >= 50).then_some(())
    });
    let sent = capture.sent();
    assert!(sent.len() >= 50, "those of the first are sent: {}", sent.len());
    let from_second = sent.iter().filter(|it| it.source.ip().to_string() == "10.71.2.1").count();
    assert_eq!(from_second, 0);

    pair.a.ip("route add 10.70.0.2 via 10.71.2.2 dev line2 metric 9");
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    wait_for_use(&a, &["line1", "line2"]);
    stream.end();
    assert_eq!(a.log().matches(told).count(), 1, "said once");
}
