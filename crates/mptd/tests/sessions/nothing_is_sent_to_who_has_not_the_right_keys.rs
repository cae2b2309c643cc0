//! A peer with a wrong key, or none, gets no data, sends none, and is not answered with a single packet.

use mpt_api::{DownReason, SessionState};
use mpt_wire::control::frame::{COOKIE_LEN, INITIATION_LEN, RESPONSE_LEN};

use crate::hosts::{Capture, Config, Daemon, Datagram, Identity, Line, Pair, Preshared, wait_for};
use crate::support::{authenticate, control, wait_for_control, wait_until_down};

/// Initiations after which it is clear that they lead nowhere.
const TRIES: u64 = 6;

/// Starts both, has `a` try in vain until `tried`, and gives the daemons and what `b` has sent meanwhile.
fn in_vain(
    configs: &[Config; 2],
    tried: impl Fn(&Daemon, &Daemon) -> bool,
) -> ([Daemon; 2], Vec<Datagram>) {
    let pair = Pair::new(&[Line::plain(); 2]);
    let [at_a, at_b] = pair.hosts().map(Capture::start);
    let b = Daemon::start(&pair.b, &configs[1]);
    b.wait_until_answering();
    let a = Daemon::start(&pair.a, &configs[0]);
    a.wait_until_answering();
    wait_for("some tries", || tried(&a, &b).then_some(()));

    let session = a.connection("tunnel").session.expect("it has a peer");
    assert_eq!((session.state, session.established_s), (SessionState::Connecting, None));
    for path in ["line1", "line2"] {
        wait_until_down(&a, path, Some(DownReason::Unproven));
        assert!(a.path("tunnel", path).liveness.is_some_and(|it| !it.hears_us && !it.we_hear));
    }
    let socket = pair.a.udp("10.72.0.1:5000");
    for _ in 0..50 {
        socket.send_to(b"nobody hears this", "10.72.0.2:5000").unwrap();
    }
    wait_for("nothing takes them", || (a.drops("tunnel", "no_keys") >= 50).then_some(()));
    assert_eq!(a.connection("tunnel").sent.packets, 0);
    assert!(at_a.sent().iter().all(Datagram::is_control), "no data leaves");
    let answers = at_b.sent();
    ([a, b], answers)
}

/// Two ends with keys, of which only `a` opens the session.
fn one_sided() -> ([Config; 2], [Identity; 2]) {
    let mut configs = Pair::configs_of(2);
    let identities = authenticate(&mut configs);
    configs[1].peer("tunnel").set("initiate", false);
    (configs, identities)
}

#[test]
fn not_with_a_wrong_key_of_the_other_end() {
    let (mut configs, _identities) = one_sided();
    configs[0].peer("tunnel").set("public_key", Identity::new().public());
    let (_daemons, answers) = in_vain(&configs, |_, b| control(b, "bad_mac") >= TRIES);
    assert!(answers.is_empty(), "{answers:?}");
}

#[test]
fn not_with_a_key_that_the_other_end_does_not_know() {
    let (mut configs, _identities) = one_sided();
    let stranger = Identity::new();
    configs[0].daemon().set("private_key_file", stranger.file());
    let (_daemons, answers) = in_vain(&configs, |_, b| control(b, "unknown_peer") >= TRIES);
    assert!(answers.is_empty(), "{answers:?}");
}

#[test]
fn not_when_the_other_end_has_no_keys_at_all() {
    let (mut configs, _identities) = one_sided();
    let plain = Pair::configs_of(2).into_iter().nth(1).unwrap();
    configs[1] = plain;
    let dropped = |b: &Daemon| b.daemon_drops("control") + b.drops("tunnel", "control");
    let (_daemons, answers) = in_vain(&configs, |_, b| dropped(b) >= TRIES);
    assert!(answers.is_empty(), "{answers:?}");
}

/// The pre-shared key is part of the answer only, so there is one. It is shorter than the question.
#[test]
fn not_with_another_preshared_key() {
    for given in [[true, true], [true, false], [false, true]] {
        let (mut configs, _identities) = one_sided();
        let psks = [Preshared::new(), Preshared::new()];
        for end in 0..2 {
            if given[end] {
                configs[end].peer("tunnel").set("psk_file", psks[end].file());
            }
        }
        let failed = |a: &Daemon, _: &Daemon| control(a, "handshake_failed") >= TRIES;
        let (daemons, answers) = in_vain(&configs, failed);
        // While keys wait for a frame that never comes, the next initiation gets a cookie.
        let lengths = [RESPONSE_LEN, COOKIE_LEN];
        assert!(answers.iter().all(|it| it.is_control() && lengths.contains(&it.inner.len())));
        const { assert!(RESPONSE_LEN < INITIATION_LEN && COOKIE_LEN < INITIATION_LEN) };
        let sessions = daemons[1].connection("tunnel").session.unwrap();
        assert_eq!((sessions.state, sessions.handshakes), (SessionState::Connecting, 0));
    }
}

#[test]
fn and_everything_works_as_soon_as_the_right_key_is_there() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let right = configs[1].clone();
    configs[1].peer("tunnel").set("public_key", Identity::new().public()).set("initiate", false);
    let mut daemons = [Daemon::start(&pair.a, &configs[0]), Daemon::start(&pair.b, &configs[1])];
    daemons.iter().for_each(Daemon::wait_until_answering);
    wait_for_control(&daemons[1], "unknown_peer", 2);
    daemons[1].write_config(&right);
    daemons[1].request(mpt_api::Command::Reload).unwrap();
    daemons.iter_mut().for_each(Daemon::wait_until_up);
    crate::hosts::traffic::tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
}
