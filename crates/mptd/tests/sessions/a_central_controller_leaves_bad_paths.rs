//! `examples/controller` on a third host watches the daemons at both ends of a connection: a path that loses packets, or is slow, is taken
//! out of service by the daemon that sends into it, and taken back when it is good again.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mpt_api::{DownReason, PathState};
use mpt_controller::{Action, Config, Rules};

use crate::hosts::{Daemon, Host, Identity, Line, Pair, Pulse, Way, wait_for, wait_within};
use crate::support::{authenticate, share_equally};

/// A window of loss, the row of bad looks, and the pause before it is tried again, on a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// Two ends, the datagrams between them, and who watches.
struct Scene {
    pair: Pair,
    daemons: [Daemon; 2],
    identities: [Identity; 2],
    noc: Host,
    controller: Identity,
}

impl Scene {
    fn new(lines: usize) -> Self {
        let pair = Pair::new(&vec![Line::bridged(); lines]);
        let (noc, controller) = (Host::new("noc"), Identity::new());
        let mut configs = pair.configs();
        let identities = authenticate(&mut configs);
        share_equally(&mut configs);
        for (number, (config, host)) in (1..).zip(configs.iter_mut().zip(pair.hosts())) {
            let own = format!("10.73.{number}.1");
            let noc_end = format!("10.73.{number}.2/24");
            noc.cable(&format!("to{number}"), &[&noc_end], (host, "noc", &[&format!("{own}/24")]));
            config.daemon().set("listen", vec![own]);
            let section = config.controller("noc").set("public_key", controller.public());
            section.set("allow", vec!["show", "path"]);
            for line in 1..=lines {
                config.path("tunnel", &format!("line{line}")).set("weight", 8);
            }
        }
        let daemons = pair.start(&configs);
        Self { pair, daemons, identities, noc, controller }
    }

    /// Runs the controller while `meanwhile` happens under steady traffic in both directions; gives what it said.
    fn watch(&self, rules: Rules, meanwhile: impl FnOnce()) -> Vec<String> {
        let daemon = |number: usize| mpt_controller::Daemon {
            name: ["a", "b"][number].into(),
            address: SocketAddr::new([10, 73, number as u8 + 1, 1].into(), 4754).to_string(),
            public_key: self.identities[number].public(),
            psk_file: None,
        };
        let private_key_file = self.controller.file().into();
        let config = Config { private_key_file, rules, daemons: vec![daemon(0), daemon(1)] };
        let (stop, said) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let say = |line: &str| {
            eprintln!("controller: {line}");
            said.lock().unwrap().push(line.to_owned());
        };
        let pulses = [
            Pulse::start((&self.pair.a, "10.72.0.1:5000"), (&self.pair.b, "10.72.0.2:5000")),
            Pulse::start((&self.pair.b, "10.72.0.2:5001"), (&self.pair.a, "10.72.0.1:5001")),
        ];
        thread::scope(|scope| {
            let running =
                scope.spawn(|| self.noc.run(|| mpt_controller::run(&config, &stop, &say)));
            // Also when something is not as it should be.
            let end = Stop(&stop);
            meanwhile();
            drop(end);
            running.join().unwrap().unwrap();
        });
        pulses.into_iter().for_each(|pulse| drop(pulse.end()));
        said.into_inner().unwrap()
    }

    fn wait_until(&self, what: &str, mut holds: impl FnMut(&[Daemon; 2]) -> bool) {
        wait_within(LIMIT, what, || holds(&self.daemons).then_some(()));
    }

    fn is_down(daemon: &Daemon, line: &str) -> bool {
        daemon.path("tunnel", line).down == Some(DownReason::Administrative)
    }

    fn is_up(daemon: &Daemon, line: &str) -> bool {
        daemon.path("tunnel", line).state == PathState::Up
    }
}

