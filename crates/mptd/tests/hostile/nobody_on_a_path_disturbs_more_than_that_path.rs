//! An attacker in the middle of a path has recorded what passed, the handshake included, and sends it on again: as it was, changed, and back to its
//! sender.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::PathState;
use serde_json::{Value, json};

use crate::hosts::traffic::{deliver, expect_silence};
use crate::hosts::{Daemon, Pulse, wait_for};
use crate::kit::{Program, alone};
use crate::scene::{RATE, Scene, assert_fast, seconds};

/// The changes that an attacker makes to sealed data.
const SEALED_DATA: [&str; 7] =
    ["data", "reflect_data", "alter_data", "relabel_data", "cut_data", "swap_data", "turn_data"];

/// A scene in which data is sealed, as it is by default.
fn sealed() -> Scene {
    Scene::new(|_| {})
}

/// Records on line 1 while the session of `a` begins, and attacks with that.
fn attack(mut scene: Scene, kinds: &[&str], rate: u32, seconds: f64) -> (Scene, Vec<Value>) {
    let config = json!({
        "ports": ["a1", "b1"], "record": 2.0, "kinds": kinds, "rate": rate, "seconds": 2.0 * seconds, "asked": true,
    });
    let mut program = Program::start(scene.pair.middle(), "onpath.py", &config);
    assert_eq!(program.said()["step"], "listening");
    scene.daemons[0].kill();
    scene.daemons[0].start_again(&scene.pair.a);
    scene.daemons[0].wait_until_up();
    scene.daemons[1].wait_until_up();
    wait_for("no path has died lately", || {
        let up = |daemon: &Daemon| {
            daemon.connection("tunnel").paths.iter().all(|path| path.state == PathState::Up)
        };
        scene.daemons.iter().all(up).then_some(())
    });
    assert_eq!(program.said()["step"], "recorded");
    let watch = scene.watch();
    kinds.iter().for_each(|_| program.go_on());
    let said = scene.under_reload(|| program.finish());
    if rate == 1 {
        // One packet is refused for one reason.
        assert!(said.iter().all(|kind| kind["sent"].as_u64() > Some(0)), "{said:?}");
        assert!(scene.refused() > watch.refused, "{said:?}");
    } else {
        scene.assert_counted(&watch.counters, &said);
    }
    scene.assert_undisturbed(watch, &format!("{kinds:?} at {rate} per second"));
    (scene, said)
}

#[test]
fn by_frames_of_the_control_protocol() {
    let _alone = alone();
    let kinds = ["sealed", "initiations", "reflect", "alter"];
    // Without the attacker nothing is counted.
    attack(sealed(), &kinds, 0, seconds());
    attack(sealed(), &kinds, 1, 0.2);
    let (_, said) = attack(sealed(), &kinds, RATE, seconds());
    assert_fast(&said, RATE);
}

/// Plain or sealed, data and control. Of plain data a recorded packet is delivered once more at most, if the numbers have gone on. Inner transports
/// recognise it.
#[test]
fn by_everything_that_passed_once_more() {
    let _alone = alone();
    attack(sealed(), &["replay"], 0, seconds());
    attack(sealed(), &["replay"], 1, 1.0);
    for scene in [sealed as fn() -> Scene, Scene::plain] {
        let (scene, said) = attack(scene(), &["replay"], RATE, seconds());
        assert_fast(&said, RATE);
        let socket = scene.pair.b.udp("10.72.0.2:7001");
        deliver(&scene.pair.a.udp("10.72.0.1:7001"), &socket, 200);
        expect_silence(&socket, Duration::from_millis(100));
    }
}

