//! The client behind a NAT, or on the road: the server follows its addresses, but only after they
//! have answered.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::session::PathEvent;
use mpt_core::{PathId, SocketId};

use super::hub::{HUB, Hub, key};
use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

fn moved(network: &Network, path: usize, to: SocketAddr) -> bool {
    let host = &network.hosts[SERVER];
    host.node.tunnels().path(host.paths[path]).unwrap().remote() == Some(to)
        && network.is_up_both(path)
}

#[test]
fn a_nat_changes_the_port() {
    for seed in 0..10 {
        for delays in [&[10][..], &[10, 20]] {
            let mut network = Network::established(Setup::new(seed, delays).learning());
            network.run_traffic(SECOND, millis(1));
            let new = SocketAddr::new(address(0, CLIENT).ip(), 50_001);
            network.rebind(0, new);
            let took =
                network.expect_under_traffic(millis(500), "it resumes", |it| moved(it, 0, new));
            eprintln!("{} paths: {took:?}", delays.len());
            network.run_traffic(SECOND, millis(1));
            let events = network.hosts[SERVER].count_of_paths(
                |event| matches!(event, PathEvent::Moved { remote, .. } if *remote == new),
            );
            assert_eq!(events, 1);
        }
    }
}

#[test]
fn while_idle_the_first_packet_tells() {
    let mut network = Network::established(Setup::new(1, &[10]).learning());
    network.run(30 * SECOND);
    let new = SocketAddr::new(address(0, CLIENT).ip(), 50_001);
    network.rebind(0, new);
    network.run(millis(100));
    network.expect_under_traffic(millis(500), "it resumes", |it| moved(it, 0, new));
}

#[test]
fn the_client_roams() {
    let mut network = Network::established(Setup::new(1, &[10, 20]).learning());
    for n in 0..10 {
        let new = SocketAddr::new([203, 0, 113, n].into(), 1024 + u16::from(n));
        network.rebind(usize::from(n % 2), new);
        let path = usize::from(n % 2);
        network.expect_under_traffic(millis(500), "it resumes", |it| moved(it, path, new));
    }
}

/// Both uplinks come back, each with the address of the other one, which at the server is one and the
/// same socket: one of the two has to make room first.
#[test]
fn two_paths_change_places() {
    let mut hub = Hub::new(1);
    hub.allow([key(1).public()].into_iter());
    hub.establish();
    let before: Vec<SocketAddr> = remotes(&hub);
    let now = hub.now;
    let node = &mut hub.nodes[1].node;
    for (path, socket) in [(0, 9), (1, 0), (0, 1)] {
        node.set_path_sockets(now, PathId::first(path), vec![SocketId(socket)], None).unwrap();
    }
    hub.wake(1);
    hub.run(SECOND);
    let after = remotes(&hub);
    assert_eq!([after[1], after[0]], [before[0], before[1]]);
    assert!(hub.is_up(HUB) && hub.is_up(1));
}

fn remotes(hub: &Hub) -> Vec<SocketAddr> {
    hub.nodes[HUB].node.tunnels().paths().filter_map(|(_, path)| path.remote()).collect()
}

/// Somebody repeats frames of the client, from another address: first, even.
#[test]
fn an_address_that_does_not_answer_is_not_believed() {
    let mut network = Network::established(Setup::new(1, &[10]).learning());
    network.run_traffic(SECOND, millis(1));
    let thief = "198.51.100.66:4754".parse().unwrap();
    for _ in 0..100 {
        network.captured = Some(Vec::new());
        network.run_traffic(millis(20), millis(1));
        let captured = network.captured.take().unwrap();
        for (side, path, wire) in captured {
            if side == CLIENT {
                network.inject(SERVER, path, thief, wire.bytes);
            }
        }
    }
    let host = &network.hosts[SERVER];
    assert_eq!(host.node.tunnels().path(host.paths[0]).unwrap().remote(), Some(address(0, CLIENT)));
    assert!(network.is_all_up());
    network.run(SECOND);
    network.assert_nothing_lost();
}