/// Sets the flag when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every fifth packet that enters the bridge at this port is lost.
fn lose(middle: &Host, port: &str) {
    middle.program("nft", &format!("add table netdev {port}"));
    let hook = format!("type filter hook ingress device {port} priority 0 ;");
    middle.program("nft", &format!("add chain netdev {port} in {{ {hook} }}"));
    middle.program("nft", &format!("add rule netdev {port} in numgen inc mod 5 == 0 drop"));
}

#[test]
fn each_end_those_that_lose_what_it_sends() {
    let scene = Scene::new(3);
    let rules = Rules { bad_for_s: 2, pause_s: 4, ..Rules::default() };
    let middle = scene.pair.middle();
    let said = scene.watch(rules, || {
        lose(middle, "a1");
        lose(middle, "b2");
        scene.wait_until("each end has left one", |[a, b]| {
            Scene::is_down(a, "line1") && Scene::is_down(b, "line2")
        });
        let [a, b] = &scene.daemons;
        assert!(Scene::is_up(a, "line3") && Scene::is_up(b, "line3"));
        // Each did so with its own; the other end only follows.
        assert!(!Scene::is_down(a, "line2") && !Scene::is_down(b, "line1"));
        for port in ["a1", "b2"] {
            middle.program("nft", &format!("delete table netdev {port}"));
        }
        scene.wait_until("all are back", |daemons| {
            let lines = ["line1", "line2", "line3"];
            daemons.iter().all(|daemon| lines.iter().all(|line| Scene::is_up(daemon, line)))
        });
    });
    for (daemon, line) in [("a", "line1"), ("b", "line2")] {
        let about = format!("{daemon}: connection tunnel, path {line}: ");
        let mut about = said.iter().filter_map(|it| it.strip_prefix(&about));
        let out = about.next().expect("taken out");
        assert!(out.starts_with("taken out of service: loss "), "{out}");
        assert_eq!(about.next(), Some("taken back into service"));
    }
}

#[test]
fn both_ends_one_that_is_slow() {
    let scene = Scene::new(2);
    let rules =
        Rules { max_rtt_ms: 100, bad_for_s: 2, good_for_s: 3, pause_s: 3, ..Rules::default() };
    let rules = Rules { action: Action::Weight, max_loss_percent: 100.0, ..rules };
    let middle = scene.pair.middle();
    let weights = |[a, b]: &[Daemon; 2]| [a, b].map(|it| it.path("tunnel", "line1").weight);
    let said = scene.watch(rules, || {
        // A queue of half a second, filled by what the tunnel sends: 500 packets per second.
        for port in ["a1", "b1"] {
            middle.tc(&format!(
                "qdisc replace dev {port} root tbf rate 800kbit burst 2kb limit 50kb"
            ));
        }
        scene.wait_until("both ends send less there", |daemons| weights(daemons) == [1, 1]);
        scene.pair.mend(1, Way::Both);
        scene.wait_until("both are back", |daemons| weights(daemons) == [8, 8]);
    });
    for daemon in ["a", "b"] {
        let about =
            format!("{daemon}: connection tunnel, path line1: taken out of service: round-trip");
        assert!(said.iter().any(|it| it.starts_with(&about)), "{said:?}");
    }
}

#[test]
fn but_not_the_last_and_none_stays_out_when_the_controller_ends() {
    let scene = Scene::new(2);
    let rules = Rules { bad_for_s: 2, pause_s: 600, ..Rules::default() };
    let middle = scene.pair.middle();
    let said = scene.watch(rules, || {
        lose(middle, "a1");
        scene.wait_until("one is left", |[a, _]| Scene::is_down(a, "line1"));
        lose(middle, "a2");
        // The window of loss, and some looks more.
        thread::sleep(Duration::from_secs(9));
        assert!(Scene::is_up(&scene.daemons[0], "line2"));
    });
    let last = "a: connection tunnel, path line2: left as it is, no other path is up: loss ";
    assert!(said.iter().any(|it| it.starts_with(last)), "{said:?}");
    wait_for("it is taken back", || Scene::is_up(&scene.daemons[0], "line1").then_some(()));
}
