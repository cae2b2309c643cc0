//! The screen for every state and every width.

use mpt_api::snapshot::{DownReason, Liveness, Path, PathState, SessionState};
use mpt_api::{ConnectionState, DataState, Estimate, Mapping, Queue, Repairs, Snapshot};

use super::*;
use crate::example;

/// One connection with adaptive mapping over two uplinks, of which the second is dead.
fn office() -> Snapshot {
    let mut snapshot = example::snapshot();
    snapshot.connections.truncate(1);
    let office = &mut snapshot.connections[0];
    office.mapping = Mapping::Adaptive;
    office.queue = Some(Queue { packets: 60, ..Queue::default() });
    let estimate = Estimate {
        rate: 104_000_000,
        bottleneck_seen: true,
        delivered: 99_000_000,
        queue_us: 4_200,
        jitter_us: 1_300,
        rtt_us: 20_000,
        lost_per_million: 1_200,
        cuts: 3,
        idle_ms: Some(40),
    };
    let liveness = office.paths[1].liveness.expect("the example has it");
    let dsl = &mut office.paths[0];
    dsl.liveness = Some(Liveness { hears_us: true, we_hear: true, ..liveness });
    dsl.estimate = Some(estimate);
    dsl.repairs = Some(Repairs { lost: 130, repaired: 128, ..Repairs::default() });
    let lte = &mut office.paths[1];
    lte.down = Some(DownReason::Dead);
    lte.estimate = Some(Estimate { bottleneck_seen: false, delivered: 1_900_000, ..estimate });
    snapshot
}

fn plain(lines: &[Line], width: usize) -> String {
    let strip = |line: &Line| anstream::adapter::strip_str(&line.fitted(width)).to_string();
    lines.iter().map(|line| strip(line).trim_end().to_owned() + "\n").collect()
}

fn screen(snapshot: &Snapshot, width: usize) -> String {
    plain(&render::screen(&Summary::of(snapshot), width), width)
}

#[test]
fn a_terminal_of_80_columns_has_a_table() {
    insta::assert_snapshot!(screen(&office(), 80));
}

#[test]
fn a_terminal_of_20_columns_has_one_fact_per_line() {
    insta::assert_snapshot!(screen(&office(), 20));
}

/// The second uplink has a cap.
fn capped() -> Snapshot {
    let mut snapshot = office();
    let lte = &mut snapshot.connections[0].paths[1];
    (lte.state, lte.down) = (PathState::Up, None);
    (lte.metered, lte.last_resort) = (true, true);
    lte.cap = Some(mpt_api::Cap {
        limit: 50_000_000_000,
        used: 50_000_400_000,
        sent: 10_000_000_000,
        received: 40_000_400_000,
        period: mpt_api::CapPeriod::Month,
        counts: mpt_api::CapCounts::Both,
        at_cap: mpt_api::AtCap::Backup,
        resets_ms: snapshot.daemon.time_ms + 530_000_000,
        uncertain: false,
        saved: true,
    });
    snapshot
}

#[test]
fn a_cap_is_shown_with_what_follows_from_it() {
    insta::assert_snapshot!(screen(&capped(), 80));
}

