//! A path is removed, and another one takes its place: nothing that was known of the first, or is still
//! under way for it, concerns the other.

use std::time::Instant;

use mpt_core::node::Destination;
use mpt_core::{DownReason, PathConfig, PathId, Remote};

use super::network::*;

/// Removes the second path, and adds another one to an address that is nobody's. Returns both ids.
fn replace(host: &mut Host, now: Instant, name: Option<&str>) -> (PathId, PathId) {
    let removed = host.paths[1];
    let former = host.node.tunnels().path(removed).unwrap().config().clone();
    let config = PathConfig {
        name: name.map_or(former.name.clone(), str::to_owned),
        remote: Remote::Fixed("192.0.2.99:4754".parse().unwrap()),
        ..former
    };
    host.node.remove_path(now, removed);
    let added = host.node.add_path(now, host.connection, config).unwrap();
    (removed, added)
}

/// Frames of the session wait to be sent on the path that is removed.
#[test]
fn no_frame_leaves_on_it() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.at(CLIENT, |host, now| {
        // The peer is told on every path.
        host.set_down(now, 0, DownReason::Administrative, true);
        let first = host.node.poll_transmit().unwrap();
        let (removed, added) = replace(host, now, Some("another"));
        let mut destinations = vec![first.destination];
        destinations
            .extend(std::iter::from_fn(|| host.node.poll_transmit()).map(|it| it.destination));
        assert!(destinations.contains(&Destination::Path(removed)), "{destinations:?}");
        let remotes: Vec<_> = destinations
            .iter()
            .filter_map(|destination| match *destination {
                Destination::Path(path) => Some(host.node.tunnels().path(path)?.remote()),
                _ => None,
            })
            .collect();
        let other = host.node.tunnels().path(added).unwrap().remote();
        assert!(!remotes.contains(&other), "{destinations:?} lead to {remotes:?}");
    });
}

/// It has the same name, so that only its id shows that it is another one.
#[test]
fn it_is_not_proved_by_the_answers_of_the_first() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.at(CLIENT, |host, now| {
        let (removed, added) = replace(host, now, None);
        while let Some(transmit) = host.node.poll_transmit() {
            host.node.recycle(transmit);
        }
        let session = host.node.sessions().session(host.session).unwrap();
        let paths: Vec<PathId> = session.paths.iter().map(|path| path.path).collect();
        assert_eq!(paths, [host.paths[0]], "the session is not told of new paths by this");
        assert!(host.node.tunnels().path(removed).is_none());
        assert!(host.node.tunnels().path(added).is_some());
    });
}

/// The owner of the node may still have its id.
#[test]
fn no_change_reaches_it() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.at(CLIENT, |host, now| {
        let (removed, added) = replace(host, now, Some("another"));
        host.node.set_path_state(now, removed, DownReason::Administrative, true);
        assert!(host.node.set_weights(now, removed, 9, 9).is_err());
        host.node.remove_path(now, removed);
        let path = host.node.tunnels().path(added).expect("it is not removed");
        assert!(path.is_up());
        assert_eq!(path.config().weight_out, 1);
    });
}
