//! A path with a cap: what it carries is counted as its interface counts it, outlasts a daemon that is killed, and at the cap the path is left by
//! both ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{AtCap, Cap, CapCounts, DownReason, EventKind};
use nix::mount::{MsFlags, mount, umount};
use tempfile::TempDir;

use crate::hosts::{Config, Daemon, Host, Identity, Line, Pair, traffic, wait_for, wait_within};
use crate::support::{authenticate, share_equally, wait_until_down};

/// Inner bytes of a datagram.
const DATAGRAM: usize = 1200;

struct Scene {
    pair: Pair,
    configs: [Config; 2],
    _keys: [Identity; 2],
    state: TempDir,
}

impl Scene {
    /// Two lines with equal shares; `keys` are those of `line1` at `a`.
    fn new(keys: &[(&str, &str)]) -> Self {
        // Interfaces with offloads count a super-packet as one.
        let pair = Pair::new(&[Line::plain(), Line::plain()]);
        let mut configs = pair.configs();
        let keys_of_ends = authenticate(&mut configs);
        share_equally(&mut configs);
        let state = tempfile::tempdir().unwrap();
        configs[0].daemon().set("state_directory", state.path().to_str().unwrap());
        for &(key, value) in keys {
            configs[0].path("tunnel", "line1").set(key, value);
        }
        Self { pair, configs, _keys: keys_of_ends, state }
    }

    fn start(&self) -> [Daemon; 2] {
        self.pair.start(&self.configs)
    }

    /// Sends datagrams from `a` to `b`, and as many back.
    fn carry(&self, count: u64, per_second: u32) {
        let [a, b] = [(&self.pair.a, "10.72.0.1:5000"), (&self.pair.b, "10.72.0.2:5000")];
        let [at_a, at_b] = [a, b].map(|(host, address): (&Host, _)| host.udp(address));
        let [to_a, to_b] = [&at_a, &at_b].map(|socket| socket.local_addr().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| traffic::send_numbered(&at_a, to_b, 0..count, DATAGRAM, per_second));
            traffic::send_numbered(&at_b, to_a, 0..count, DATAGRAM, per_second);
        });
    }
}

fn cap(daemon: &Daemon) -> Cap {
    daemon.path("tunnel", "line1").cap.expect("the path has a cap")
}

/// Bytes of Ethernet frames that an interface has sent and received.
fn interface(host: &Host, name: &str) -> [u64; 2] {
    ["tx", "rx"].map(|way| {
        let file = format!("/sys/class/net/{name}/statistics/{way}_bytes");
        // The files of this namespace: those of the mount belong to another one.
        let shown = host.ip(&format!("-s -j link show {name}"));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown[0]["stats64"][way]["bytes"].as_u64().unwrap_or_else(|| panic!("{file}: {shown}"))
    })
}

/// Waits until everything that was sent has been booked: it is, twice a second.
fn settled(daemon: &Daemon) -> Cap {
    let mut last = cap(daemon);
    let mut since = Instant::now();
    wait_for("the counts stand still but for probes", || {
        let now = cap(daemon);
        if now.used > last.used + 20_000 {
            (last, since) = (now, Instant::now());
        }
        (since.elapsed() > Duration::from_millis(2100)).then_some(now)
    })
}

#[test]
fn what_is_counted_is_what_the_interface_counts() {
    let scene = Scene::new(&[("cap", "1 GB/month")]);
    let before = interface(&scene.pair.a, "line1");
    let [a, _b] = scene.start();
    scene.carry(4000, 4000);
    let cap = settled(&a);
    let after = interface(&scene.pair.a, "line1");
    for (way, counted, bytes) in
        [("sent", cap.sent, after[0] - before[0]), ("received", cap.received, after[1] - before[1])]
    {
        eprintln!("{way}: counted {counted}, the interface {bytes}");
        assert!(bytes > 4000 * DATAGRAM as u64 / 3, "{way}");
        // Frames have 14 bytes more than the packets in them, and there is ARP.
        let least = bytes - bytes / 50;
        assert!((least..=bytes).contains(&counted), "{way}: {counted} of {bytes}");
    }
    assert_eq!((cap.limit, cap.used), (1_000_000_000, cap.sent + cap.received));
    assert!(cap.saved && !cap.uncertain, "{cap:?}");
}

