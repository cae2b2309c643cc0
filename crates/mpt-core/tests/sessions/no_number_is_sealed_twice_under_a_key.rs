//! Whatever happens to connections, sessions and daemons, in whatever order: no number is sealed twice under one key, unless it is
//! the same packet on another path or once more; nothing plain is sent while sealing is required; and data flows again afterwards.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mpt_core::{Mapping, Remarks, Seal};
use mpt_link::{Loss, Probability};
use mpt_wire::gre;
use proptest::prelude::*;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Traffic for so many milliseconds, a packet each way every two.
    Traffic(u64),
    /// Nothing for so long.
    Pause(u64),
    /// The daemon begins anew.
    Restart(Side),
    /// The connection is removed and made again.
    Remake(Side),
    /// The connection is removed, and made again so many milliseconds later; the peer sends all the time.
    Delete(Side, u64),
    /// The session ends, and another one takes over the connection.
    HandOver(Side),
    /// The file says otherwise how data is mapped.
    Map(Side, Mapping),
    /// The file says otherwise, and then again what it said.
    Toggle(Side),
    /// All paths are cut for a while.
    Outage(u64),
    /// Until the keys have changed by their age.
    Rekey,
}

fn mapping() -> impl Strategy<Value = Mapping> {
    prop_oneof![
        Just(Mapping::Packet),
        Just(Mapping::Flow),
        Just(Mapping::Duplicate),
        Just(Mapping::Adaptive),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let side = || 0..2_usize;
    prop_oneof![
        6 => (1_u64..2000).prop_map(Step::Traffic),
        1 => (1_u64..5000).prop_map(Step::Pause),
        2 => side().prop_map(Step::Restart),
        3 => side().prop_map(Step::Remake),
        2 => (side(), 1_u64..3000).prop_map(|(side, time)| Step::Delete(side, time)),
        2 => side().prop_map(Step::HandOver),
        2 => (side(), mapping()).prop_map(|(side, mapping)| Step::Map(side, mapping)),
        1 => side().prop_map(Step::Toggle),
        2 => (1_u64..3000).prop_map(Step::Outage),
        1 => Just(Step::Rekey),
    ]
}

fn run(network: &mut Network, step: Step) {
    match step {
        Step::Traffic(time) => network.run_traffic(millis(time), millis(2)),
        Step::Pause(time) => network.run(millis(time)),
        Step::Restart(side) => network.restart(side),
        Step::Remake(side) => network.remake(side),
        Step::Delete(side, time) => {
            network.delete(side);
            for _ in 0..time.div_ceil(2) {
                network.send(1 - side);
                network.run(millis(2));
            }
            network.create(side);
        }
        Step::HandOver(side) => network.hand_over(side),
        Step::Map(side, mapping) => network.set_mapping(side, mapping),
        Step::Toggle(side) => {
            network.set_seal(side, Seal::On);
            network.run_traffic(millis(20), millis(2));
            network.set_seal(side, Seal::Require);
        }
        Step::Outage(time) => {
            (0..2).for_each(|path| network.cut_both(path, true));
            network.run_traffic(millis(time), millis(10));
            (0..2).for_each(|path| network.cut_both(path, false));
        }
        Step::Rekey => network.run_traffic(125 * SECOND, millis(200)),
    }
}

fn check(seed: u64, mapping: Mapping, steps: &[Step]) {
    check_with(seed, mapping, false, steps);
}

/// With adaptive mapping packets are lost and sent again; `spoils`: what is kept for that becomes something else.
fn check_with(seed: u64, mapping: Mapping, spoils: bool, steps: &[Step]) {
    let mut setup = Setup { mapping, ..Setup::new(seed, &[5, 20]) };
    setup.seal = [Seal::Require; 2];
    setup.both_initiate = seed.is_multiple_of(3);
    if mapping == Mapping::Adaptive {
        setup = setup.links(|params| params.loss = lossy(0.05));
    }
    let mut network = Network::new(setup);
    network.hosts.iter_mut().for_each(|host| host.spoils = spoils);
    network.captured_data = Some(Vec::new());
    // Key and number, and what was sealed with them.
    let mut sealed: BTreeMap<(Side, u32, u32), Vec<u8>> = BTreeMap::new();
    let last = [Step::Pause(1000), Step::Traffic(100)];
    for &step in steps.iter().chain(&last) {
        run(&mut network, step);
        for (side, _, wire) in network.captured_data.replace(Vec::new()).unwrap_or_default() {
            let (header, _) = gre::Repr::parse(&wire.bytes).expect("GRE");
            assert_eq!(header.protocol, gre::Protocol::SEALED, "nothing plain");
            let (Some(key), Some(number)) = (header.key, header.sequence) else {
                panic!("without key or number: {header:?}");
            };
            let before = sealed.insert((side, key, number), wire.bytes.clone());
            assert!(before.is_none_or(|it| it == wire.bytes), "{key:08x} {number} after {step:?}");
        }
    }
    network.expect_under_traffic(15 * SECOND, "sealed data flows both ways", |it| {
        let arrived = |side: Side| it.hosts[1 - side].delivered.last().map(|&(at, _)| at);
        SIDES.iter().all(|&side| arrived(side).is_some_and(|at| at + millis(100) > it.now()))
    });
}

fn lossy(share: f64) -> Loss {
    Loss::Bernoulli(Probability::new(share).unwrap())
}

/// Returns the counters of remarkable packets, summed over both ends.
fn remarks(network: &Network) -> Remarks {
    let mut sum = Remarks::default();
    for host in &network.hosts {
        let remarks = host.node.tunnels().connection(host.connection).unwrap().remarks();
        sum.repair_keys_gone += remarks.repair_keys_gone;
        sum.repair_differs += remarks.repair_differs;
    }
    sum
}

/// An adaptive network that loses packets, has sent for a while, and captures from now on.
fn losing(seed: u64, delays: &[u64], share: f64) -> Network {
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(seed, delays) };
    let setup = setup.links(|params| params.loss = lossy(share));
    let mut network = Network::new(Setup { seal: [Seal::Require; 2], ..setup });
    network.run_traffic(3 * SECOND, millis(2));
    network.captured_data = Some(Vec::new());
    network
}

