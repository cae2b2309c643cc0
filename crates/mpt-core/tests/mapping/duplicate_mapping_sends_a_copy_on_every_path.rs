//! The papers' redundancy use.

use mpt_core::{ConnectionConfig, DownReason, Mapping, reorder};

use crate::common::*;

fn duplicate(window: u16) -> ConnectionConfig {
    let base = connection(paths(&[1, 5, 2]));
    let reorder = reorder::Config { window: Some(window), ..base.reorder };
    ConnectionConfig { mapping: Mapping::Duplicate, reorder, ..base }
}

#[test]
fn one_number_for_all_copies() {
    let mut node = node(duplicate(64));
    let packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
    for sequence in 0..3 {
        let transmits = send(&mut node, &packet).unwrap();
        let paths: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
        assert_eq!(transmits.iter().map(|transmit| transmit.path).collect::<Vec<_>>(), paths);
        assert!(transmits.iter().all(|transmit| transmit.sequence == sequence));
    }
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.sent().packets, 3);
    assert!(node.tunnels().paths().all(|(_, path)| path.sent().packets == 3));
}

#[test]
fn none_on_a_path_that_is_down() {
    let mut node = node(duplicate(64));
    let (id, _) = node.tunnels().paths().nth(1).unwrap();
    node.set_path_state(origin(), id, DownReason::Administrative, true);
    assert_eq!(send_many(&mut node, 2), [1, 3, 1, 3]);
}

#[test]
fn the_receiver_delivers_one_copy_even_without_a_window() {
    for window in [0, 64] {
        let mut node = node(duplicate(window));
        let mut device = Device::default();
        let now = origin();
        for sequence in 0..50_u8 {
            let inner = udp("10.1.0.1", "10.0.0.1", 1, 2, &[sequence]);
            for n in 1..=3 {
                let datagram = gre(u32::from(sequence), &inner);
                receive(&mut node, now, n, &datagram, &mut device).unwrap();
            }
        }
        let numbers: Vec<u8> =
            device.delivered.iter().map(|packet| *packet.last().unwrap()).collect();
        assert_eq!(numbers, (0..50).collect::<Vec<u8>>(), "window {window}");
    }
}
