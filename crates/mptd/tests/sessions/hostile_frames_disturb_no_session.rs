//! A host between the two ends sends them everything it can think of, under its own address and under that of the other end:
//! neither session nor data notice, every frame ends in a counter, and there is nearly no answer.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::PathState;
use mpt_wire::control::frame::{
    COOKIE_LEN as COOKIE, INITIATION_LEN as INITIATION, MAC_LEN, RESPONSE_LEN as RESPONSE, VERSION,
};

use crate::attacker::{Attacker, frames};
use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Capture, Daemon, Identity, Line, Pair, Pulse, Way, wait_for};
use crate::support::{authenticate, control};

/// Bytes before a control frame: the GRE header.
const HEADER: usize = 4;
/// Offset of the end of MAC 1 in an initiation: the rest, the time of a cookie and MAC 2, is only looked at under load.
const MAC1_END: usize = INITIATION - MAC_LEN - 8;
/// Pause between two frames: their number is what matters here, not their rate.
const PAUSE: Duration = Duration::from_micros(300);

/// Two ends with a session and traffic, and the attacker.
struct Scene {
    pair: Pair,
    daemons: [Daemon; 2],
    identities: [Identity; 2],
    attacker: Attacker,
    pulses: [Pulse; 2],
    /// From the first frame on: to `a`, to `b`.
    heard: [Vec<Vec<u8>>; 2],
}

impl Scene {
    fn new() -> Self {
        let pair = Pair::new(&[Line::bridged(); 2]);
        let mut configs = pair.configs();
        let identities = authenticate(&mut configs);
        let attacker = Attacker::new(&pair);
        let capture = Capture::start(&pair.b);
        let daemons = pair.start(&configs);
        tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 100_000);
        thread::sleep(Duration::from_millis(500));
        let captured = capture.stop();
        let heard = [true, false].map(|outgoing| frames(&captured, outgoing));
        assert!(heard.iter().all(|frames| frames.len() > 10));
        let pulses = [
            Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000")),
            Pulse::start((&pair.b, "10.72.0.2:5001"), (&pair.a, "10.72.0.1:5001")),
        ];
        Self { pair, daemons, identities, attacker, pulses, heard }
    }

    /// Sends every frame to both ends, under both addresses.
    fn attack(&self, frames: &[Vec<u8>]) {
        for frame in frames {
            for to in 0..2 {
                for forged in [false, true] {
                    self.attacker.send(frame, to, forged);
                    thread::sleep(PAUSE);
                }
            }
        }
    }

    /// The sum of these counters at an end.
    fn count(&self, end: usize, counters: &[&str]) -> u64 {
        counters.iter().map(|counter| control(&self.daemons[end], counter)).sum()
    }

    /// Everything is as it was before.
    fn assert_undisturbed(self) {
        for (end, daemon) in self.daemons.iter().enumerate() {
            let connection = daemon.connection("tunnel");
            assert_eq!(connection.session.unwrap().peer, self.identities[1 - end].public());
            for (line, path) in (1..).zip(connection.paths) {
                assert_eq!((path.state, path.liveness.unwrap().flaps), (PathState::Up, 0));
                assert_eq!(
                    path.remote,
                    Some(format!("10.71.{line}.{}:4754", 2 - end).parse().unwrap())
                );
            }
        }
        for beats in self.pulses.map(Pulse::end) {
            beats.assert_complete();
        }
        tcp_both_ways(&self.pair.a, &self.pair.b, "10.72.0.2:5001", 300_000);
    }
}

#[test]
fn random_bytes() {
    let mut scene = Scene::new();
    let indices = [0, 1].map(|end| {
        let sealed = scene.heard[end].iter().find(|frame| frame[0] == 4).expect("sealed frames");
        sealed[2..6].to_vec()
    });
    let before = [0, 1].map(|end| scene.daemons[end].show().daemon.control);
    let mut frames = Vec::new();
    for length in (0..1300).step_by(13).chain([RESPONSE, INITIATION, COOKIE, 30]) {
        frames.push(scene.attacker.noise(length));
    }
    for (kind, length) in [
        (1, INITIATION),
        (2, RESPONSE),
        (3, COOKIE),
        (4, 30),
        (4, 200),
        (4, 1200),
        (5, 264),
        (0, 64),
    ] {
        for version in [VERSION, VERSION, VERSION, 0, VERSION - 1, 255] {
            let mut frame = scene.attacker.noise(length);
            frame[..2].copy_from_slice(&[kind, version]);
            frames.push(frame);
        }
    }
    for index in &indices {
        for length in (30..400).step_by(10) {
            let mut frame = scene.attacker.noise(length);
            frame[..2].copy_from_slice(&[4, VERSION]);
            frame[2..6].copy_from_slice(index);
            frames.push(frame);
        }
    }
    scene.attack(&frames);
    assert_eq!(scene.attacker.answers().len(), 0, "nothing is answered");
    let counters = ["malformed", "bad_version", "bad_mac", "unknown_index", "unauthentic"];
    for (end, before) in before.iter().enumerate() {
        let value = |counter: &str| control(&scene.daemons[end], counter);
        let grown = |counter: &&str| value(counter) - before.get(*counter).unwrap_or(&0);
        let grown: Vec<u64> = counters.iter().map(grown).collect();
        assert!(grown.iter().all(|&count| count > 0), "{counters:?}: {grown:?}");
        assert_eq!(grown.iter().sum::<u64>(), 2 * frames.len() as u64, "{grown:?}");
    }
    scene.assert_undisturbed();
}

