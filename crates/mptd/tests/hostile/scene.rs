//! Two correct peers with a session and traffic, and what has to be true of them whatever others do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use mpt_api::{Command, PathState, Snapshot};
use serde_json::Value;

use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Beats, Config, Daemon, Host, Identity, Line, Pair, Pulse};

/// Hostile packets per second.
pub(crate) const RATE: u32 = 10_000;
/// Kinds of hostile packets in all files of the kit, among which `HOSTILE_SECONDS` is divided.
const KINDS: u32 = 71;
/// Time for one kind where `HOSTILE_SECONDS` is not given.
const SHORT: f64 = 0.4;
/// Growth of a daemon's memory that is allowed while it is attacked, in bytes. What it keeps for its peers it has before.
const GROWTH: u64 = 8 << 20;
/// Bytes that a daemon may write into its log while it is attacked: at once, and per second (it is reloaded twice in each).
const LOG: [u64; 2] = [32 << 10, 4 << 10];
/// The longest time without a packet of a correct peer. A machine with two busy cores needs some of it for itself.
const GAP: Duration = Duration::from_secs(1);

/// Counters of frames of the control protocol that were not accepted.
const REFUSED_FRAMES: [&str; 6] =
    ["bad_mac", "bad_version", "malformed", "replayed", "unauthentic", "unknown_index"];

/// Seconds for one kind.
pub(crate) fn seconds() -> f64 {
    match env::var("HOSTILE_SECONDS") {
        Ok(seconds) => {
            seconds.parse::<f64>().expect("HOSTILE_SECONDS is a number") / f64::from(KINDS)
        }
        Err(_) => SHORT,
    }
}

/// Two hosts, a daemon on each, two bridged lines between them, and an attacker's host on line 1.
pub(crate) struct Scene {
    pub(crate) pair: Pair,
    pub(crate) daemons: [Daemon; 2],
    pub(crate) identities: [Identity; 2],
    /// The host 10.71.1.9, from where forged addresses reach both ends as well.
    pub(crate) outside: Host,
}

/// The measurements while something goes on.
pub(crate) struct Watch {
    pulses: [Pulse; 2],
    since: Instant,
    memory: [u64; 2],
    log: [u64; 2],
    pub(crate) counters: Snapshot,
    /// The packets that the receiver had dropped, whatever the reason.
    pub(crate) refused: u64,
    /// The number of times that each path of each end had died.
    flaps: [Vec<u64>; 2],
}

