//! The server is ended in mid-transfer and started again: the session is set up anew by itself, and TCP through the tunnel goes on.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::{Daemon, Host, Identity, Pair, Stream};
use crate::support::{authenticate, wait_until_down};

/// The time within which the tunnel carries again after the server's start: 1 s, and what a busy machine adds.
const TUNNEL: Duration = Duration::from_secs(5);
/// The time within which a stream goes on once the tunnel carries again and TCP sends again.
const STREAM: Duration = Duration::from_secs(2);

/// Streams both ways survive that the server is ended by `signal`. `wait_until_back` waits until the tunnel carries again.
fn restart(
    client: &Host,
    host: &Host,
    server: &mut Daemon,
    signal: Signal,
    inside: &str,
    wait_until_back: impl Fn(&mut Daemon),
) {
    let up = Stream::start(client, host, "10.72.0.2:5001");
    let down = Stream::start(host, client, &format!("{inside}:5002"));
    for _ in 0..2 {
        up.wait_for_progress();
        down.wait_for_progress();
        server.signal(signal);
        server.wait_until_ended();
        server.start_again(host);
        let start = Instant::now();
        wait_until_back(server);
        assert!(start.elapsed() < TUNNEL, "{:?}", start.elapsed());
        up.wait_for_more(client, STREAM);
        down.wait_for_more(host, STREAM);
        up.wait_for_progress();
        down.wait_for_progress();
    }
    up.end();
    down.end();
}

/// Tests two ends that have the connection in their files.
fn of_two_sites(signal: Signal) {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for path in ["line1", "line2"] {
        configs[1].path("tunnel", path).unset("remote");
    }
    let [a, mut b] = pair.start(&configs);
    restart(&pair.a, &pair.b, &mut b, signal, "10.72.0.1", Daemon::wait_until_up);
    for path in ["line1", "line2"] {
        wait_until_down(&a, path, None);
        wait_until_down(&b, path, None);
    }
}

/// The server has to create the connection again.
fn of_a_concentrator(signal: Signal) {
    let pair = Pair::with_lines(2);
    let identities = [Identity::new(), Identity::new()];
    let mut server = server(&identities[1], &["10.71.1.2", "10.71.2.2"]);
    admit(&mut server, "anna", &identities[0]);
    let mut client = client(&identities[0], &identities[1]);
    for line in [1, 2] {
        client.lay_path("office", line, 1);
    }
    let mut b = Daemon::start(&pair.b, &server);
    let a = Daemon::start(&pair.a, &client);
    created(&b, "anna.office");
    created(&a, "office");
    let address = assigned(&a);
    let wait_until_back = |server: &mut Daemon| drop(created(server, "anna.office"));
    restart(&pair.a, &pair.b, &mut b, signal, &address.to_string(), wait_until_back);
    assert_eq!(assigned(&a), address);
    created(&b, "anna.office");
    created(&a, "office");
}

#[test]
fn of_two_sites_by_sigkill() {
    of_two_sites(Signal::SIGKILL);
}

#[test]
fn of_two_sites_by_sigterm() {
    of_two_sites(Signal::SIGTERM);
}

#[test]
fn of_a_concentrator_by_sigkill() {
    of_a_concentrator(Signal::SIGKILL);
}

#[test]
fn of_a_concentrator_by_sigterm() {
    of_a_concentrator(Signal::SIGTERM);
}
