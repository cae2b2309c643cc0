//! The address of a client's interface changes in mid-transfer, without a NAT and with the interface up all the time: the path
//! goes on from the new address.

use std::thread;
use std::time::{Duration, Instant};

use crate::hosts::{Daemon, Pair, Pulse, Stream, wait_for};
use crate::support::{authenticate, wait_until_down};

/// 500 ms, and what a busy machine adds.
const LIMIT: Duration = Duration::from_secs(2);

/// The number of sessions that this end has ever set up: it says so in its log each time.
fn sessions_established(daemon: &Daemon) -> usize {
    daemon.log().matches("session established").count()
}

#[test]
fn a_client_that_gets_another_address_is_followed() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].path("tunnel", "line1").unset("local").set("interface", "line1");
    configs[1].path("tunnel", "line1").unset("remote");
    let [a, b] = pair.start(&configs);
    let up = Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000"));
    let down = Pulse::start((&pair.b, "10.72.0.2:5001"), (&pair.a, "10.72.0.1:5001"));
    let stream = Stream::start(&pair.b, &pair.a, "10.72.0.1:5002");
    stream.wait_for_progress();
    let before = [&a, &b].map(sessions_established);
    assert_eq!(before, [1, 1]);
    let start = Instant::now();
    pair.a.ip("address del 10.71.1.1/24 dev line1");
    pair.a.ip("address add 10.71.1.77/24 dev line1");
    wait_for("the server follows", || {
        let remote = b.path("tunnel", "line1").remote;
        (remote == Some("10.71.1.77:4754".parse().unwrap())).then_some(())
    });
    wait_until_down(&a, "line1", None);
    wait_until_down(&b, "line1", None);
    stream.wait_for_progress();
    thread::sleep(Duration::from_millis(500));
    stream.end();
    assert_eq!([&a, &b].map(sessions_established), before, "the same session");
    for beats in [up.end(), down.end()] {
        let gap = beats.longest_gap(start);
        assert!(gap < LIMIT, "{gap:?}");
    }
}
