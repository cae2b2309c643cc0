//! Paths over IPv4 and over IPv6 in one connection that carries both.

use std::time::Duration;

use mpt_core::DeviceId;

use crate::virtual_network::{Inner, Network, PathSetup, SIDES, Setup, millis};

#[test]
fn and_the_packets_come_out_in_order() {
    for seed in 1..=3 {
        let paths = vec![
            PathSetup::new(millis(5)).weights([3, 1]),
            PathSetup::new(millis(20)).weights([2, 1]).outer_v6(),
            PathSetup::new(millis(40)).outer_v6(),
        ];
        let setup = Setup { inner: Inner::Both, ..Setup::new(seed, paths) };
        let gre = 8 + if setup.key.is_some() { 4 } else { 0 } + if setup.checksum { 4 } else { 0 };
        let mut network = Network::new(setup);
        network.run(millis(1000), Duration::from_micros(200));
        network.settle();

        network.assert_all_delivered_once();
        for side in SIDES {
            assert_eq!(network.inversions(side), 0);
            assert!((0..3).all(|path| network.wire[side].iter().any(|it| it.path == path)));
            let flows = &network.hosts[side].delivered;
            assert!([0, 1].iter().all(|version| flows.iter().any(|it| it.flow % 2 == *version)));
            // The MTU is that of the paths over IPv6, the smaller one.
            let mtu = network.hosts[side].node.tunnels().inner_mtu(DeviceId(0));
            assert_eq!(mtu, 1500 - 40 - 8 - gre);
        }
    }
}
