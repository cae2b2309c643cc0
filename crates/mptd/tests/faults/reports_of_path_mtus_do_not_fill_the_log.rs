//! ICMP lowers the path MTU of a connection without a session byte by byte. The log has so many lines about it, and says how many were left out.

use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

use crate::hosts::{Pair, wait_for};
use crate::support::wait_for_echo;
use crate::the_mtu_follows_the_paths::fragmentation_needed;

/// Reports that are sent, each of which is believed.
const REPORTS: u16 = 150;
/// Lines that may be written about a connection in a minute.
const LINES: usize = 100;
/// The beginning of the GRE header of the connection's packets: flags and protocol, without the sequence number that an attacker off the path would have
/// to know.
const QUOTE: [u8; 4] = [0x10, 0, 0x08, 0];

#[test]
fn however_often_they_come() {
    let pair = Pair::with_lines(1);
    let [mut a, _b] = pair.start(&pair.configs());
    wait_for_echo(&pair.a, &pair.b);
    let port = a.path("tunnel", "line1").source_ports[0];
    let raw = pair.b.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))).unwrap();
    let target: SocketAddr = "10.71.1.1:0".parse().unwrap();
    for mtu in (1500 - REPORTS..1500).rev() {
        raw.send_to(&fragmentation_needed(mtu, port, &QUOTE), &target.into()).unwrap();
        wait_for("the report is believed", || (a.path("tunnel", "line1").mtu == mtu).then_some(()));
    }
    let written = a.lines(&["path MTU lowered"]).len();
    assert!(written <= LINES, "{written} lines about {REPORTS} reports");
    let left_out = a.left_out("connection tunnel");
    // If two reports come before the daemon looks, only the later one is logged. Besides, the path has come up.
    let reports = usize::from(REPORTS);
    assert!(
        written + left_out > reports / 2 && written + left_out <= reports + 1,
        "{written} and {left_out} of {reports}"
    );
}
