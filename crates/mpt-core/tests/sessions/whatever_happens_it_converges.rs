//! One long random run: loss, copies, disorder, clocks that drift, paths and hosts that come and go.
//! Whenever it stops, both ends agree again within seconds, and use every path.
//!
//! `MPT_SESSION_STEPS` says how many events of the virtual network it lasts at least.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::DownReason;
use mpt_link::{Change, Distribution, Jitter, Loss, Probability, Redraw};

use super::network::*;

/// The events of every test run.
const STEPS: u64 = 2_000_000;

fn steps() -> u64 {
    match std::env::var("MPT_SESSION_STEPS") {
        Ok(steps) => steps.parse().expect("MPT_SESSION_STEPS is a number"),
        Err(_) => STEPS,
    }
}

/// Something happens to the network or to a host.
fn disturb(network: &mut Network) {
    let paths = network.setup.links.len() as u64;
    let path = network.draw(paths) as usize;
    let side = network.draw(2) as usize;
    match network.draw(12) {
        0 => network.cut(side, path, true),
        1 => network.cut_both(path, true),
        2 | 3 => network.cut_both(path, false),
        4 => {
            let p = Probability::new(network.draw(40) as f64 / 100.0).unwrap();
            network.change(side, path, Change::Loss(Loss::Bernoulli(p)));
        }
        5 => {
            let deviation = millis(network.draw(80));
            let distribution = Distribution::Normal { deviation };
            let jitter = Jitter { distribution, redraw: Redraw::EveryPacket };
            network.change(side, path, Change::Jitter(Some(jitter)));
        }
        6 => {
            let p = Probability::new(network.draw(50) as f64 / 100.0).unwrap();
            network.change(side, path, Change::Duplication(p));
        }
        7 => {
            let delay = millis(network.draw(300));
            network.change(side, path, Change::Delay(delay));
        }
        8 => {
            let [a, b, ..] = network.draw(u64::MAX).to_be_bytes();
            let port = 1024 + network.draw(60_000) as u16;
            if network.setup.learn {
                network.rebind(path, SocketAddr::new([203, 0, a, b].into(), port));
            }
        }
        9 => {
            let down = network.draw(2) == 0;
            let reason =
                [DownReason::Administrative, DownReason::Interface][network.draw(2) as usize];
            if network.hosts[side].running {
                network.at(side, |host, now| host.set_down(now, path, reason, down));
            }
        }
        10 => {
            if network.draw(4) == 0 {
                network.at(side, |host, now| host.node.close_all(now));
            }
            network.kill(side);
        }
        _ => {
            if !network.hosts[side].running {
                network.restart(side);
            }
        }
    }
}

/// Everything is as it should be again.
fn heal(network: &mut Network) {
    for path in 0..network.setup.links.len() {
        let params = network.setup.links[path];
        for side in SIDES {
            for change in [
                Change::Loss(params.loss),
                Change::Jitter(params.jitter),
                Change::Duplication(params.duplication),
                Change::Delay(params.delay),
            ] {
                network.change(side, path, change);
            }
        }
    }
    for side in SIDES {
        if !network.hosts[side].running {
            network.restart(side);
        }
        for path in 0..network.setup.links.len() {
            for reason in [DownReason::Administrative, DownReason::Interface] {
                network.at(side, |host, now| host.set_down(now, path, reason, false));
            }
        }
    }
}

/// Both ends hold the same of every path.
fn agrees(network: &Network) -> bool {
    network.is_all_up()
        && SIDES.iter().all(|&side| {
            let other = network.session(1 - side);
            network.session(side).paths.iter().all(|path| {
                let index = network.hosts[side].path_index(path.path);
                let id = network.hosts[1 - side].paths[index];
                other.paths.iter().any(|it| it.path == id && it.id == path.id)
                    && path.peer_weight.is_some_and(|weight| weight > 0)
            })
        })
}

#[test]
fn always() {
    let mut left = steps();
    let mut seed = 1;
    while left > 0 {
        let delays: Vec<u64> = (0..1 + mix(seed, 1) % 4).map(|n| mix(seed, 2 + n) % 100).collect();
        let mut setup = Setup::new(seed, &delays);
        setup.learn = mix(seed, 10).is_multiple_of(2);
        setup.both_initiate = !setup.learn && mix(seed, 11).is_multiple_of(2);
        setup.reversed = mix(seed, 12).is_multiple_of(2);
        setup.skew = [200, -200].map(|skew| if seed.is_multiple_of(3) { -skew } else { skew });
        let mut network = Network::new(setup);
        for _ in 0..5 {
            for _ in 0..network.draw(60) {
                disturb(&mut network);
                let pause = millis(1 + network.draw(1500));
                match network.draw(3) {
                    0 => network.run(pause),
                    _ => network.run_traffic(pause, millis(20)),
                }
            }
            heal(&mut network);
            network.expect_under_traffic(Duration::from_secs(20), "both ends agree", agrees);
            // And what is sent from now on arrives, once and in order. (Packets that a host sent in
            // its life before, still on their way, may be taken for some of the next.) Without a
            // pause before: by how much a path is longer than another one is not learnt from traffic
            // while a third, longer one hides it, and after a pause the first packets may show it
            // (docs/reordering.md, "What it cannot do").
            network.run_traffic(Duration::from_secs(2), millis(2));
            let from = network.hosts.each_ref().map(|host| host.sent);
            network.run_traffic(Duration::from_secs(1), millis(2));
            network.run(Duration::from_secs(1));
            network.assert_nothing_lost_from(from);
            for side in SIDES {
                network.hosts[1 - side].delivered.clear();
                network.hosts[side].events.clear();
            }
        }
        left = left.saturating_sub(network.steps);
        seed += 1;
    }
    eprintln!("{} networks", seed - 1);
}