#[test]
fn a_daemon_that_is_killed_has_lost_a_second_at_most() {
    let scene = Scene::new(&[("cap", "1 GB/month")]);
    let carried = || interface(&scene.pair.a, "line1").iter().sum::<u64>();
    let at_first = carried();
    let [mut a, _b] = scene.start();
    let mut missing_before = 0.0;
    for _ in 0..3 {
        let socket = scene.pair.b.udp("10.72.0.2:0");
        let running = AtomicBool::new(true);
        let (carried, second) = thread::scope(|scope| {
            scope.spawn(|| {
                while running.load(Ordering::Relaxed) {
                    // In the end there is nobody to take it.
                    let _ = socket.send_to(&[0; DATAGRAM], "10.72.0.1:5000");
                    thread::sleep(Duration::from_micros(200));
                }
            });
            let received = |interface: [u64; 2]| interface[1];
            let (from, start) = (received(interface(&scene.pair.a, "line1")), Instant::now());
            // More than what may be lost, however slowly a busy machine sends it.
            wait_within(Duration::from_secs(60), "2 MB are carried", || {
                let bytes = received(interface(&scene.pair.a, "line1")) - from;
                (bytes > 2_000_000 && start.elapsed() > Duration::from_millis(2200)).then_some(())
            });
            let (before, start) = (received(interface(&scene.pair.a, "line1")), Instant::now());
            thread::sleep(Duration::from_millis(300));
            let bytes = received(interface(&scene.pair.a, "line1")) - before;
            let second = bytes as f64 / start.elapsed().as_secs_f64();
            a.kill();
            let carried = carried() - at_first;
            running.store(false, Ordering::Relaxed);
            (carried, second)
        });
        a.start_again(&scene.pair.a);
        a.wait_until_answering();
        let now = cap(&a);
        // Frames have 14 bytes more than the packets in them: a hundredth.
        let missing = carried as f64 * 0.99 - now.used as f64;
        let lost = missing - missing_before;
        missing_before = missing;
        eprintln!("carried {carried}, after SIGKILL {}, a second is {second:.0}", now.used);
        assert!(lost <= second.max(1e6), "{lost} of {second}");
        assert!(now.used > 1_000_000 && !now.uncertain, "{now:?}");
        a.wait_until_up();
    }
}

#[test]
fn at_its_cap_a_path_is_used_only_while_no_other_works() {
    let scene = Scene::new(&[("cap", "3 MB/day")]);
    let [a, b] = scene.start();
    let mut events = a.monitor();
    scene.carry(3000, 2000);
    let cap = settled(&a);
    assert!(cap.used >= 3_000_000, "{cap:?}");
    let of_cap: Vec<_> = events
        .by_ref()
        .filter(|it| matches!(it, EventKind::CapNear { .. } | EventKind::CapReached { .. }))
        .take_while(|it| !matches!(it, EventKind::CapReached { at_cap: AtCap::Backup, .. }))
        .collect();
    // It may pass several levels in a second: then the last is told.
    assert!(of_cap.len() <= 2, "{of_cap:?}");
    let sent = |daemon: &Daemon| daemon.path("tunnel", "line1").sent.packets;
    let before = [&a, &b].map(sent);
    scene.carry(500, 2000);
    assert_eq!([&a, &b].map(sent), before, "neither end uses it");
    assert!([&a, &b].iter().all(|it| it.path("tunnel", "line1").last_resort));

    a.set_path("tunnel", "line2", mpt_api::PathChange { up: Some(false), ..Default::default() });
    wait_until_down(&b, "line2", Some(DownReason::Peer));
    scene.carry(500, 2000);
    let after = [&a, &b].map(sent);
    assert!(after[0] >= before[0] + 490 && after[1] >= before[1] + 490, "{before:?} {after:?}");
    a.set_path("tunnel", "line2", mpt_api::PathChange { up: Some(true), ..Default::default() });

    let mut higher = scene.configs[0].clone();
    higher.path("tunnel", "line1").set("cap", "1 GB/day");
    a.reload(&higher);
    wait_for("it is used as before", || {
        (![&a, &b].iter().any(|it| it.path("tunnel", "line1").last_resort)).then_some(())
    });
    assert!(self::cap(&a).used > 3_000_000, "what was counted stays");
}

#[test]
fn at_its_cap_a_path_stops_if_the_file_says_so() {
    let keys = [("cap", "2 MB/day"), ("at_cap", "stop"), ("cap_counts", "sent")];
    let scene = Scene::new(&keys);
    let [mut a, b] = scene.start();
    scene.carry(6000, 2000);
    wait_until_down(&a, "line1", Some(DownReason::Cap));
    wait_until_down(&b, "line1", Some(DownReason::Peer));
    let cap = settled(&a);
    assert_eq!((cap.used, cap.counts), (cap.sent, CapCounts::Sent));
    // Two seconds of traffic at most: half of one until it is booked, and the rest for a busy machine.
    assert!(cap.sent < 2_000_000 + 2 * 1000 * 1300, "{cap:?}");
    assert_eq!(a.lines(&["path has reached its cap: it carries nothing until"]).len(), 1);
    a.kill();
    a.start_again(&scene.pair.a);
    a.wait_until_answering();
    wait_until_down(&a, "line1", Some(DownReason::Cap));
    assert!(self::cap(&a).used >= cap.used);
}

