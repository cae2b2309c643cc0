//! A dry run of `mpt setup` and `mpt join` does nothing, and what they say they would do is what they do without `--dry-run`, to the last line of the
//! files.

use std::fs;

use crate::machines::{Machine, Scene, line_of};

/// A change that a dry run shows: what would be done, and the text that would be written.
#[derive(Debug)]
struct Planned {
    step: String,
    text: Vec<String>,
}

/// The changes that a dry run of these commands shows. Asserts that it makes none.
fn planned(machine: &Machine, arguments: &[&str]) -> Vec<Planned> {
    let before = machine.traces();
    let printed = machine.succeeds(&[arguments, &["--dry-run"]].concat());
    assert_eq!(machine.traces(), before, "mpt {arguments:?} --dry-run changes nothing");
    let mut planned: Vec<Planned> = Vec::new();
    for line in printed.lines().filter(|line| !line.starts_with("note: ")) {
        if let Some(step) = line.strip_prefix("would ") {
            planned.push(Planned { step: step.trim_end_matches(':').into(), text: Vec::new() });
        } else {
            let text = line.strip_prefix("    ").unwrap_or(line);
            planned.last_mut().expect(line).text.push(text.into());
        }
    }
    planned
}

/// The steps among what a command has printed, which begin with what they do.
fn steps(printed: &str) -> Vec<&str> {
    let verbs = ["make ", "write ", "set ", "start ", "enable ", "have "];
    printed.lines().filter(|line| verbs.iter().any(|verb| line.starts_with(verb))).collect()
}

/// Runs a command after its dry run, and asserts that it does what that has shown. Returns what it printed.
fn does_as_planned(machine: &Machine, arguments: &[&str]) -> String {
    let planned = planned(machine, arguments);
    let printed = machine.succeeds(arguments);
    let done = steps(&printed);
    assert!(done.len() >= 3, "{printed}");
    // Registering and printing the line change nothing here.
    let elsewhere = ["register ", "print "];
    let here = planned.iter().filter(|it| !elsewhere.iter().any(|verb| it.step.starts_with(verb)));
    assert_eq!(done, here.map(|it| it.step.as_str()).collect::<Vec<_>>(), "mpt {arguments:?}");

    let files = planned.iter().filter_map(|it| Some((it.step.strip_prefix("write ")?, &it.text)));
    let files: Vec<_> = files.collect();
    assert!(!files.is_empty(), "{planned:?}");
    for (file, shown) in files {
        let text = fs::read_to_string(file.split(" (").next().unwrap()).unwrap();
        // The server says which networks there are.
        let known = |line: &&str| !line.starts_with("networks = ");
        let written: Vec<_> = text.lines().filter(known).collect();
        let shown = shown.iter().map(String::as_str).filter(known);
        let shown: Vec<_> = shown.filter(|line| !line.starts_with('(')).collect();
        assert_eq!(written, shown, "{file}");
    }
    printed
}

/// Undoes everything after a dry run of that, and asserts that it removes what that has shown.
fn undoes_as_planned(machine: &Machine) {
    let planned = planned(machine, &["setup", "undo"]);
    let printed = machine.succeeds(&["setup", "undo"]);
    let done: Vec<_> = printed.lines().filter_map(|line| line.strip_suffix(": done")).collect();
    assert_eq!(done, planned.iter().map(|it| it.step.as_str()).collect::<Vec<_>>(), "{printed}");
    assert!(done.len() >= 4, "{printed}");
}

#[test]
fn of_a_server_and_a_client() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    server.host.sysctl("net/ipv4/ip_forward", "0");
    let printed = does_as_planned(server, &["setup", "server"]);
    does_as_planned(client, &["join", "--fallback", "block", "--no-dns", &line_of(&printed)]);
    undoes_as_planned(client);
    undoes_as_planned(server);
}

#[test]
fn of_two_routers() {
    let scene = Scene::new(1);
    let (first, second) = (&scene.server, &scene.clients[0]);
    for router in [first, second] {
        router.host.sysctl("net/ipv4/ip_forward", "0");
    }
    let networks = ["--here", "192.168.1.0/24", "--there", "192.168.2.0/24"];
    let printed = does_as_planned(first, &[&["setup", "site"][..], &networks].concat());
    does_as_planned(second, &["setup", "site", &line_of(&printed)]);
    undoes_as_planned(second);
    undoes_as_planned(first);
}
