//! Section 9 of docs/operations.md: its commands print the events of a tunnel, and the log has the lines that stand there.

use serde_json::Value;

use crate::hosts::wait_for;
use crate::operations::{TwoSites, block, commands, only, quoted, section, wait_until_shown};
use crate::shell::Shell;

/// Replaces each number after a `=`, since every run has others.
fn without_numbers(line: &str) -> String {
    let word = |word: &str| match word.split_once('=') {
        Some((key, value)) if value.bytes().all(|it| it.is_ascii_digit()) => format!("{key}=N"),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the log of the daemon without time stamps and numbers.
fn log(shell: &mut Shell) -> Vec<String> {
    let log = shell.succeeds("cat /run/started.log");
    let message = |line: &str| without_numbers(line.split_once(' ').unwrap_or_default().1.trim());
    log.lines().map(message).collect()
}

/// Waits until the log has a line that contains this.
fn wait_for_line(shell: &mut Shell, expected: &str) {
    wait_for(expected, || log(shell).iter().any(|it| it.contains(expected)).then_some(()));
}

/// Starts each command of the section at a terminal, with its output in the file of the same number, and waits until each has printed an event.
fn start_monitors(shell: &mut Shell, commands: &[&str]) {
    shell.write("/etc/mpt/on-event", "#!/bin/sh\ncat");
    shell.succeeds("chmod +x /etc/mpt/on-event");
    for (number, command) in commands.iter().enumerate() {
        let script = format!("/run/monitor-{number}.sh");
        shell.write(&script, command);
        let at_terminal = format!("script --quiet --flush --command 'sh {script}'");
        shell.succeeds(&format!("{at_terminal} /run/monitor-{number} >/run/script.log 2>&1 &"));
    }
    let mut weight = 1;
    wait_for("every monitor has printed an event", || {
        weight = 3 - weight;
        shell.succeeds(&format!("mpt path set b line1 weight={weight}"));
        let all = (0..commands.len())
            .all(|it| shell.run(&format!("cat /run/monitor-{it}")).1.contains("line1"));
        all.then_some(())
    });
}

#[test]
fn for_people_programs_and_a_program_per_event() {
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    sites.start(&mut at_a, &mut at_b);
    let commands = commands(section("## 9. Events"));
    let [plain, filtered, each] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(plain, "mpt monitor");
    assert!(
        filtered.contains("| jq ") && each.ends_with("--exec /etc/mpt/on-event"),
        "{commands:?}"
    );
    start_monitors(&mut at_a, &commands);
    at_a.succeeds("mpt path down b line1");
    at_a.succeeds("mpt path up b line1");

    for (monitor, down, up) in [
        (0, "Z b line1: down (administrative), ", "Z b line1: up, "),
        (1, "line1 down\r\n", "line1 up\r\n"),
        (2, r#""state":"down","down":"administrative""#, r#""state":"up","down":null"#),
    ] {
        let said = wait_until_shown(&mut at_a, &format!("cat /run/monitor-{monitor}"), &[down]);
        let (_, after) = said.split_once(down).unwrap();
        if !after.contains(up) {
            wait_for(&format!("{up} from monitor {monitor}"), || {
                let said = at_a.succeeds(&format!("cat /run/monitor-{monitor}"));
                said.split_once(down).unwrap().1.contains(up).then_some(())
            });
        }
        let said = at_a.succeeds(&format!("cat /run/monitor-{monitor}"));
        assert_eq!(said.matches(down).count(), 1, "one command is one event: {said}");
    }
    let seen = at_a.succeeds("cat /run/monitor-2");
    let events: Vec<_> = seen.lines().filter(|it| it.starts_with('{')).collect();
    assert!(events.len() >= 3, "{seen}");
    for event in events {
        let event: Value = serde_json::from_str(event).unwrap();
        assert!(event["time_ms"].is_u64() && event["event"].is_string(), "{event}");
    }
}

#[test]
fn in_the_log_as_text_and_as_json() {
    let sites = TwoSites::new();
    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    let keys = sites.start(&mut at_a, &mut at_b);
    let text = section("## 9. Events");
    at_a.succeeds("mpt path down b line1");
    at_a.succeeds("mpt path up b line1");
    for line in block(text, "text").lines() {
        wait_for_line(&mut at_a, &without_numbers(line));
    }

    let quoted = quoted(text);
    let config = TwoSites::config(0, &keys[1]);
    // The last table is that of line2.
    at_a.write("/etc/mpt/mpt.toml", &format!("{}weight = 2\nmtu = 1400\n", config));
    at_a.succeeds("mpt reload");
    wait_for_line(&mut at_a, &without_numbers(only(&quoted, "configuration reloaded")));
    at_a.write("/etc/mpt/mpt.toml", "nonsense = 1");
    assert_eq!(at_a.run("mpt reload").0, 1);
    wait_for_line(&mut at_a, "nonsense: unknown key");
    wait_for_line(&mut at_a, only(&quoted, "not reloaded"));

    at_a.write("/etc/mpt/mpt.toml", &format!("{config}\n[daemon]\nlog_format = \"json\"\n"));
    at_a.succeeds("mpt reload");
    at_a.succeeds("mpt path down b line2");
    let line = wait_for("a line of JSON about line2", || {
        let log = at_a.succeeds("cat /run/started.log");
        let objects = log.lines().filter(|it| it.starts_with('{'));
        let mut objects = objects.map(|it| serde_json::from_str::<Value>(it).unwrap());
        objects.find(|it| it["message"] == "path down")
    });
    for (key, value) in [
        ("level", "INFO"),
        ("target", "mptd::daemon"),
        ("connection", "b"),
        ("path", "line2"),
        ("from", "up"),
        ("to", "down"),
        ("reason", "administrative"),
    ] {
        assert_eq!(line[key], value, "{line}");
    }
    assert!(line["timestamp"].as_str().is_some_and(|it| it.ends_with('Z')), "{line}");
}
