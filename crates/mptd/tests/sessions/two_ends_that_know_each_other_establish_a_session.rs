//! Two ends with each other's keys in their files agree on a session, prove every path in both directions, and carry data.

use std::net::SocketAddr;

use mpt_api::{ConnectionState, SessionRole, SessionState};

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Pair, Preshared, wait_for};
use crate::support::{authenticate, share_equally};

#[test]
fn two_ends_that_know_each_other_establish_a_session() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    share_equally(&mut configs);
    let daemons = pair.start(&configs);
    let [a, b] = &daemons;

    for (end, daemon) in daemons.iter().enumerate() {
        let own = daemon.show().daemon.public_key;
        assert_eq!(own, Some(identities[end].public()));
        let connection = daemon.connection("tunnel");
        assert_eq!(connection.state, ConnectionState::Up);
        let session = connection.session.expect("it has a peer");
        assert_eq!(session.peer, identities[1 - end].public());
        assert_eq!((session.state, &session.client), (SessionState::Established, &None));
        assert!(session.established_s.is_some() && session.rekeyed_s.is_some(), "{session:?}");
        assert_eq!((session.keepalive_us, session.idle_keepalive_us), (100_000, 15_000_000));
        assert!(session.handshakes >= 1);
    }
    let role = |end: usize| daemons[end].connection("tunnel").session.map(|it| it.role);
    let initiators = [0, 1].map(|end| role(end) == Some(SessionRole::Initiator));
    assert_ne!(initiators[0], initiators[1], "one of them opened it");

    wait_for("both ends know everything about both paths", || {
        let [paths, peers] = [a, b].map(|daemon| daemon.connection("tunnel").paths);
        for (path, peer) in paths.iter().zip(&peers) {
            let [one, other] = [path, peer].map(|it| it.liveness.expect("it has a session"));
            assert_eq!((&path.remote, &peer.remote), (&peer.local, &path.local));
            let known = one.id.is_some() && one.id == other.id;
            let heard = [one, other].iter().all(|it| {
                it.hears_us && it.we_hear && it.rtt_us.is_some_and(|us| us > 0 && us < 1_000_000)
            });
            assert_eq!((one.flaps, other.flaps), (0, 0));
            if !(known && heard) {
                return None;
            }
        }
        Some(())
    });

    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    deliver(&sockets[0], &sockets[1], 1000);
    deliver(&sockets[1], &sockets[0], 1000);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 3_000_000);
    tcp_both_ways(&pair.b, &pair.a, "[fd00:72::1]:5001", 3_000_000);

    wait_for("each end knows the other's counters", || {
        let [paths, peers] = [a, b].map(|daemon| daemon.connection("tunnel").paths);
        let same = paths.iter().zip(&peers).all(|(path, peer)| {
            let [one, other] = [path, peer].map(|it| it.liveness.unwrap());
            (one.peer_sent, one.peer_received)
                == (Some(peer.sent.packets), Some(peer.received.packets))
                && (other.peer_sent, other.peer_received)
                    == (Some(path.sent.packets), Some(path.received.packets))
        });
        same.then_some(())
    });
    for daemon in [a, b] {
        let reorder = daemon.connection("tunnel").reorder;
        assert_eq!((reorder.stray, reorder.duplicate), (0, 0), "{reorder:?}");
    }
}

#[test]
fn also_over_ipv6_with_a_gre_key_and_a_preshared_key() {
    const KEY: u32 = 0xfeed;
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    share_equally(&mut configs);
    let psk = Preshared::new();
    for (end, config) in (1..).zip(&mut configs) {
        config.connection("tunnel").set("key", KEY);
        config.peer("tunnel").set("psk_file", psk.file());
        for line in [1, 2] {
            config.lay_path_v6("tunnel", line, end);
        }
    }
    let [a, b] = pair.start(&configs);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 1_000_000);
    for daemon in [&a, &b] {
        for path in daemon.connection("tunnel").paths {
            assert!(path.remote.is_some_and(|it| matches!(it, SocketAddr::V6(_))), "{path:?}");
            assert!(path.sent.packets > 100, "{path:?}");
        }
    }
}

#[test]
fn and_one_of_them_need_not_know_where_the_other_is() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    share_equally(&mut configs);
    for path in ["line1", "line2"] {
        configs[1].path("tunnel", path).unset("remote");
    }
    let [a, b] = pair.start(&configs);
    let roles = [&a, &b].map(|daemon| daemon.connection("tunnel").session.unwrap().role);
    assert_eq!(roles, [SessionRole::Initiator, SessionRole::Responder]);
    for (line, path) in (1..).zip(b.connection("tunnel").paths) {
        assert_eq!(path.remote, Some(format!("10.71.{line}.1:4754").parse().unwrap()));
        assert!(path.remote_learned);
    }
    tcp_both_ways(&pair.b, &pair.a, "10.72.0.1:5001", 1_000_000);
}
