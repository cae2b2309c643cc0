//! A daemon ends, with or without a word, and another one takes its place, which remembers nothing.

use std::time::Duration;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

fn resumes(setup: Setup, side: Side, pause: Duration, goodbye: bool) -> Duration {
    let mut network = Network::established(setup);
    network.run_traffic(2 * SECOND, millis(1));
    if goodbye {
        network.at(side, |host, now| host.node.close_all(now));
        network.run(millis(30));
    }
    network.kill(side);
    network.run_traffic(pause, millis(1));
    network.restart(side);
    let took = network.expect_under_traffic(SECOND, "it resumes", |network| {
        network.is_all_up() && SIDES.iter().all(|&side| !network.hosts[side].delivered.is_empty())
    });
    // Both directions are in order again at once.
    let from = network.hosts.each_ref().map(|host| host.sent);
    network.run_traffic(SECOND, millis(1));
    network.run(SECOND);
    network.assert_nothing_lost_from(from);
    took
}

#[test]
fn the_server() {
    for seed in 0..10 {
        for learn in [false, true] {
            for goodbye in [false, true] {
                let setup = Setup { learn, ..Setup::new(seed, &[5, 20]) };
                let took = resumes(setup, SERVER, millis(1500 + 77 * seed), goodbye);
                eprintln!("learn {learn}, goodbye {goodbye}: {took:?}");
            }
        }
    }
}

#[test]
fn the_server_at_once() {
    for seed in 0..10 {
        let took = resumes(Setup::new(seed, &[5, 20]), SERVER, millis(10 * seed), false);
        eprintln!("{took:?}");
    }
}

#[test]
fn the_client() {
    for seed in 0..10 {
        for learn in [false, true] {
            let setup = Setup { learn, ..Setup::new(seed, &[5, 20]) };
            let took = resumes(setup, CLIENT, millis(100 * seed), seed % 2 == 1);
            eprintln!("learn {learn}: {took:?}");
        }
    }
}

/// It numbers its paths otherwise in its next life, and calls path 1 what was path 2.
#[test]
fn a_client_that_names_its_paths_otherwise() {
    let mut network = Network::established(Setup::new(3, &[5, 20]));
    network.run_traffic(SECOND, millis(1));
    network.at(CLIENT, |host, now| host.node.close_all(now));
    network.kill(CLIENT);
    network.run(millis(500));
    network.restart(CLIENT);
    network.at(CLIENT, |host, now| {
        let mut paths: Vec<_> = host.paths.iter().map(|&path| (None, path)).collect();
        paths.reverse();
        host.node.close_session(now, host.session, mpt_wire::control::Reason::CONNECTION_REMOVED);
        let config = mpt_core::session::SessionConfig {
            name: "tunnel".to_owned(),
            kind: mpt_wire::control::Kind::Connection,
            peer: identity(SERVER).public(),
            psk: None,
            initiate: true,
            create: false,
            key: None,
            timing: Default::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            remote: None,
        };
        host.session = host.node.add_session(now, config);
        host.node.attach(now, host.session, host.connection, &paths);
    });
    network.expect(SECOND, "both paths", Network::is_all_up);
    network.run_traffic(SECOND, millis(1));
    network.cut_both(0, true);
    network.expect_under_traffic(millis(400), "the right one is left", |network| {
        network.is_down_both(0) && network.is_up_both(1)
    });
}