/// The datagrams of each number, by sending side and number.
fn by_number(network: &mut Network) -> BTreeMap<(Side, u32), Vec<Vec<u8>>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (side, _, wire) in network.captured_data.take().unwrap() {
        let (header, _) = gre::Repr::parse(&wire.bytes).expect("GRE");
        assert_eq!(header.protocol, gre::Protocol::SEALED);
        all.entry((side, header.sequence.unwrap())).or_default().push(wire.bytes);
    }
    all
}

#[test]
fn what_is_sent_again_is_the_same_bytes_and_arrives() {
    let mut network = losing(1, &[20, 20], 0.05);
    let (sent, arrived) = (network.hosts[0].sent, network.hosts[1].delivered.len());
    network.run_traffic(10 * SECOND, millis(2));
    network.run(SECOND);
    let sent = network.hosts[0].sent - sent;
    let arrived = (network.hosts[1].delivered.len() - arrived) as u64;
    let all = by_number(&mut network);
    let again = all.values().filter(|datagrams| datagrams.len() > 1).count();
    assert!(again > 300, "{again} were sent again");
    assert!(all.values().all(|it| it.iter().all(|datagram| *datagram == it[0])));
    // 5 % are lost the first time: 250 of 5000.
    assert!(arrived + 50 > sent, "{arrived} of {sent} arrived");
    assert_eq!(remarks(&network), Remarks::default());
}

#[test]
fn what_is_not_kept_as_it_was_sent_is_not_sent_again() {
    let mut network = losing(2, &[20, 20], 0.05);
    network.run_traffic(SECOND, millis(2));
    network.hosts.iter_mut().for_each(|host| host.spoils = true);
    // The packets that were kept before have come or are too old.
    network.run_traffic(2 * SECOND, millis(2));
    network.captured_data = Some(Vec::new());
    network.run_traffic(3 * SECOND, millis(2));
    assert!(by_number(&mut network).values().all(|datagrams| datagrams.len() == 1));
    assert!(remarks(&network).repair_differs > 100, "{:?}", remarks(&network));
}

#[test]
fn what_was_sealed_before_the_keys_changed_is_not_sealed_again_after_it() {
    let mut network = losing(3, &[80, 80], 0.05);
    network.captured_data = None;
    network.run_traffic(105 * SECOND, millis(200));
    network.captured_data = Some(Vec::new());
    network.run_traffic(20 * SECOND, millis(2));
    let all = by_number(&mut network);
    let indices = |side| {
        let of_side = all.iter().filter(move |((of, _), _)| *of == side);
        of_side.map(|(_, it)| it[0][4..8].to_vec()).collect::<BTreeSet<_>>()
    };
    assert!(SIDES.iter().all(|&side| indices(side).len() > 1), "the keys have changed");
    assert!(all.values().any(|datagrams| datagrams.len() > 1));
    assert!(all.values().all(|it| it.iter().all(|datagram| *datagram == it[0])));
    let remarks = remarks(&network);
    assert!(remarks.repair_keys_gone > 0 && remarks.repair_differs == 0, "{remarks:?}");
}

#[test]
fn what_was_sealed_is_not_sent_again_plain_when_sealing_ends() {
    let mut network = losing(4, &[80, 80], 0.05);
    network.run_traffic(SECOND, millis(2));
    SIDES.iter().for_each(|&side| network.set_seal(side, Seal::Off));
    network.run_traffic(3 * SECOND, millis(2));
    let (mut sealed, mut plain) = (BTreeSet::new(), BTreeSet::new());
    for (side, _, wire) in network.captured_data.take().unwrap() {
        let (header, _) = gre::Repr::parse(&wire.bytes).expect("GRE");
        let is_sealed = header.protocol == gre::Protocol::SEALED;
        let numbers = if is_sealed { &mut sealed } else { &mut plain };
        numbers.insert((side, header.sequence.unwrap()));
    }
    assert!(SIDES.iter().all(|&side| plain.iter().any(|it| it.0 == side)), "plain data flows");
    assert!(sealed.is_disjoint(&plain));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn in_any_order(
        seed in 0_u64..1000,
        mapping in mapping(),
        spoils in any::<bool>(),
        steps in prop::collection::vec(step(), 1..12),
    ) {
        check_with(seed, mapping, spoils, &steps);
    }
}

#[test]
fn remade_at_both_ends_at_once() {
    use Step::{Remake, Traffic};
    let steps =
        [Traffic(1500), Remake(0), Remake(1), Traffic(3000), Remake(1), Remake(1), Traffic(9)];
    check(6, Mapping::Duplicate, &steps);
}
