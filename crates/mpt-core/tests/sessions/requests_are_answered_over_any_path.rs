//! Requests and results over a session: under loss, over whichever path works, and while none does.

use std::time::Duration;

use mpt_core::session::{Event, RequestFailed};
use mpt_link::{Loss, Probability};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

/// The server answers every request with what it asks for: so many bytes.
fn answer(network: &mut Network) {
    let events = std::mem::take(&mut network.hosts[SERVER].events);
    for event in events {
        if let Event::Request { session, id, body } = event {
            let len = usize::from(u16::from_be_bytes([body[0], body[1]]));
            network.at(SERVER, |host, now| {
                assert!(host.node.answer(now, session, id, vec![7; len]));
            });
        }
    }
}

fn results(network: &Network) -> Vec<(u32, Result<usize, RequestFailed>)> {
    let results = network.hosts[CLIENT].events.iter().filter_map(|event| match event {
        Event::Result { id, result, .. } => Some((*id, result.clone().map(|it| it.len()))),
        _ => None,
    });
    results.collect()
}

#[test]
fn under_loss() {
    let lossy = |params: &mut mpt_link::Params| {
        params.loss = Loss::Bernoulli(Probability::new(0.3).unwrap());
    };
    let mut network = Network::new(Setup::new(1, &[5, 20]).links(lossy));
    network.expect(5 * SECOND, "any path", |it| (0..2).any(|path| it.is_up_both(path)));
    let mut asked = Vec::new();
    for len in [0_u16, 1, 1024, 1025, 60_000] {
        let id = network.at(CLIENT, |host, now| {
            host.node.request(now, host.session, len.to_be_bytes().to_vec()).unwrap()
        });
        asked.push((id, Ok(usize::from(len))));
    }
    for _ in 0..1000 {
        network.run(millis(20));
        answer(&mut network);
    }
    let mut results = results(&network);
    results.sort_by_key(|&(id, _)| id.wrapping_sub(asked[0].0));
    assert_eq!(results, asked);
}

#[test]
fn one_that_waits_for_the_session_is_answered_once_it_is_there() {
    let mut network = Network::new(Setup::new(1, &[5, 20]));
    network.kill(SERVER);
    let id =
        network.at(CLIENT, |host, now| host.node.request(now, host.session, vec![0, 9]).unwrap());
    network.run(5 * SECOND);
    network.restart(SERVER);
    for _ in 0..200 {
        network.run(millis(20));
        answer(&mut network);
    }
    assert_eq!(results(&network), [(id, Ok(9))]);
}

#[test]
fn one_that_is_never_answered_fails() {
    let mut network = Network::established(Setup::new(1, &[5]));
    let ids = [1, 2].map(|n| {
        network.at(CLIENT, |host, now| host.node.request(now, host.session, vec![0, n]).unwrap())
    });
    network.run(40 * SECOND);
    let failed: Vec<u32> = results(&network)
        .into_iter()
        .map(|(id, result)| {
            assert!(matches!(result, Err(RequestFailed::Unanswered(_))), "{result:?}");
            id
        })
        .collect();
    assert_eq!(failed, ids);
    let asked = network.hosts[SERVER].count(|event| matches!(event, Event::Request { .. }));
    assert_eq!(asked, 2, "each was handed out once");
}

#[test]
fn one_of_a_session_that_is_removed_fails_at_once() {
    let mut network = Network::established(Setup::new(1, &[5]));
    let id = network.at(CLIENT, |host, now| {
        let id = host.node.request(now, host.session, vec![0, 1]).unwrap();
        host.node.close_session(now, host.session, mpt_wire::control::Reason::CONNECTION_REMOVED);
        id
    });
    assert_eq!(results(&network), [(id, Err(RequestFailed::Closed))]);
}
