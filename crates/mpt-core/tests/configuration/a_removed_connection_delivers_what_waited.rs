//! Changes at run time lose nothing that could be delivered.

use std::time::Duration;

use mpt_core::{ConnectionConfig, ConnectionId, DatagramDrop, InnerDrop, Node};

use crate::common::*;

fn inner(number: u8) -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &[number])
}

/// Number 1 is missing, 2 and 3 wait.
fn waiting(device: &mut Device) -> Node<Packet> {
    let mut node = node(connection(vec![path(1), path(2)]));
    for number in [0, 3, 2] {
        let datagram = gre(u32::from(number), &inner(number));
        receive(&mut node, origin(), 1, &datagram, device).unwrap();
    }
    assert_eq!(device.delivered, [inner(0)]);
    node
}

#[test]
fn when_it_is_removed() {
    let mut device = Device::default();
    let mut node = waiting(&mut device);
    node.remove_connection(origin(), ConnectionId::first(0), &mut device);
    assert_eq!(device.delivered, [inner(0), inner(2), inner(3)]);
    assert_eq!(device.discarded, 0);
    assert_eq!(node.next_timeout(), None);
    assert_eq!((node.tunnels().connections().count(), node.tunnels().paths().count()), (0, 0));

    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    assert_eq!(send(&mut node, &packet), Err(InnerDrop::NoConnection));
    let result = receive(&mut node, origin(), 1, &gre(4, &inner(4)), &mut device);
    assert_eq!(result, Err(DatagramDrop::UnknownSender));
    node.add_connection(origin(), connection(vec![path(1)])).unwrap();
}

#[test]
fn when_numbers_are_switched_off() {
    let mut device = Device::default();
    let mut node = waiting(&mut device);
    let without = ConnectionConfig { sequence: false, ..connection(vec![path(1), path(2)]) };
    node.reconfigure(origin(), vec![without], &mut device).unwrap();
    assert_eq!(device.delivered, [inner(0), inner(2), inner(3)]);
}

#[test]
fn when_the_path_it_came_over_is_removed() {
    let mut device = Device::default();
    let mut node = waiting(&mut device);
    let (id, _) = node.tunnels().paths().next().unwrap();
    node.remove_path(origin(), id);
    receive(&mut node, origin(), 2, &gre(1, &inner(1)), &mut device).unwrap();
    assert_eq!(device.delivered, [inner(0), inner(1), inner(2), inner(3)]);
}

#[test]
fn when_the_window_shrinks() {
    let mut device = Device::default();
    let mut node = waiting(&mut device);
    let mut config = connection(vec![path(1), path(2)]);
    config.reorder.window = Some(1);
    node.reconfigure(origin(), vec![config], &mut device).unwrap();
    let later = origin() + Duration::from_secs(1);
    node.handle_timeout(later, &mut device);
    assert_eq!(device.delivered, [inner(0), inner(2), inner(3)]);
}