#[test]
fn at_its_cap_a_path_goes_on_if_the_file_says_so() {
    let scene = Scene::new(&[("cap", "2 MB/day"), ("at_cap", "warn")]);
    let [a, b] = scene.start();
    let mut events = a.monitor();
    scene.carry(3000, 2000);
    assert!(settled(&a).used >= 2_000_000, "{:?}", cap(&a));
    let reached = events.find(|it| matches!(it, EventKind::CapReached { .. }));
    assert!(matches!(reached, Some(EventKind::CapReached { at_cap: AtCap::Warn, .. })));
    assert_eq!(a.lines(&["WARN", "path has reached its cap: it goes on"]).len(), 1);

    let path = |daemon: &Daemon| daemon.path("tunnel", "line1");
    let before = [&a, &b].map(|it| path(it).sent.packets);
    scene.carry(500, 2000);
    for (daemon, before) in [&a, &b].into_iter().zip(before) {
        let now = path(daemon);
        assert!(now.down.is_none() && !now.last_resort, "{now:?}");
        // Its share is half of the packets.
        assert!(now.sent.packets >= before + 200, "{before} {now:?}");
    }
}

#[test]
fn damaged_counts_are_kept_and_said() {
    let scene = Scene::new(&[("cap", "1 GB/month")]);
    let [mut a, _b] = scene.start();
    scene.carry(1000, 2000);
    let before = settled(&a);
    a.kill();
    let state = scene.state.path();
    fs::write(state.join("caps.now"), "torn").unwrap();
    a.start_again(&scene.pair.a);
    a.wait_until_answering();
    // Not more than a minute of traffic is missing: the other file counts.
    assert!(!cap(&a).uncertain && cap(&a).used <= before.used);
    assert_eq!(fs::read_to_string(state.join("caps.now.damaged")).unwrap(), "torn");
    assert_eq!(a.lines(&["ERROR", "was damaged", "caps.now.damaged"]).len(), 1);

    a.kill();
    for file in ["caps.now", "caps.json"] {
        fs::write(state.join(file), [0; 4096]).unwrap();
    }
    a.start_again(&scene.pair.a);
    a.wait_until_answering();
    assert!(cap(&a).uncertain, "and it does not pass for nothing");
    assert_eq!(a.lines(&["ERROR", "have carried before is not known"]).len(), 1);
    assert!(state.join("caps.json.damaged").exists());
    wait_for("it is written anew", || {
        fs::read_to_string(state.join("caps.now")).unwrap().starts_with('{').then_some(())
    });
}

/// A file system of its own, which is soon full.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(at: &Path, size: &str) -> Self {
        mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some(size)).unwrap();
        Self(at.to_owned())
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let all = fs::write(self.0.join("filler"), vec![1; 1 << 20]);
        assert_eq!(all.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        umount(&self.0).unwrap();
    }
}

#[test]
fn a_full_disk_is_said_and_costs_nothing() {
    let scene = Scene::new(&[("cap", "1 GB/month")]);
    let disk = SmallDisk::new(scene.state.path(), "size=128k");
    disk.fill();
    let [mut a, _b] = scene.start();
    scene.carry(1000, 2000);
    let full = settled(&a);
    assert!(!full.saved && full.used > 1_000_000, "it is counted all the same: {full:?}");
    let errors = |a: &Daemon| a.lines(&["ERROR", "cannot be written"]).len();
    assert_eq!(errors(&a), 1, "said once, not every second: {}", a.log());
    disk.free();
    wait_for("it is written", || cap(&a).saved.then_some(()));
    assert_eq!(a.lines(&["are written again"]).len(), 1);

    // Once there is a file, its room is kept.
    disk.fill();
    scene.carry(1000, 2000);
    let counted = settled(&a);
    thread::sleep(Duration::from_millis(1100));
    assert!(cap(&a).saved);
    a.kill();
    a.start_again(&scene.pair.a);
    a.wait_until_answering();
    assert!(cap(&a).used >= counted.used, "{:?} {counted:?}", cap(&a));
    a.stop();
    drop(disk);
}

/// A host that cannot keep the counts says so, and carries data all the same.
#[test]
fn a_missing_directory_is_said() {
    let mut scene = Scene::new(&[("cap", "1 GB/month")]);
    let file = scene.state.path().join("file");
    fs::write(&file, "").unwrap();
    scene.configs[0].daemon().set("state_directory", file.to_str().unwrap());
    let [a, _b] = scene.start();
    scene.carry(200, 2000);
    assert!(!cap(&a).saved);
    assert_eq!(a.lines(&["ERROR", "cannot be written", "Not a directory"]).len(), 1, "{}", a.log());
    assert!(a.path("tunnel", "line1").sent.packets > 50);
}
