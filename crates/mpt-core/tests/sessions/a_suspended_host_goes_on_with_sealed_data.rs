//! A host is suspended, or its daemon is stopped, for less and for longer than keys last, and its clock goes on or stands still
//! meanwhile: sealed data flows both ways again soon, nothing plain is sent, and no number is sealed twice under one key.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_wire::gre;

use super::network::*;

/// The longest time until data flows both ways after a host is back: that in which the other one tries a handshake again.
const SOON: Duration = Duration::from_secs(15);
/// Seconds of suspension: a moment, about the age at which keys are renewed, that at which they seal no more, and longer than
/// keys are kept.
const TIMES: [u64; 5] = [1, 119, 125, 185, 600];

fn check(side: Side, seconds: u64, goes_on: bool) {
    let mut network = Network::established(Setup::new(seconds, &[5, 20]).sealed());
    network.run_traffic(millis(1000), millis(10));
    network.captured_data = Some(Vec::new());
    network.suspend(side, Duration::from_secs(seconds), goes_on);
    network.expect_under_traffic(SOON, "sealed data flows both ways", |it| {
        let arrived = |side: Side| it.hosts[1 - side].delivered.last().map(|&(at, _)| at);
        SIDES.iter().all(|&side| arrived(side).is_some_and(|at| at + millis(100) > it.now()))
    });
    network.run_traffic(millis(130_000), millis(100));
    let mut sealed: BTreeMap<(Side, u32, u32), Vec<u8>> = BTreeMap::new();
    for (side, _, wire) in network.captured_data.take().unwrap() {
        let (header, _) = gre::Repr::parse(&wire.bytes).expect("GRE");
        assert_eq!(header.protocol, gre::Protocol::SEALED, "nothing plain");
        let place = (side, header.key.unwrap(), header.sequence.unwrap());
        let before = sealed.insert(place, wire.bytes.clone());
        assert!(before.is_none_or(|it| it == wire.bytes), "{place:?} is sealed twice");
    }
    let senders = SIDES.map(|side| sealed.keys().filter(|it| it.0 == side).count());
    assert!(senders.iter().all(|&count| count > 1000), "{senders:?}");
}

#[test]
fn whose_clock_stood_still() {
    for seconds in TIMES {
        SIDES.into_iter().for_each(|side| check(side, seconds, false));
    }
}

#[test]
fn whose_clock_went_on() {
    for seconds in TIMES {
        SIDES.into_iter().for_each(|side| check(side, seconds, true));
    }
}