#[test]
fn replayed_frames() {
    let scene = Scene::new();
    let counters = ["replayed", "unauthentic", "unknown_index"];
    for to in 0..2 {
        let before = scene.count(to, &counters);
        let sealed: Vec<_> = scene.heard[to].iter().filter(|frame| frame[0] == 4).collect();
        for frame in &sealed {
            for forged in [false, true] {
                scene.attacker.send(frame, to, forged);
                thread::sleep(PAUSE);
            }
        }
        assert_eq!(scene.attacker.answers().len(), 0, "nothing is answered");
        assert_eq!(scene.count(to, &counters) - before, 2 * sealed.len() as u64);
        assert!(scene.count(to, &["replayed"]) > 0);
    }
    // A handshake once more: an initiation may be answered, with less.
    for to in 0..2 {
        for frame in scene.heard[to].iter().filter(|frame| frame[0] != 4) {
            scene.attacker.send(frame, to, true);
            scene.attacker.send(frame, to, false);
            let answers = scene.attacker.answers();
            assert!(answers.len() <= usize::from(frame[0] == 1), "{answers:?}");
            assert!(answers.iter().all(|answer| answer.len() == HEADER + RESPONSE));
        }
    }
    scene.assert_undisturbed();
}

#[test]
fn reflected_frames() {
    let scene = Scene::new();
    for to in 0..2 {
        for frame in scene.heard[1 - to].iter().filter(|frame| frame[0] != 1) {
            for forged in [false, true] {
                scene.attacker.send(frame, to, forged);
                thread::sleep(PAUSE);
            }
        }
    }
    assert_eq!(scene.attacker.answers().len(), 0, "nothing is answered");
    for end in 0..2 {
        assert!(scene.count(end, &["unknown_index"]) > 0);
    }
    scene.assert_undisturbed();
}

#[test]
fn damaged_frames() {
    let scene = Scene::new();
    for to in 0..2 {
        let counters = [
            "malformed",
            "bad_version",
            "bad_mac",
            "unknown_index",
            "unauthentic",
            "unknown_path",
            "replayed",
        ];
        let before = scene.count(to, &counters);
        let mut damaged = Vec::new();
        for kind in 1..=4 {
            let Some(frame) = scene.heard[to].iter().rfind(|frame| frame[0] == kind) else {
                continue;
            };
            for length in (0..frame.len()).step_by(3) {
                damaged.push(frame[..length].to_vec());
            }
            // The rest of an initiation, mac2, means something under load only.
            let covered = if kind == 1 { MAC1_END } else { frame.len() };
            for byte in (0..covered).step_by(3) {
                let mut flipped = frame.clone();
                flipped[byte] ^= 1 << (byte % 8);
                damaged.push(flipped);
            }
            damaged.push([frame.as_slice(), &[0]].concat());
        }
        for frame in &damaged {
            for forged in [false, true] {
                scene.attacker.send(frame, to, forged);
                thread::sleep(PAUSE);
            }
        }
        assert_eq!(scene.attacker.answers().len(), 0, "nothing is answered");
        // A response to a handshake that is over is ignored without a word: its copies come over all paths.
        let ignored = |frame: &&Vec<u8>| frame.len() == RESPONSE && frame[0] == 2;
        let counted = damaged.len() - damaged.iter().filter(ignored).count();
        assert!(scene.count(to, &counters) - before >= 2 * counted as u64);
    }
    scene.assert_undisturbed();
}

/// The attacker keeps frames from arriving and sends them on himself, under his own address: they are genuine and fresh, but he
/// cannot answer the question whether the address is right.
#[test]
fn diverted_frames() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for path in ["line1", "line2"] {
        configs[1].path("tunnel", path).unset("remote");
    }
    let attacker = Attacker::new(&pair);
    let [a, b] = pair.start(&configs);
    let pulse = Pulse::start((&pair.b, "10.72.0.2:5000"), (&pair.a, "10.72.0.1:5000"));
    thread::sleep(Duration::from_millis(300));
    for _ in 0..5 {
        let capture = Capture::start(&pair.a);
        pair.swallow(1, Way::AToB);
        thread::sleep(Duration::from_millis(250));
        // Its own frames come to the bridge by another port of the switch, which swallows nothing.
        let mut kept = frames(&capture.stop(), true);
        pair.mend(1, Way::AToB);
        kept.retain(|frame| frame[0] == 4);
        assert!(!kept.is_empty());
        kept.reverse();
        kept.iter().for_each(|frame| attacker.send(frame, 1, false));
        let sent: usize = kept.iter().map(|frame| HEADER + frame.len()).sum();
        let received: usize = attacker.answers().iter().map(Vec::len).sum();
        assert!(received <= sent, "{received} bytes for {sent}");
        assert_eq!(b.path("tunnel", "line1").remote, Some("10.71.1.1:4754".parse().unwrap()));
    }
    wait_for("everything is well", || {
        let up = |daemon: &Daemon| {
            daemon.connection("tunnel").paths.iter().all(|path| path.state == PathState::Up)
        };
        (up(&a) && up(&b)).then_some(())
    });
    let beats = pulse.end();
    assert_eq!(beats.lost(beats.sent[0], Instant::now()), [0; 0], "no data goes to the attacker");
}
