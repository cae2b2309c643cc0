//! One timer queue for all reorder buffers.

use std::time::Duration;

use mpt_core::{ConnectionConfig, Node, PathConfig, Selector, SocketId, reorder};

use crate::common::*;

const CONNECTIONS: u16 = 200;

#[test]
fn each_gap_is_given_up_when_its_delay_is_over() {
    let start = origin();
    let mut node = Node::new([0; 32]);
    let mut device = Device::default();
    let delay = |n: u16| Duration::from_millis(10 + u64::from(n * 37 % CONNECTIONS));
    let prefix = |n: u16| format!("10.1.{n}.0/24").parse().unwrap();
    for n in 0..CONNECTIONS {
        let base =
            connection(vec![PathConfig { sockets: vec![SocketId(u32::from(n))], ..path(1) }]);
        let reorder =
            reorder::Config { max_delay: Some(delay(n)), early_release: false, ..base.reorder };
        let config = ConnectionConfig {
            name: format!("connection{n}"),
            selectors: vec![Selector::to(prefix(n))],
            sources: vec![prefix(n)],
            reorder,
            ..base
        };
        node.add_connection(start, config).unwrap();
    }
    assert_eq!(node.next_timeout(), None);

    let inner = |n: u16| udp(&format!("10.1.{n}.1"), "10.0.0.1", 1, n, &[]);
    let remote = "192.0.2.1:4754".parse().unwrap();
    for n in 0..CONNECTIONS {
        for number in [0, 2] {
            let socket = SocketId(u32::from(n));
            let datagram = gre(number, &inner(n));
            receive_from(&mut node, start, socket, remote, &datagram, &mut device).unwrap();
        }
    }
    assert_eq!(device.delivered.len(), usize::from(CONNECTIONS));
    device.delivered.clear();

    let mut steps = 0;
    while let Some(time) = node.next_timeout() {
        let before = device.delivered.len();
        node.handle_timeout(time, &mut device);
        for packet in &device.delivered[before..] {
            let n = u16::from_be_bytes([packet[22], packet[23]]);
            assert_eq!(time - start, delay(n), "connection {n}");
        }
        steps += 1;
        assert!(steps <= 2 * CONNECTIONS, "a timer that does nothing");
    }
    assert_eq!(device.delivered.len(), usize::from(CONNECTIONS));
}
