//! `mpt measure` finds what the lines carry, both ways, and sets the weights accordingly; nothing breaks meanwhile.

use std::thread;

use mpt_api::{Code, Command, Failure, Measured, Reply};

use crate::concentrator::{admit, client, created, server};
use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Daemon, Identity, Line, Pair, Stream};
use crate::support::start_with_equal_shares;

/// Rates of the lines, in Mbit/s.
const RATES: [u32; 2] = [20, 50];

fn lines() -> Pair {
    Pair::new(&RATES.map(Line::shaped))
}

fn measure(daemon: &Daemon, connection: &str, set: bool) -> Result<Measured, Failure> {
    let command = Command::Measure { connection: connection.into(), set, duration_ms: 1000 };
    match daemon.request(command)? {
        Reply::Measured(measured) => Ok(measured),
        reply => panic!("{reply:?}"),
    }
}

/// The shaper at either end lets through what it is set to, and never more but for its bucket.
fn assert_found(measured: &Measured) {
    eprintln!("{measured:?}");
    assert_eq!(measured.paths.len(), RATES.len());
    for (path, rate) in measured.paths.iter().zip(RATES) {
        for found in [path.out_bits_per_second, path.in_bits_per_second] {
            let ratio = found.expect("it works") as f64 / (f64::from(rate) * 1e6);
            assert!((0.8..1.15).contains(&ratio), "{path:?}");
        }
    }
    let [slow, fast] = &measured.paths[..] else { unreachable!("there are two") };
    for (slow, fast) in [(slow.weight, fast.weight), (slow.weight_in, fast.weight_in)] {
        let ratio = f64::from(fast.unwrap()) / f64::from(slow.unwrap());
        assert!((2.1..3.0).contains(&ratio), "2 to 5: {ratio}");
    }
}

#[test]
fn between_two_ends_with_traffic_before_and_after() {
    let pair = lines();
    let [a, b] = start_with_equal_shares(&pair);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 1_000_000);
    let measured = measure(&a, "tunnel", false).unwrap();
    assert_found(&measured);
    assert!(!measured.set);
    let weights = |daemon: &Daemon, path: &str| {
        let path = daemon.path("tunnel", path);
        (path.weight, path.weight_in)
    };
    assert_eq!((weights(&a, "line1"), weights(&a, "line2")), ((1, 1), (1, 1)), "only proposed");

    let measured = measure(&a, "tunnel", true).unwrap();
    assert_found(&measured);
    assert!(measured.set);
    for path in &measured.paths {
        let found = (path.weight.unwrap(), path.weight_in.unwrap());
        assert_eq!(weights(&a, &path.path), found);
    }
    for daemon in [&a, &b] {
        for path in ["line1", "line2"] {
            assert_eq!(daemon.path("tunnel", path).liveness.unwrap().flaps, 0, "{path}");
        }
    }
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5002");
    stream.wait_for_progress();
    stream.end();
    let ratio = {
        let sent = a.packets_sent("tunnel");
        tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5003", 3_000_000);
        let after = a.packets_sent("tunnel");
        (after[1] - sent[1]) as f64 / (after[0] - sent[0]) as f64
    };
    assert!((2.1..3.0).contains(&ratio), "{ratio}");
}

#[test]
fn of_a_client_by_either_end() {
    let pair = lines();
    let identities = [Identity::new(), Identity::new()];
    let mut server = server(&identities[1], &["10.71.1.2", "10.71.2.2"]);
    admit(&mut server, "anna", &identities[0]);
    let mut client = client(&identities[0], &identities[1]);
    for line in [1, 2] {
        client.lay_path("office", line, 1);
    }
    let a = Daemon::start(&pair.a, &client);
    let b = Daemon::start(&pair.b, &server);
    created(&b, "anna.office");
    created(&a, "office");
    assert_found(&measure(&a, "office", false).unwrap());
    assert_found(&measure(&b, "anna.office", true).unwrap());
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 500_000);
}

#[test]
fn one_connection_at_a_time_and_only_with_a_session() {
    let pair = lines();
    let [a, b] = start_with_equal_shares(&pair);
    let refused = |daemon: &Daemon, connection: &str| {
        measure(daemon, connection, false).expect_err("it is refused").code
    };
    thread::scope(|scope| {
        let running = scope.spawn(|| measure(&a, "tunnel", false));
        thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(refused(&a, "tunnel"), Code::Busy);
        assert_eq!(refused(&a, "nothing"), Code::NotFound);
        assert_eq!(refused(&b, "tunnel"), Code::Busy, "the other end measures");
        assert_found(&running.join().unwrap().unwrap());
    });
    drop((a, b));
    let [a, _b] = pair.start(&pair.configs());
    assert_eq!(refused(&a, "tunnel"), Code::BadRequest);
}
