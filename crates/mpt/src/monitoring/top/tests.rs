//! The screen on terminals of every size, and what keys do.

use mpt_api::PathChange;
use mpt_api::snapshot::{Liveness, Snapshot};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::view::Mode;
use super::*;
use crate::example;
use crate::monitoring::status::Summary;
use crate::monitoring::watched::history::History;
use crate::monitoring::watched::{Happened, Seen};

/// The time of the last answer, in seconds since 1970.
const NOW: u64 = 1_790_000_000;

/// Two connections, of which the first has a path whose rate has risen for 40 seconds, and one that is down.
fn snapshot() -> Snapshot {
    let mut snapshot = example::snapshot();
    let paths = &mut snapshot.connections[0].paths;
    let liveness = paths[1].liveness.expect("the example has it");
    paths[0].liveness = Some(Liveness { hears_us: true, we_hear: true, ..liveness });
    snapshot
}

fn seen(connection: &str) -> Seen {
    let mut snapshot = snapshot();
    let mut history = History::default();
    for second in 0..=40 {
        snapshot.connections[0].paths[0].sent.bits_per_second = second * 1_000_000;
        history.add(NOW - 40 + second, &snapshot);
    }
    let summary = Summary::of(&snapshot);
    let event = |number, text: &str| Happened {
        number,
        time_ms: (NOW - 10 + number) * 1_000,
        text: text.into(),
    };
    Seen {
        now: summary.clone(),
        last: summary,
        answered_ms: Some(NOW * 1_000),
        events: vec![event(1, "office lte: down (dead)"), event(2, "office: added")],
        drawn: history.of(connection, SPAN, NOW),
    }
}

fn view(seen: &Seen) -> View {
    let mut view = View::default();
    view.follow(seen);
    view
}

/// Returns what a terminal of this size shows.
fn screen(view: &View, seen: &Seen, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::frame(frame, view, seen)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(width.max(1)));
    let lines = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn press(view: &mut View, seen: &Seen, code: KeyCode) -> Next {
    let next = view.press(KeyEvent::new(code, KeyModifiers::NONE), seen);
    view.follow(seen);
    next
}

fn order(path: &str, up: bool) -> Order {
    Order {
        connection: "office".into(),
        path: path.into(),
        change: PathChange { up: Some(up), ..PathChange::default() },
    }
}

#[test]
fn a_terminal_of_80_columns_shows_tables_charts_and_events() {
    let seen = seen("office");
    insta::assert_snapshot!(screen(&view(&seen), &seen, (80, 24)));
}

#[test]
fn a_terminal_of_20_columns_shows_the_selected_path() {
    let seen = seen("office");
    insta::assert_snapshot!(screen(&view(&seen), &seen, (20, 40)));
}

#[test]
fn no_terminal_is_too_small() {
    let seen = seen("office");
    let mut view = view(&seen);
    for mode in ["", "?", "d"] {
        if let Some(key) = mode.chars().next() {
            press(&mut view, &seen, KeyCode::Char(key));
        }
        for width in (0..90).chain([200, 1_000]) {
            for height in [0, 1, 2, 3, 10, 24, 100] {
                screen(&view, &seen, (width, height));
            }
        }
        press(&mut view, &seen, KeyCode::Char('x'));
    }
}

#[test]
fn the_selected_path_is_always_on_the_screen() {
    let mut seen = seen("office");
    let path = seen.last.connections[0].paths[0].clone();
    let named = |number| crate::monitoring::status::Uplink {
        name: format!("path{number}"),
        ..path.clone()
    };
    seen.last.connections[0].paths = (0..50).map(named).collect();
    let mut view = view(&seen);
    for number in 0..50 {
        let shown = screen(&view, &seen, (80, 12));
        assert!(shown.contains(&format!("> path{number} ")), "{shown}");
        press(&mut view, &seen, KeyCode::Down);
    }
    assert_eq!(view.path(), Some("path0"), "after the last comes the first");
}

