//! The sealed data of a peer that was revoked is not delivered, though it was sealed under keys that were good until then, and nothing is sealed for it.

use std::time::Duration;

use mpt_core::session::PrivateKey;

use super::host::session;
use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

/// The effect of the reload of a file on the server.
type Reload = fn(&mut Network);

/// Lets a client send data that is still on its way when the server reloads its file, and returns how many of these packets are delivered, how many
/// there are, and how many packets the server sends within three seconds after the reload.
fn delivered_after(seed: u64, reload: Option<Reload>) -> (usize, usize, usize) {
    let mut network = Network::established(Setup::new(seed, &[5, 20]).sealed());
    network.run_traffic(SECOND, millis(2));
    network.run(SECOND);
    network.assert_nothing_lost();
    // The packets do not arrive yet.
    (0..2).for_each(|path| network.cut_both(path, true));
    network.captured_data = Some(Vec::new());
    network.run_traffic(millis(100), millis(1));
    let captured = network.captured_data.replace(Vec::new()).unwrap();
    let late: Vec<_> = captured.into_iter().filter(|(side, ..)| *side == CLIENT).collect();
    (0..2).for_each(|path| network.cut_both(path, false));
    if let Some(reload) = reload {
        reload(&mut network);
    }
    let before = network.delivered(CLIENT).len();
    for (_, path, wire) in &late {
        network.inject(SERVER, *path, wire.from, wire.bytes.clone());
    }
    for _ in 0..3000 {
        network.run(millis(1));
        let host = &network.hosts[SERVER];
        if host.node.tunnels().connection(host.connection).is_some() {
            network.send(SERVER);
        }
    }
    let sent = network.captured_data.take().unwrap();
    let sent = sent.iter().filter(|(side, ..)| *side == SERVER).count();
    (network.delivered(CLIENT).len() - before, late.len(), sent)
}

/// The peer of the connection has another public key, as the daemon does it.
fn another_key(network: &mut Network) {
    let setup = network.setup.clone();
    network.at(SERVER, |host, now| {
        let mut config = session(SERVER, &setup);
        config.peer = PrivateKey::from_seed([5; 32]).public();
        assert!(host.node.update_session(now, host.session, config));
        host.node.bar(host.connection);
    });
}

/// The same, before the daemon comes to bar the connection.
fn another_key_alone(network: &mut Network) {
    let setup = network.setup.clone();
    network.at(SERVER, |host, now| {
        let mut config = session(SERVER, &setup);
        config.peer = PrivateKey::from_seed([5; 32]).public();
        assert!(host.node.update_session(now, host.session, config));
    });
}

#[test]
fn it_would_be_delivered_otherwise() {
    for seed in 0..4 {
        let (delivered, late, sent) = delivered_after(seed, None);
        assert!(late >= 90, "{late}");
        assert_eq!(delivered, late);
        assert!(sent > 2000, "{sent}");
    }
}

#[test]
fn when_the_key_of_the_peer_is_another_one() {
    for seed in 0..4 {
        for reload in [another_key as Reload, another_key_alone] {
            let (delivered, late, sent) = delivered_after(seed, Some(reload));
            assert_eq!((delivered, sent), (0, 0), "of {late}, seed {seed}");
        }
    }
}

#[test]
fn when_the_connection_is_removed() {
    for seed in 0..4 {
        let (delivered, late, sent) = delivered_after(seed, Some(|network| network.delete(SERVER)));
        assert_eq!((delivered, sent), (0, 0), "of {late}, seed {seed}");
    }
}