/// The data is sealed, as it is by default.
#[test]
fn by_data_once_more_or_changed() {
    let _alone = alone();
    // Whichever line the sender would choose, the attacker on line1 sees data of both directions.
    let scene = Scene::with_equal_shares();
    for (rate, seconds) in [(0, seconds()), (1, 0.2), (RATE, seconds())] {
        let config = json!({
            "ports": ["a1", "b1"], "record": 1.0, "kinds": SEALED_DATA, "rate": rate, "seconds": 2.0 * seconds, "asked": true,
        });
        let mut program = Program::start(scene.pair.middle(), "onpath.py", &config);
        assert_eq!(program.said()["step"], "listening");
        let watch = scene.watch();
        let frames = program.said()["frames"].clone();
        assert!(frames[0].as_u64() > Some(20) && frames[1].as_u64() > Some(20), "{frames}");
        scene.under_reload(|| {
            for kind in SEALED_DATA {
                let (before, refused) = (scene.counters(), scene.refused());
                program.go_on();
                let said = program.said();
                assert_eq!(said["step"], kind);
                match rate {
                    0 => scene.assert_counted(&before, &[said]),
                    // The bit that is changed decides for which reason a single packet is refused.
                    1 => wait_for(&format!("a packet of {said} is refused"), || {
                        (scene.refused() > refused).then_some(())
                    }),
                    _ => {
                        assert_fast(std::slice::from_ref(&said), rate);
                        scene.assert_counted(&before, &[said]);
                    }
                }
            }
        });
        program.finish();
        scene.assert_undisturbed(watch, &format!("data at {rate} per second"));
    }
}

/// The UDP checksum is no obstacle to someone who can write a new one. The changed packet is delivered.
#[test]
fn but_plain_data_can_be_changed_on_its_way() {
    let _alone = alone();
    let scene = Scene::plain();
    let receiver = scene.pair.b.udp("10.72.0.2:7000");
    let config =
        json!({ "ports": ["a1", "b1"], "find": "genuine", "write": "changed", "seconds": 20 });
    scene.pair.middle().tc("qdisc add dev b1 root pfifo limit 0");
    let mut program = Program::start(scene.pair.middle(), "change.py", &config);
    assert_eq!(program.said()["step"], "listening");
    let sender = scene.pair.a.udp("10.72.0.1:7000");
    receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let start = Instant::now();
    let mut buffer = [0; 100];
    loop {
        assert!(start.elapsed() < Duration::from_secs(15), "no changed packet arrives");
        sender.send_to(b"genuine", "10.72.0.2:7000").unwrap();
        if receiver.recv(&mut buffer).is_ok_and(|length| &buffer[..length] == b"changed") {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A middlebox that lets control through and drops data is not found where weights decide the paths of data: the counters of both ends differ, which
/// an operator sees.
#[test]
fn and_its_data_can_be_dropped_unnoticed() {
    let _alone = alone();
    let scene = Scene::with_equal_shares();
    let received =
        |path: &mpt_api::Path| path.liveness.as_ref().and_then(|it| it.peer_received).unwrap_or(0);
    // The peer says a moment later what has arrived of the data of before, which is to count in neither figure.
    let before = wait_for("the peer says that all of the data before has arrived", || {
        let path = scene.daemons[0].path("tunnel", "line1");
        (received(&path) >= path.sent.packets).then_some(path)
    });
    let config = json!({ "ports": ["a1", "b1"], "drop": "data", "seconds": 6 });
    let mut program = Program::start(scene.pair.middle(), "change.py", &config);
    assert_eq!(program.said()["step"], "listening");
    scene.pair.middle().tc("qdisc add dev b1 root pfifo limit 0");
    let pulse = Pulse::start((&scene.pair.a, "10.72.0.1:7000"), (&scene.pair.b, "10.72.0.2:7000"));
    thread::sleep(Duration::from_secs(3));
    let path = scene.daemons[0].path("tunnel", "line1");
    let beats = pulse.end();
    let lost = beats.lost(beats.sent[0], Instant::now()).len();
    assert_eq!(path.state, PathState::Up, "control is all that tells");
    assert!(lost * 3 > beats.sent.len(), "{lost} of {} lost: that of line 1", beats.sent.len());
    let (sent, arrived) =
        (path.sent.packets - before.sent.packets, received(&path) - received(&before));
    // Whatever the pace of this machine, most of what was lost had been sent there when the counters were read.
    assert!(2 * sent > lost as u64, "{sent} sent there, {lost} lost");
    assert!(arrived < sent / 10, "{sent} sent, {arrived} received there");
}
