//! Paths taken down and up, other weights: the other end is told in time, and not one packet is
//! lost.

use std::time::Duration;

use mpt_core::DownReason;
use mpt_wire::control::PathState;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_path_goes_down_and_up_under_traffic() {
    for seed in 0..10 {
        for side in SIDES {
            let mut network = Network::established(Setup::new(seed, &[5, 20]));
            network.run_traffic(SECOND, millis(1));
            network.at(side, |host, now| host.set_down(now, 0, DownReason::Administrative, true));
            assert!(!network.is_up(side, 0), "at once at this end");
            // One way over the other path, and the next packet.
            let told = network.expect_under_traffic(millis(45), "the peer has left it", |it| {
                it.down(1 - side, 0, DownReason::Peer) && !it.is_up(1 - side, 0)
            });
            assert!(told <= millis(22), "{told:?}");
            network.run_traffic(SECOND, millis(1));
            let state = network.path(1 - side, 0).peer_state;
            assert_eq!(state, Some(PathState::ADMINISTRATIVELY_DOWN));

            network.at(side, |host, now| host.set_down(now, 0, DownReason::Administrative, false));
            let up = network.expect_under_traffic(millis(200), "up", Network::is_all_up);
            eprintln!("told after {told:?}, up after {up:?}");
            network.run_traffic(SECOND, millis(1));
            network.run(SECOND);
            network.assert_nothing_lost();
        }
    }
}

/// Its carrier is lost at one end: the other end has to be told.
#[test]
fn an_interface_goes_down() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.run_traffic(SECOND, millis(1));
    network.cut_both(0, true);
    network.at(CLIENT, |host, now| host.set_down(now, 0, DownReason::Interface, true));
    network.expect_under_traffic(millis(45), "the peer has left it", |it| it.is_down_both(0));
    let server = &network.hosts[SERVER];
    let path = server.node.tunnels().path(server.paths[0]).unwrap();
    assert!(!path.is_heard(), "what was lost with the carrier is not waited for");
    network.run_traffic(5 * SECOND, millis(1));
    network.cut_both(0, false);
    network.at(CLIENT, |host, now| host.set_down(now, 0, DownReason::Interface, false));
    network.expect_under_traffic(millis(400), "up again", Network::is_all_up);
}

/// With no other path, the news arrives when the path is up again.
#[test]
fn the_only_path_goes_down_and_up() {
    let mut network = Network::established(Setup::new(1, &[5]));
    network.at(SERVER, |host, now| host.set_down(now, 0, DownReason::Administrative, true));
    network.run(2 * SECOND);
    assert!(network.is_down_both(0));
    network.at(SERVER, |host, now| host.set_down(now, 0, DownReason::Administrative, false));
    network.expect(2 * SECOND, "up again", Network::is_all_up);
}

#[test]
fn the_other_end_takes_the_weights_that_are_wished() {
    let setup = Setup::new(1, &[5, 20]);
    let mut network = Network::established(setup);
    let (server, id) = (SERVER, network.hosts[CLIENT].paths[1]);
    network.at(server, |host, now| {
        let view = host.node.sessions().session(host.session).unwrap();
        let config = mpt_core::session::SessionConfig {
            name: view.name,
            kind: view.kind,
            peer: view.peer,
            psk: None,
            initiate: false,
            create: false,
            key: None,
            timing: Default::default(),
            largest_wish: u16::MAX,
            seal: mpt_core::Seal::Off,
            remote: None,
        };
        assert!(host.node.update_session(now, host.session, config));
    });
    network.at(CLIENT, |host, now| {
        host.node.set_weights(now, id, 3, 7).unwrap();
    });
    network.run_traffic(SECOND, millis(1));
    let host = &network.hosts[SERVER];
    assert_eq!(host.node.tunnels().path(host.paths[1]).unwrap().config().weight_out, 7);
    let seen = [network.path(SERVER, 1).peer_weight, network.path(CLIENT, 1).peer_weight];
    assert_eq!(seen, [Some(3), Some(7)], "{}", network.describe());
    network.run(SECOND);
    network.assert_nothing_lost();
}

#[test]
fn paths_are_added_and_removed() {
    let mut network = Network::established(Setup::new(1, &[5, 20, 50]));
    network.run_traffic(SECOND, millis(1));
    for _ in 0..3 {
        // The client removes its last path; the server's remains and waits.
        let config = network.at(CLIENT, |host, now| {
            let id = host.paths[2];
            let config = host.node.tunnels().path(id).unwrap().config().clone();
            host.node.remove_path(now, id);
            config
        });
        network.expect_under_traffic(millis(500), "left", |it| !it.is_up(SERVER, 2));
        network.run_traffic(SECOND, millis(1));
        network.at(CLIENT, |host, now| {
            host.paths[2] = host.node.add_path(now, host.connection, config).unwrap();
            let paths: Vec<_> = host.paths.iter().map(|&path| (None, path)).collect();
            host.node.attach(now, host.session, host.connection, &paths);
        });
        network.expect_under_traffic(2 * SECOND, "it takes part again", Network::is_all_up);
    }
    network.run_traffic(SECOND, millis(1));
    network.run(SECOND);
    let ids = network.session(CLIENT).paths.iter().map(|path| path.id).collect::<Vec<_>>();
    assert_eq!(ids, [Some(1), Some(2), Some(6)], "names are not given again");
}
