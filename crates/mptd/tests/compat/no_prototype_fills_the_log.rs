//! A prototype takes a path down and up, or has a connection created, again and again. The log has so many lines about its connection, and says how many
//! were left out.

use crate::hosts::{Daemon, Pair};
use crate::prototype::{Creation, Prototype, Setup};

/// Commands that the prototype sends.
const COMMANDS: usize = 150;
/// Lines that may be written about a connection in a minute.
const LINES: usize = 100;

/// Has a prototype send its commands one after the other, each after the answer to the one before, and checks what the log has of them.
fn flood(setup: &Setup, line: &str, mut command: impl FnMut(usize, &mut Prototype)) {
    let pair = Pair::with_lines(2);
    let (mut daemon, mut prototype): (Daemon, Prototype) = setup.start(&pair);
    for number in 0..COMMANDS {
        prototype.forget();
        command(number, &mut prototype);
    }
    let about = daemon.lines(&["connection=tunnel"]).len();
    assert!(about <= LINES, "{about} lines about {COMMANDS} commands");
    let written = daemon.lines(&["connection=tunnel", line]).len();
    let left_out = daemon.left_out("connection tunnel");
    // Other things happened to the connection as well, when it began.
    assert!(written + left_out >= COMMANDS, "{written} and {left_out} of {COMMANDS}");
}

#[test]
fn by_taking_a_path_down_and_up() {
    flood(&Setup::default(), "reason=peer", |number, prototype| {
        let word = if number % 2 == 0 { "down" } else { "up" };
        prototype.tell(&format!("path {word} 10.71.1.2 10.71.1.1"));
        prototype.wait_for("an answer", |it| it["told"] == 0);
    });
}

#[test]
fn by_asking_for_a_creation() {
    let setup = Setup { create: Some(Creation::Theirs), ..Setup::default() };
    flood(&setup, "asks for the connection", |_, prototype| {
        prototype.tell("create");
        prototype.wait_for("an answer", |it| it.get("create").is_some());
    });
}
