use mpt_api::{Liveness, Traffic};

use super::*;

/// An idle path with a round-trip time of 20 ms, as it stands in a snapshot.
fn path() -> Path {
    let liveness = Liveness {
        id: Some(1),
        hears_us: true,
        we_hear: true,
        rtt_us: Some(20_000),
        rtt_variation_us: None,
        rtt_minimum_us: None,
        dead_after_us: 300_000,
        flaps: 0,
        since_ms: 0,
        peer_sent: Some(0),
        peer_received: Some(0),
    };
    Path {
        name: "dsl".into(),
        state: PathState::Up,
        down: None,
        local: None,
        interface: None,
        remote: None,
        remote_name: None,
        remote_learned: false,
        source_ports: Vec::new(),
        heard_from: None,
        weight: 8,
        max_rate: None,
        min_rate: None,
        weight_in: 1,
        lead_us: 0,
        tier: 0,
        metered: false,
        last_resort: false,
        cap: None,
        mtu: 1500,
        mtu_source: mpt_api::snapshot::MtuSource::Interface,
        mtu_expires_ms: None,
        ipv6: true,
        sent: Traffic::default(),
        received: Traffic::default(),
        drops: mpt_api::Counters::default(),
        liveness: Some(liveness),
        estimate: None,
        repairs: None,
    }
}

fn slow(ms: u64) -> Path {
    let mut path = path();
    path.liveness.as_mut().unwrap().rtt_us = Some(ms * 1000);
    path
}

fn down() -> Path {
    Path { state: PathState::Down, down: Some(DownReason::Administrative), ..path() }
}

/// Looks until something is wished: how many it took.
fn looks(watch: &mut Watch, rules: &Rules, path: &Path) -> (u32, Wish) {
    (1..=1000)
        .map(|number| (number, watch.look(rules, path)))
        .find(|(_, wish)| *wish != Wish::Nothing)
        .unwrap_or((0, Wish::Nothing))
}

#[test]
fn a_slow_path_goes_after_three_looks_in_a_row() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    for path in [slow(201), slow(201), slow(200), slow(201), slow(201)] {
        assert_eq!(watch.look(&rules, &path), Wish::Nothing);
    }
    let why = "round-trip time 201 ms, limit 200 ms".into();
    assert_eq!(watch.look(&rules, &slow(201)), Wish::Out(why));
    // It could not be done: it is wished again, but not at once.
    watch.not_now();
    assert_eq!(looks(&mut watch, &rules, &slow(201)).0, 3);
}

#[test]
fn loss_counts_while_there_is_traffic() {
    let rules = Rules::default();
    let run = |sent: u64, received: u64| {
        let mut watch = Watch::default();
        (1..30).find_map(|second| {
            let mut path = path();
            path.sent.packets = second * sent;
            path.liveness.as_mut().unwrap().peer_received = Some(second * received);
            match watch.look(&rules, &path) {
                Wish::Out(why) => Some((second, why)),
                _ => None,
            }
        })
    };
    // A window of five seconds, and three looks.
    assert_eq!(run(100, 90), Some((8, "loss 10.0 %, limit 5.0 %".into())));
    assert_eq!(run(100, 95), None);
    assert_eq!(run(19, 0), None, "too few to tell");
}

#[test]
fn what_is_down_is_tried_again_after_longer_and_longer_pauses() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    for pause in [30, 60, 120] {
        assert_eq!(looks(&mut watch, &rules, &slow(300)).0, 3);
        watch.taken_out(&rules, &slow(300));
        assert_eq!(looks(&mut watch, &rules, &down()), (pause, Wish::Back));
        watch.taken_back();
    }
    // Long enough without, and it begins anew.
    for _ in 0..RELAPSE {
        assert_eq!(watch.look(&rules, &path()), Wish::Nothing);
    }
    assert_eq!(looks(&mut watch, &rules, &slow(300)).0, 3);
    watch.taken_out(&rules, &slow(300));
    assert_eq!(looks(&mut watch, &rules, &down()), (30, Wish::Back));
}

#[test]
fn what_is_measured_still_has_to_be_clearly_better() {
    for action in [Action::Standby, Action::Weight] {
        let rules = Rules { action, pause_s: 2, ..Rules::default() };
        let mut watch = Watch::default();
        let out = |mut path: Path| {
            let change = action.out();
            path.tier = change.tier.unwrap_or(path.tier);
            path.weight = change.weight.map_or(path.weight, NonZeroU16::get);
            path
        };
        assert_eq!(looks(&mut watch, &rules, &slow(300)).0, 3);
        watch.taken_out(&rules, &slow(300));
        for _ in 0..50 {
            assert_eq!(watch.look(&rules, &out(slow(190))), Wish::Nothing);
        }
        assert_eq!(looks(&mut watch, &rules, &out(slow(150))), (10, Wish::Back));
        let change = action.back(watch.before().unwrap());
        assert_eq!(change.tier.unwrap_or(0), 0);
        assert_eq!(change.weight.map_or(8, NonZeroU16::get), 8);
    }
}

#[test]
fn what_others_decide_stands() {
    let (rules, mut watch) = (Rules::default(), Watch::default());
    assert_eq!(looks(&mut watch, &rules, &down()).1, Wish::Nothing, "somebody took it down");
    watch.taken_out(&rules, &path());
    assert_eq!(watch.look(&rules, &path()), Wish::Nothing);
    assert!(watch.before().is_none(), "somebody took it back");
}

#[test]
fn the_example_is_good() {
    let config: crate::Config = toml::from_str(include_str!("../../controller.toml")).unwrap();
    assert_eq!(config.daemons.len(), 2);
    let (shown, default) = (config.rules, Rules::default());
    assert_eq!(format!("{shown:?}"), format!("{default:?}"));
}