#[test]
fn the_screen_fits_every_width() {
    let mut snapshot = office();
    let office = &mut snapshot.connections[0];
    office.name = "a-connection-with-a-very-long-name".into();
    office.paths[0].name = "uplink-berlin-1".into();
    office.paths[0].local = Some("[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535".parse().unwrap());
    office.paths[0].sent.bits_per_second = u64::MAX;
    office.paths[1].sent.bits_per_second = u64::MAX;
    for snapshot in
        [&capped(), &snapshot, &Snapshot { connections: Vec::new(), ..snapshot.clone() }]
    {
        for width in 0..200 {
            for line in screen(snapshot, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
    // From 80 columns on nothing is cut off, except names.
    snapshot.connections[0].paths[0].sent.bits_per_second = 999_499_999;
    snapshot.connections[0].paths[1].sent.bits_per_second = 0;
    snapshot.connections[0].name = "office".into();
    let cut = |line: &&str| line.ends_with('~');
    assert_eq!(screen(&snapshot, 80).lines().find(cut), None);
}

#[test]
fn colours_are_those_of_the_states() {
    let lines = render::screen(&Summary::of(&office()), 80);
    let coloured: String = lines.iter().map(|line| line.fitted(80)).collect();
    for (style, word) in
        [(screen::FAIR, "degraded"), (screen::GOOD, "up      "), (screen::BAD, "down    ")]
    {
        let expected = format!("{style}{word}{style:#}");
        assert!(coloured.contains(&expected), "{expected:?} is not in {coloured:?}");
    }
}

#[test]
fn the_state_of_all_follows_from_those_of_the_connections() {
    let with = |states: &[ConnectionState]| {
        let mut snapshot = office();
        let connection = snapshot.connections.remove(0);
        snapshot.connections = states
            .iter()
            .map(|&state| mpt_api::Connection { state, ..connection.clone() })
            .collect();
        Summary::of(&snapshot).state
    };
    use ConnectionState::{Degraded, Down, Unknown, Up};
    for (states, expected) in [
        (&[][..], State::Up),
        (&[Up], State::Up),
        (&[Up, Up], State::Up),
        (&[Up, Down], State::Degraded),
        (&[Up, Degraded], State::Degraded),
        (&[Degraded, Down], State::Degraded),
        (&[Down, Down], State::Down),
        (&[Unknown], State::Degraded),
    ] {
        assert_eq!(with(states), expected, "{states:?}");
    }
    let codes = [State::Up, State::Unreachable, State::Degraded, State::Down].map(State::exit_code);
    assert_eq!(codes, [0, 3, 5, 6]);
}

#[test]
fn a_connection_that_refuses_plain_data_is_down() {
    let mut snapshot = office();
    snapshot.connections[0].session.as_mut().unwrap().data = Some(DataState::Refused);
    let summary = Summary::of(&snapshot);
    assert_eq!(summary.state, State::Down);
    let expected = "no data is carried, because the peer does not seal and this host requires it";
    assert_eq!(summary.connections[0].problems[0], expected);
}

/// Returns what is said to be wrong after this change of a tunnel that works.
fn problems(change: impl FnOnce(&mut mpt_api::Connection)) -> Vec<String> {
    let mut snapshot = office();
    let office = &mut snapshot.connections[0];
    office.state = ConnectionState::Up;
    office.paths.truncate(1);
    change(office);
    Summary::of(&snapshot).connections.remove(0).problems
}

fn path(change: impl FnOnce(&mut Path)) -> Vec<String> {
    problems(|office| change(&mut office.paths[0]))
}

#[test]
fn what_works_has_no_problem() {
    assert_eq!(problems(|_| {}), [""; 0]);
}

#[test]
fn what_is_wrong_is_said_with_its_remedy() {
    let down = |reason, change: fn(&mut Path)| {
        path(|path| {
            (path.state, path.down) = (PathState::Down, Some(reason));
            change(path);
        })
        .remove(0)
    };
    let session =
        |state| problems(|office| office.session.as_mut().unwrap().state = state).remove(0);
    let estimate =
        |change: fn(&mut Estimate)| path(|path| change(path.estimate.as_mut().unwrap())).remove(0);
    let said = [
        down(DownReason::Administrative, |_| {}),
        down(DownReason::Unresolved, |path| path.remote_name = Some("mpt.example.org".into())),
        down(DownReason::Interface, |path| path.interface = Some("eth1".into())),
        down(DownReason::Interface, |_| {}),
        down(DownReason::Dead, |_| {}),
        down(DownReason::Dead, |path| path.liveness.as_mut().unwrap().hears_us = false),
        down(DownReason::Unproven, |path| path.liveness.as_mut().unwrap().we_hear = false),
        down(DownReason::Peer, |_| {}),
        session(SessionState::Connecting),
        session(SessionState::Creating),
        session(SessionState::Refused),
        problems(|office| {
            office.session.as_mut().unwrap().data = Some(DataState::PlainPeer);
        })
        .remove(0),
        problems(|office| office.state = ConnectionState::Down).remove(0),
        estimate(|estimate| estimate.lost_per_million = 51_000),
        estimate(|estimate| estimate.queue_us = 240_000),
        path(|path| (path.ipv6, path.mtu) = (false, 1280)).remove(0),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_peer_that_does_not_answer_is_named_once() {
    let said = problems(|office| {
        office.session.as_mut().unwrap().state = SessionState::Connecting;
        office.paths[0].state = PathState::Down;
        office.paths[0].down = Some(DownReason::Unproven);
    });
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn buffers_that_are_nearly_full_are_told() {
    let mut snapshot = office();
    snapshot.daemon.buffer_bytes = snapshot.daemon.buffer_limit / 10 * 9 + 10;
    assert_eq!(Summary::of(&snapshot).problems.len(), 1);
}

#[test]
fn shares_are_those_of_the_last_second() {
    let shares = |rates: [u64; 2]| {
        let mut snapshot = office();
        for (path, rate) in snapshot.connections[0].paths.iter_mut().zip(rates) {
            path.sent.bits_per_second = rate;
        }
        let tunnel = Summary::of(&snapshot).connections.remove(0);
        tunnel.paths.iter().map(|path| path.share_percent).collect::<Vec<_>>()
    };
    assert_eq!(shares([3, 1]), [Some(75), Some(25)]);
    assert_eq!(shares([0, 7]), [Some(0), Some(100)]);
    assert_eq!(shares([0, 0]), [None, None]);
    assert_eq!(shares([u64::MAX; 2]), [Some(50), Some(50)]);
}