impl Scene {
    /// Returns a scene in which data is sealed. `change` may change the file of `b`.
    pub(crate) fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::with(|_| {}, change)
    }

    /// Returns a scene in which data is plain, and both lines carry equal shares of it.
    pub(crate) fn plain() -> Self {
        let plain = |config: &mut Config| {
            config.connection("tunnel").set("seal", "off").set("mapping", "packet");
        };
        Self::with(plain, |_| {})
    }

    /// Returns a scene in which both lines carry equal shares of the data.
    pub(crate) fn with_equal_shares() -> Self {
        let equal = |config: &mut Config| {
            config.connection("tunnel").set("mapping", "packet");
        };
        Self::with(equal, |_| {})
    }

    fn with(both: impl Fn(&mut Config), change: impl FnOnce(&mut Config)) -> Self {
        let pair = Pair::new(&[Line::bridged(); 2]);
        let mut configs = pair.configs();
        let identities = [Identity::new(), Identity::new()];
        for (end, config) in configs.iter_mut().enumerate() {
            config.daemon().set("private_key_file", identities[end].file());
            config.peer("tunnel").set("public_key", identities[1 - end].public());
            both(config);
        }
        change(&mut configs[1]);
        let outside = Host::new("x");
        outside.cable("line1", &["10.71.1.9/24"], (pair.middle(), "x1", &[]));
        pair.middle().ip("link set x1 master bridge1");
        outside.ip("route add default dev line1");
        let daemons = pair.start(&configs);
        tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 1_000_000);
        Self { pair, daemons, identities, outside }
    }

    /// Begins to measure, with traffic of the correct peers in both directions.
    pub(crate) fn watch(&self) -> Watch {
        let [a, b] = self.pair.hosts();
        Watch {
            pulses: [
                Pulse::start((a, "10.72.0.1:6000"), (b, "10.72.0.2:6000")),
                Pulse::start((b, "10.72.0.2:6001"), (a, "10.72.0.1:6001")),
            ],
            since: Instant::now(),
            memory: self.memory(),
            log: self.log_bytes(),
            counters: self.counters(),
            refused: self.refused(),
            flaps: self.flaps(),
        }
    }

    /// Does something while both daemons are reloaded again and again.
    pub(crate) fn under_reload<R>(&self, work: impl FnOnce() -> R) -> R {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for daemon in &self.daemons {
                        daemon
                            .request(Command::Reload)
                            .expect("a reload of the same file succeeds");
                    }
                    thread::sleep(Duration::from_millis(500));
                }
            });
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            stop.store(true, Ordering::Relaxed);
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Resident memory of both daemons in bytes.
    pub(crate) fn memory(&self) -> [u64; 2] {
        self.daemons.each_ref().map(|daemon| {
            let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()));
            let status = status.expect("the daemon runs");
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let kilobytes = line.and_then(|line| line.split_whitespace().next()).unwrap();
            kilobytes.parse::<u64>().unwrap() << 10
        })
    }

    fn flaps(&self) -> [Vec<u64>; 2] {
        self.daemons.each_ref().map(|daemon| {
            let paths = daemon.connection("tunnel").paths.into_iter();
            paths.map(|path| path.liveness.map_or(0, |liveness| liveness.flaps)).collect()
        })
    }

    fn log_bytes(&self) -> [u64; 2] {
        self.daemons.each_ref().map(|daemon| daemon.log().len() as u64)
    }

    /// Ends the measurement. The correct peers must not have noticed: every path is up and where it was, nearly no packet is lost, memory and log are
    /// as they were, nothing panicked.
    pub(crate) fn assert_undisturbed(&self, watch: Watch, what: &str) {
        self.assert_bounded(&watch, what);
        for (end, daemon) in self.daemons.iter().enumerate() {
            let connection = daemon.connection("tunnel");
            let session = connection.session.expect("a session");
            assert_eq!(session.peer, self.identities[1 - end].public(), "{what}");
            for (line, path) in (1..).zip(connection.paths) {
                assert_eq!(path.state, PathState::Up, "{what}: line {line}");
                let remote = format!("10.71.{line}.{}:4754", 2 - end).parse().unwrap();
                assert_eq!(path.remote, Some(remote), "{what}");
            }
        }
        assert_eq!(self.flaps(), watch.flaps, "{what}: a path died");
        let since = watch.since;
        for beats in watch.pulses.map(Pulse::end) {
            assert_carried(&beats, since, what);
        }
    }

    /// Asserts only what must be true even of a daemon whose paths are attacked from within.
    pub(crate) fn assert_bounded(&self, watch: &Watch, what: &str) {
        let grown = |now: [u64; 2], before: [u64; 2]| {
            [0, 1].map(|end| now[end].saturating_sub(before[end]))
        };
        let memory = grown(self.memory(), watch.memory);
        println!("{what}: grown by {} and {} KiB", memory[0] >> 10, memory[1] >> 10);
        assert!(memory.iter().all(|&bytes| bytes < GROWTH), "{what}: grown by {memory:?} bytes");
        let log = grown(self.log_bytes(), watch.log);
        let most = LOG[0] + LOG[1] * watch.since.elapsed().as_secs();
        assert!(log.iter().all(|&bytes| bytes < most), "{what}: {log:?} bytes of log");
        for daemon in &self.daemons {
            assert!(!daemon.log().contains("panicked"), "{what}: {}", daemon.log());
        }
    }

    /// Returns the counters of the receiver.
    pub(crate) fn counters(&self) -> Snapshot {
        self.daemons[1].show()
    }

    /// Returns the number of data packets and frames that the receiver has dropped, whatever the reason.
    pub(crate) fn refused(&self) -> u64 {
        let now = self.counters();
        let of_tunnel = now.connections.iter().filter(|it| it.name == "tunnel");
        let drops = of_tunnel.map(|it| &it.drops).chain([&now.daemon.drops]);
        let frames = REFUSED_FRAMES.iter().filter_map(|name| now.daemon.control.get(*name));
        drops.flat_map(|counters| counters.values()).chain(frames).sum()
    }

    /// Panics unless each counter that a program named has grown at the receiver by each of its kinds, or none where nothing was sent.
    pub(crate) fn assert_counted(&self, before: &Snapshot, said: &[Value]) {
        let now = self.counters();
        for kind in said {
            let counters = kind["counters"].as_array().into_iter().flatten();
            for counter in counters.filter_map(Value::as_str) {
                let grown = count(&now, counter) - count(before, counter);
                let sent = kind["sent"].as_u64().expect("how many were sent");
                assert_eq!(grown > 0, sent > 0, "{kind}: {counter} has grown by {grown}");
            }
        }
    }
}

/// A counter of the daemon, of its control protocol, or of its connection `tunnel`.
fn count(snapshot: &Snapshot, counter: &str) -> u64 {
    let connection = snapshot.connections.iter().find(|it| it.name == "tunnel").expect("tunnel");
    [&snapshot.daemon.drops, &snapshot.daemon.control, &connection.drops]
        .into_iter()
        .filter_map(|counters| counters.get(counter))
        .sum()
}

/// Nearly everything arrived, without a long pause.
pub(crate) fn assert_carried(beats: &Beats, since: Instant, what: &str) {
    let lost = beats.lost(since, Instant::now()).len();
    let gap = beats.longest_gap(since);
    println!("{what}: {lost} of {} lost, longest pause {gap:?}", beats.sent.len());
    assert!(lost * 100 <= beats.sent.len(), "{what}: {lost} of {} are lost", beats.sent.len());
    assert!(gap < GAP, "{what}: nothing arrived for {gap:?}");
}

/// Prints how fast each kind was, and panics where it was not as fast as it has to be.
pub(crate) fn assert_fast(said: &[Value], rate: u32) {
    for kind in said {
        let (sent, reached) = (&kind["sent"], kind["rate"].as_f64().unwrap());
        println!("{}: {sent} packets, {reached:.0} per second", kind["step"]);
        // Two busy cores may hold up the attacker as well.
        assert!(reached >= f64::from(rate) / 2.0, "{kind}: the attacker is too slow");
    }
}
