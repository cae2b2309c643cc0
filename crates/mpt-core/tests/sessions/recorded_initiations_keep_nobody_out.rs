//! Somebody has recorded initiations of a client and repeats them at the server, slowly or fast, from
//! anywhere: a genuine handshake takes two round trips at most, and data flows afterwards.

use std::time::Duration;

use super::network::*;
use super::recordings::*;

const SECOND: Duration = Duration::from_secs(1);

/// Initiations per second.
const RATES: [u32; 4] = [1, 45, 1000, 10_000];
/// Round-trip times, milliseconds.
const ROUND_TRIPS: [u64; 3] = [0, 100, 300];
const SOURCES: [Sources; 3] = [Sources::Forged, Sources::Victim, Sources::Own(1)];

fn setup(round_trip: u64) -> Setup {
    Setup::new(1, &[round_trip / 2]).learning()
}

/// The time that a handshake may take.
fn limit(round_trip: u64) -> Duration {
    2 * millis(round_trip) + millis(100)
}

/// A course of events for a genuine client. Returns the indices under which it has sent so far.
type Scenario = fn(&mut Network, &mut [Attacker]) -> Vec<[u8; 4]>;

/// The scenario under every attack.
fn under_attack(what: &str, scenario: Scenario, traffic: bool) {
    for round_trip in ROUND_TRIPS {
        let recorded = record(&setup(round_trip), CLIENT);
        for rate in RATES {
            for sources in SOURCES {
                let mut network = Network::new(setup(round_trip));
                let mut attackers = [Attacker::new(&recorded, rate, sources)];
                let known = scenario(&mut network, &mut attackers);
                let limit = limit(round_trip);
                eprintln!("{what}, {round_trip} ms, {rate} per second, {sources:?}");
                let took = time_of_handshake(&mut network, &mut attackers, &known, limit, traffic);
                eprintln!("{took:?}");
                assert!(took <= limit, "{took:?}");
                assert_data_flows(&mut network, &mut attackers);
            }
        }
    }
}

/// All paths are in use within a second, and everything arrives from then on.
fn assert_data_flows(network: &mut Network, attackers: &mut [Attacker]) {
    for _ in 0..2000 {
        if network.is_all_up() {
            break;
        }
        run(network, attackers, 1, true);
    }
    assert!(network.is_all_up(), "{}", network.describe());
    run(network, attackers, 400, true);
    let from = network.hosts.each_ref().map(|host| host.sent);
    run(network, attackers, 200, true);
    network.captured = None;
    network.run(SECOND);
    network.assert_nothing_lost_from(from);
}

/// Runs without an attack until the session is there. Returns the indices of the client's frames.
fn establish(network: &mut Network, duration: Duration) -> Vec<[u8; 4]> {
    network.captured = Some(Vec::new());
    network.run(duration);
    assert!(network.is_all_up(), "{}", network.describe());
    let captured = network.captured.take().unwrap();
    let client = captured.iter().filter(|(side, _, _)| *side == CLIENT);
    let mut known: Vec<_> = client.filter_map(|(_, _, wire)| sealed_index(wire)).collect();
    known.dedup();
    known
}

fn first(network: &mut Network, attackers: &mut [Attacker]) -> Vec<[u8; 4]> {
    network.kill(CLIENT);
    run(network, attackers, 300, false);
    network.restart(CLIENT);
    Vec::new()
}

fn rekeying(network: &mut Network, attackers: &mut [Attacker]) -> Vec<[u8; 4]> {
    let known = establish(network, Duration::from_secs(119));
    run(network, attackers, 300, true);
    known
}

fn after_roaming(network: &mut Network, attackers: &mut [Attacker]) -> Vec<[u8; 4]> {
    let known = establish(network, 3 * SECOND);
    network.cut_both(0, true);
    run(network, attackers, 2600, true);
    network.rebind(0, "198.51.100.7:5001".parse().unwrap());
    network.cut_both(0, false);
    known
}

fn after_a_restart_of_the_responder(
    network: &mut Network,
    attackers: &mut [Attacker],
) -> Vec<[u8; 4]> {
    let known = establish(network, 3 * SECOND);
    network.kill(SERVER);
    network.restart(SERVER);
    run(network, attackers, 1, true);
    known
}

#[test]
fn a_first_handshake() {
    under_attack("first", first, false);
}

#[test]
fn a_rekeying() {
    under_attack("rekeying", rekeying, true);
}

#[test]
fn a_handshake_after_roaming() {
    under_attack("roaming", after_roaming, true);
}

#[test]
fn a_handshake_after_a_restart_of_the_responder() {
    under_attack("restart", after_a_restart_of_the_responder, true);
}

