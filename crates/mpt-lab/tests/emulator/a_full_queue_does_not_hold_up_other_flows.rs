use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mpt_link::{Bitrate, Params, QueueLimit};
use serde_json::json;

use crate::harness::{Emulator, Hosts, introduce, receive};

/// Size of a datagram of 1000 bytes on the wire with its headers.
const SIZE: usize = 958;
const COUNT: usize = 80;
/// Other flows. One of a thousand shares the place of the first flow in the queue, by the hash of its ports.
const OTHERS: usize = 3;

/// Returns the delay of the quickest of some datagrams of other flows that are sent behind many of one flow, 1 ms each.
fn delay(fair: bool) -> Duration {
    let hosts = Hosts::new();
    let queue = QueueLimit::Time(Duration::from_millis(200));
    let params = Params { rate: Bitrate::new(8_000_000), queue, ..Params::default() };
    let channels = [json!({"params": params, "fair": fair})];
    let cables = [hosts.cable(0, &[0], &[])];
    let _emulator = Emulator::with_channels(&hosts, &channels, &cables, false);
    introduce(&hosts, 0);
    let (bulk, sparse) = (hosts.socket(0, 0), [(); OTHERS].map(|()| hosts.socket(0, 0)));
    let (to, waits) = (hosts.socket(0, 1), hosts.socket(0, 1));
    for _ in 0..COUNT {
        bulk.send_to(&[0; SIZE], to.local_addr().unwrap()).unwrap();
    }
    let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    for sparse in sparse {
        sparse.send_to(&[0; 10], waits.local_addr().unwrap()).unwrap();
    }
    let arrived = receive(&waits);
    assert_eq!((arrived.len(), receive(&to).len()), (OTHERS, COUNT));
    arrived.iter().map(|it| it.at.saturating_sub(sent)).min().unwrap()
}

#[test]
fn where_it_serves_flows_in_turns() {
    let (one_queue, in_turns) = (delay(false), delay(true));
    assert!(one_queue > Duration::from_millis(60), "{one_queue:?}");
    assert!(in_turns < Duration::from_millis(20), "{in_turns:?}");
}