#[test]
fn a_change_is_given_only_after_a_yes() {
    let seen = seen("office");
    let mut view = view(&seen);
    assert_eq!(press(&mut view, &seen, KeyCode::Char('d')), Next::Look);
    let question = screen(&view, &seen, (120, 30));
    for expected in
        ["Take path dsl of connection office out of service?", "Nothing else carries its packets"]
    {
        assert!(question.contains(expected), "{question}");
    }
    assert_eq!(press(&mut view, &seen, KeyCode::Enter), Next::Look, "another key");
    assert_eq!(view.mode(), &Mode::Looking);

    press(&mut view, &seen, KeyCode::Char('d'));
    assert_eq!(press(&mut view, &seen, KeyCode::Char('y')), Next::Order(order("dsl", false)));
    press(&mut view, &seen, KeyCode::Down);
    press(&mut view, &seen, KeyCode::Char('u'));
    let question = screen(&view, &seen, (120, 30));
    assert!(question.contains("Take path lte of connection office into service? y:"), "{question}");
    assert_eq!(press(&mut view, &seen, KeyCode::Char('y')), Next::Order(order("lte", true)));
    view.say("path lte of connection office: in service".into());
    assert!(screen(&view, &seen, (80, 24)).contains("connection office: in service"));
    press(&mut view, &seen, KeyCode::Up);
    assert_eq!(view.message(), None);
}

#[test]
fn a_question_about_a_path_that_is_gone_is_withdrawn() {
    let mut seen = seen("office");
    let mut view = view(&seen);
    press(&mut view, &seen, KeyCode::Down);
    press(&mut view, &seen, KeyCode::Char('d'));
    seen.last.connections[0].paths.pop();
    view.follow(&seen);
    assert_eq!((view.mode(), view.path()), (&Mode::Looking, Some("dsl")));
}

#[test]
fn connections_follow_one_another_and_one_that_is_missing_is_named() {
    let office = seen("office");
    let mut view = view(&office);
    assert!(screen(&view, &office, (80, 24)).contains("connection 1 of 2"));
    press(&mut view, &office, KeyCode::Right);
    assert_eq!(view.connection(), Some("branch"));
    let branch = seen("branch");
    assert!(screen(&view, &branch, (80, 24)).contains("connection 2 of 2"));
    press(&mut view, &branch, KeyCode::Tab);
    assert_eq!(view.connection(), Some("office"));

    let mut view = View::new(Some("home".into()));
    view.follow(&office);
    assert!(screen(&view, &office, (80, 24)).contains("There is no connection home."));
    press(&mut view, &office, KeyCode::Char('d'));
    assert_eq!(view.mode(), &Mode::Looking, "there is no path");
    press(&mut view, &office, KeyCode::Left);
    assert_eq!(view.connection(), Some("office"));
}

#[test]
fn every_key_that_the_help_lists_does_something() {
    let seen = seen("office");
    let mut view = view(&seen);
    press(&mut view, &seen, KeyCode::Char('?'));
    insta::assert_snapshot!(screen(&view, &seen, (80, 12)));
    assert_eq!(press(&mut view, &seen, KeyCode::Char('q')), Next::Look, "it closes the help");
    for code in [KeyCode::Char('q'), KeyCode::Esc] {
        assert_eq!(press(&mut view, &seen, code), Next::Quit);
    }
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(view.press(interrupt, &seen), Next::Quit);
}

#[test]
fn a_daemon_that_is_away_is_shown_as_it_was() {
    let mut seen = seen("office");
    seen.now = Summary::unreachable("/run/mpt/mptd.sock: cannot reach mptd");
    let shown = screen(&view(&seen), &seen, (80, 24));
    for expected in ["mpt unreachable", "cannot reach mptd", "is as of 14:13:20 UTC", "> dsl"] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    let never = Seen { last: seen.now.clone(), answered_ms: None, ..seen };
    let shown = screen(&view(&never), &never, (80, 24));
    assert!(shown.contains("mpt unreachable") && !shown.contains("as of"), "{shown}");
}