/// While keys are renewed under attack not one packet is lost.
#[test]
fn a_rekeying_costs_no_packet() {
    let recorded = record(&setup(100), CLIENT);
    let mut network = Network::new(setup(100));
    let mut attackers = [Attacker::new(&recorded, 1000, Sources::Own(1))];
    rekeying(&mut network, &mut attackers);
    run(&mut network, &mut attackers, 3000, true);
    network.captured = None;
    network.run(SECOND);
    assert_eq!(network.session(CLIENT).handshakes, 2, "{}", network.describe());
    network.assert_nothing_lost_from([0, 0]);
}

/// An attacker with many addresses of its own, each of which shows a good cookie.
#[test]
fn a_handshake_while_a_hundred_proved_addresses_ask_for_more_than_there_is() {
    let recorded = record(&setup(100), CLIENT);
    for scenario in [first as Scenario, after_roaming] {
        let mut network = Network::new(setup(100));
        let mut attackers = [Attacker::new(&recorded, 10_000, Sources::Own(100))];
        let known = scenario(&mut network, &mut attackers);
        let took = time_of_handshake(&mut network, &mut attackers, &known, limit(100), false);
        assert!(took <= limit(100), "{took:?}");
        let refused = network.hosts[SERVER].node.sessions().counters().rate_limited;
        assert!(refused > 1000, "the attack has used up its share: {refused}");
        assert_data_flows(&mut network, &mut attackers);
    }
}

/// Over two paths, each of which needs a cookie of its own under load.
#[test]
fn a_handshake_over_two_paths() {
    let setup = Setup::new(1, &[20, 70]).learning();
    let recorded = record(&setup, CLIENT);
    for rate in RATES {
        let mut network = Network::new(setup.clone());
        let mut attackers = [Attacker::new(&recorded, rate, Sources::Forged)];
        first(&mut network, &mut attackers);
        let took = time_of_handshake(&mut network, &mut attackers, &[], limit(40), false);
        assert!(took <= limit(40), "{took:?}");
        assert_data_flows(&mut network, &mut attackers);
    }
}

/// Both ends initiate, and somebody repeats initiations of either at the other.
#[test]
fn a_handshake_that_both_ends_begin() {
    for round_trip in ROUND_TRIPS {
        let setup = Setup { both_initiate: true, ..Setup::new(1, &[round_trip / 2]) };
        let recorded = [CLIENT, SERVER].map(|side| record(&setup, side));
        for rate in [45, 1000] {
            let mut network = Network::new(setup.clone());
            network.kill(CLIENT);
            network.kill(SERVER);
            network.restart(SERVER);
            let mut attackers =
                recorded.each_ref().map(|recorded| Attacker::new(recorded, rate, Sources::Forged));
            attackers[SERVER].victim = SERVER;
            run(&mut network, &mut attackers, 1500, false);
            network.restart(CLIENT);
            let limit = limit(round_trip);
            let took = time_of_handshake(&mut network, &mut attackers, &[], limit, false);
            assert!(took <= limit, "{took:?}");
            assert_data_flows(&mut network, &mut attackers);
        }
    }
}

/// Somebody sees every initiation at once, knows the responder's public key, and sends forged cookies
/// for it all the time, while recorded initiations make the responder demand a challenge. That delays
/// the new keys for as long as it goes on. The session lives on under the old keys, and the client
/// works at its own pace.
#[test]
fn forged_cookies_delay_new_keys_only_while_they_come() {
    let recorded = record(&setup(100), CLIENT);
    let mut network = Network::new(setup(100));
    let mut attackers = [Attacker::new(&recorded, 45, Sources::Forged)];
    let known = rekeying(&mut network, &mut attackers);
    let responder = identity(SERVER).public();
    let (mut seen, mut sent) = (None, 0);
    for nonce in 0..4000 {
        let captured = step(&mut network, &mut attackers, true);
        let initiations = captured.into_iter().filter(|it| it.0 == CLIENT && is_initiation(&it.2));
        for (_, _, wire) in initiations {
            (seen, sent) = (Some(wire), sent + 1);
        }
        if let Some(wire) = &seen {
            let cookie = forge_cookie(&responder, control_frame(&wire.bytes), nonce);
            network.inject(CLIENT, 0, wire.to, cookie);
        }
    }
    assert!(network.is_all_up(), "{}", network.describe());
    assert_eq!(network.session(CLIENT).handshakes, 1, "it has no effect\n{}", network.describe());
    // Repeated after 250 ms at first, after 500 ms later on, less the jitter.
    assert!((5..=14).contains(&sent), "{sent} initiations");
    let limit = limit(100) + millis(500);
    let took = time_of_handshake(&mut network, &mut attackers, &known, limit, true);
    assert!(took <= limit, "{took:?}");
    run(&mut network, &mut attackers, 1000, true);
    network.captured = None;
    network.run(SECOND);
    network.assert_nothing_lost_from([0, 0]);
}
