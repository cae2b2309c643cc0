//! `mpt top` on a host that is reached by a real ssh over a slow link: 64 kbit/s with a round trip of 300 ms.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::DownReason;
use mpt_link::{Bitrate, Params, QueueLimit};

use crate::command_line::mpt;
use crate::hosts::{Host, Line, Pair, Stream, Way, wait_within};
use crate::slow_cable::SlowCable;
use crate::ssh::SshServer;
use crate::support::{authenticate, wait_until_down};
use crate::terminal::Terminal;

/// The device at either end of the slow link.
const LINK: &str = "desk";
/// The rate of each direction of the slow link, in bits per second.
const RATE: u64 = 64_000;
/// The time for the login: a dozen round trips, and the processor time of the keys at either end.
const LOGIN: Duration = Duration::from_secs(60);
/// The time for which the screen is watched.
const WATCHED: Duration = Duration::from_secs(6);
/// The time in which the screen shows what a key or a path has caused: two drawings.
const SHOWN: Duration = Duration::from_secs(2);

/// Bytes that a host has given to the slow link, with their Ethernet headers: more than the link carries, if they wait for it.
fn sent(host: &Host) -> u64 {
    let shown = host.ip(&format!("-j -s link show dev {LINK}"));
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    shown[0]["stats64"]["tx"]["bytes"].as_u64().unwrap_or_else(|| panic!("no counter: {shown}"))
}

/// The outgoing rate of each path that a screen shows, such as `25.3M`.
fn rates(screen: &str) -> Vec<String> {
    let rate = |line: &str| {
        let mut words = line.trim_start_matches('>').split_whitespace();
        let is_path = words.next()?.starts_with("line") && words.next()? == "up";
        is_path.then(|| words.next().unwrap_or_default().to_owned())
    };
    screen.lines().filter_map(rate).collect()
}

/// Watches the screen. Returns how often its rates have changed.
fn changes(terminal: &Terminal) -> usize {
    let (start, mut changed) = (Instant::now(), 0);
    let mut last = rates(&terminal.screen());
    while start.elapsed() < WATCHED {
        thread::sleep(Duration::from_millis(100));
        let screen = terminal.screen();
        let now = rates(&screen);
        // A capture may show a part of a drawing.
        if now != last && now.len() == 2 {
            assert!(now.iter().any(|rate| rate.ends_with('M')), "megabits per second: {screen}");
            (changed, last) = (changed + 1, now);
        }
    }
    changed
}

/// Waits until this stands on the screen, which has to be soon.
fn shown_soon(terminal: &Terminal, expected: &str) {
    let start = Instant::now();
    terminal.wait_for(&[expected]);
    let took = start.elapsed();
    eprintln!("{expected:?} on the screen after {took:?}");
    assert!(took < SHOWN, "{expected:?} on the screen after {took:?}");
}

#[test]
#[ignore = "takes sshd: make seen-test"]
fn top_is_of_use_through_ssh_over_a_slow_link() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let [a, _b] = pair.start(&configs);
    let desk = Host::new("desk");
    let ends = [(&desk, "192.0.2.1/24"), (&pair.a, "192.0.2.2/24")];
    let (rate, delay) = (Bitrate::new(RATE), Duration::from_millis(150));
    let slow = Params { rate, delay, queue: QueueLimit::Packets(64), ..Params::default() };
    let _cable = SlowCable::lay(LINK, ends, slow);
    let server = SshServer::start(&pair.a, "192.0.2.2");
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let terminal = Terminal::run(&server.client(&desk, &mpt(&a, &["top"])), (80, 30));
    wait_within(LOGIN, "mpt top runs", || terminal.screen().contains("q: quit").then_some(()));
    let screen = terminal.wait_for(&["tunnel up", "> line1", "line2", "EVENTS", "q: quit"]);
    assert_eq!(rates(&screen).len(), 2, "{screen}");
    assert!(!terminal.is_plain(), "mpt top has a screen of its own");

    let (before, start) = (sent(&pair.a), Instant::now());
    let changed = changes(&terminal);
    let bytes = (sent(&pair.a) - before) / start.elapsed().as_secs();
    eprintln!("rates changed {changed} times in {WATCHED:?}, ssh sent {bytes} bytes per second");
    // Once a second; a busy machine leaves some out.
    assert!(changed >= 3, "rates changed {changed} times in {WATCHED:?}");
    let carries = RATE / 8;
    assert!((1..carries).contains(&bytes), "ssh sent {bytes} of {carries} bytes per second");

    terminal.press(&["Down", "d"]);
    shown_soon(&terminal, "Take path line2 of connection tunnel out of service?");
    terminal.press(&["y"]);
    wait_until_down(&a, "line2", Some(DownReason::Administrative));
    shown_soon(&terminal, "path line2 is out of service");
    terminal.press(&["u"]);
    shown_soon(&terminal, "Take path line2 of connection tunnel into service?");
    terminal.press(&["y"]);
    wait_until_down(&a, "line2", None);
    shown_soon(&terminal, "tunnel up");

    pair.swallow(1, Way::Both);
    wait_until_down(&a, "line1", Some(DownReason::Dead));
    shown_soon(&terminal, "path line1 is dead");

    terminal.press(&["q"]);
    let screen = terminal.wait_for(&["ended with 0", "icanon"]);
    assert!(!screen.contains("UPLINK"), "nothing of mpt top is left: {screen}");
    assert!(terminal.is_plain(), "the terminal is as it was");
    stream.end();
}
