//! `mpt top` and `mpt status --watch` are of use over ssh: they draw once a second, write no more than a slow line carries, and follow keys and the
//! size of the terminal at once.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::PathChange;

use crate::command_line::mpt;
use crate::hosts::{Daemon, Identity, Line, Pair, Stream};
use crate::support::authenticate;
use crate::terminal::Terminal;

/// For how long a screen is watched.
const WATCHED: Duration = Duration::from_secs(10);
/// Bytes per second that a line of 56 kbit/s carries.
const SLOW: usize = 7_000;
/// Changes that are not further apart belong to one drawing, of which a capture may show a part.
const ONE: Duration = Duration::from_millis(300);

fn tunnel(pair: &Pair) -> ([Daemon; 2], [Identity; 2]) {
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    (pair.start(&configs), identities)
}

/// Watches a terminal in which figures change all the time. Returns how often it was drawn, and how many bytes per second that took.
fn watch(terminal: &Terminal) -> (usize, usize) {
    let recording = terminal.record();
    let (start, mut drawn, mut last) = (Instant::now(), 0, None::<Instant>);
    let mut screen = terminal.screen();
    while start.elapsed() < WATCHED {
        thread::sleep(Duration::from_millis(50));
        let now = terminal.screen();
        if now != screen {
            if last.is_none_or(|last| last.elapsed() > ONE) {
                drawn += 1;
            }
            (screen, last) = (now, Some(Instant::now()));
        }
    }
    (drawn, recording.bytes() / start.elapsed().as_secs() as usize)
}

fn assert_fit_for_a_slow_line(what: &str, (drawn, bytes): (usize, usize)) {
    eprintln!("{what}: drawn {drawn} times in {WATCHED:?}, {bytes} bytes per second");
    // Once a second; a busy machine leaves some out.
    assert!((5..=12).contains(&drawn), "{what}: drawn {drawn} times in {WATCHED:?}");
    assert!((1..=SLOW).contains(&bytes), "{what}: {bytes} bytes per second");
}

#[test]
fn top_draws_once_a_second_and_answers_keys_at_once() {
    let pair = Pair::new(&[Line::default(); 2]);
    let ([a, _b], _identities) = tunnel(&pair);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    for size in [(80, 24), (200, 50)] {
        let terminal = Terminal::run(&mpt(&a, &["top"]), size);
        terminal.wait_for(&["tunnel up", "> line1", "\u{2588}"]);
        assert_fit_for_a_slow_line(&format!("mpt top at {size:?}"), watch(&terminal));
        for (key, expected) in [("Down", "> line2"), ("Up", "> line1"), ("?", "Keys of mpt top")] {
            let pressed = Instant::now();
            terminal.press(&[key]);
            terminal.wait_for(&[expected]);
            let took = pressed.elapsed();
            assert!(took < Duration::from_secs(1), "{key}: {took:?}");
        }
    }
    stream.end();
}

#[test]
fn the_status_is_repeated_on_terminals_of_every_size() {
    let pair = Pair::new(&[Line::default(); 2]);
    let ([a, _b], _identities) = tunnel(&pair);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let terminal = Terminal::run(&mpt(&a, &["status", "--watch"]), (80, 24));
    terminal.wait_for(&["tunnel up", "line1", "line2", "UPLINK"]);
    assert_fit_for_a_slow_line("mpt status --watch", watch(&terminal));
    stream.end();

    a.set_path("tunnel", "line2", PathChange { up: Some(false), ..PathChange::default() });
    terminal.wait_for(&["tunnel degraded", "! path line2 is out of service"]);
    // Lines that do not fit are counted, and the terminal wraps none.
    terminal.resize(20, 12);
    let screen = terminal.wait_for(&["tunnel degraded", "more lines"]);
    assert!(!screen.contains("UPLINK"), "{screen}");
    terminal.resize(80, 24);
    terminal.wait_for(&["UPLINK", "! path line2 is out of service"]);
    a.set_path("tunnel", "line2", PathChange { up: Some(true), ..PathChange::default() });
    let screen = terminal.wait_for(&["tunnel up"]);
    assert!(!screen.contains("out of service"), "nothing of before is left: {screen}");
}
