//! The kernel keeps what comes for the tunnel until the daemon reads it. A TCP sender sends a whole window at once when a segment
//! that was missing has come, which is more than the 500 packets that the kernel keeps for a TUN device by itself.

use nix::sys::signal::Signal;

use crate::hosts::{Pair, wait_for};
use crate::support::sent_over;

const BURST: u64 = 4_000;

#[test]
fn and_none_of_its_packets_is_dropped() {
    let pair = Pair::with_lines(2);
    let [a, b] = pair.start(&pair.configs());
    let sender = pair.a.udp("10.72.0.1:0");
    let before = sent_over(&pair.a, "mpt0");
    a.signal(Signal::SIGSTOP);
    for _ in 0..BURST {
        sender.send_to(&[0; 8], "10.72.0.2:5000").unwrap();
    }
    a.signal(Signal::SIGCONT);
    wait_for("all packets are read or dropped", || {
        let now = sent_over(&pair.a, "mpt0");
        let dropped = now.dropped - before.dropped;
        (now.packets - before.packets + dropped >= BURST).then(|| assert_eq!(dropped, 0))
    });
    for daemon in [a, b] {
        daemon.stop();
    }
}
