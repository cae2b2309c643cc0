//! docs/operations.md: its sections, the commands and configurations in them, and the two sites of its first example.

use crate::hosts::{Host, wait_for};
use crate::shell::Shell;

/// The document.
const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// A part of the document: from the heading that begins so to the next one of its level.
pub(crate) fn section(heading: &str) -> &'static str {
    let text = OPERATIONS.split(&format!("\n{heading}")).nth(1).expect(heading);
    let level = heading.split(' ').next().unwrap();
    text.split(&format!("\n{level} ")).next().unwrap()
}

/// The commands of a text: lines that are indented by four spaces, without comments.
pub(crate) fn commands(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    let lines = outside.flat_map(str::lines).filter_map(|line| line.strip_prefix("    "));
    lines.map(|line| line.split("  #").next().unwrap().trim_end()).collect()
}

/// The configurations of a text.
pub(crate) fn configurations(text: &str) -> Vec<&str> {
    text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The only command that begins so.
pub(crate) fn only<'a>(commands: &[&'a str], beginning: &str) -> &'a str {
    let found: Vec<_> = commands.iter().filter(|it| it.starts_with(beginning)).collect();
    assert_eq!(found.len(), 1, "{beginning}: {commands:?}");
    found[0]
}

/// Makes a key by the commands that are named, and returns the public one.
pub(crate) fn key(shell: &mut Shell, commands: &[&str]) -> String {
    shell.succeeds(only(commands, "mpt genkey"));
    let public = shell.succeeds(only(commands, "mpt pubkey")).trim().to_owned();
    assert_eq!(public.len(), 44, "{public}");
    public
}

pub(crate) fn check_and_start(shell: &mut Shell, config: &str) {
    shell.write("/etc/mpt/mpt.toml", config);
    let checked = shell.succeeds("mptd --check");
    assert!(checked.contains(" 0 warnings"), "{checked}");
    shell.start("mptd");
}

/// Ends the daemon of a host, and starts another one with this configuration.
pub(crate) fn restart(shell: &mut Shell, config: &str) {
    shell.succeeds("kill $(pidof mptd)");
    wait_for("the daemon has ended", || (shell.run("pidof mptd").0 != 0).then_some(()));
    shell.write("/etc/mpt/mpt.toml", config);
    shell.start("mptd");
}

/// Returns a configuration without its `[connection.peer]`.
pub(crate) fn without_session(config: &str) -> String {
    let (before, rest) = config.split_once("[connection.peer]\n").expect(config);
    let (_, after) = rest.split_once("\n\n").expect(config);
    format!("{before}{after}")
}

pub(crate) fn wait_until_shown(shell: &mut Shell, command: &str, expected: &[&str]) -> String {
    wait_for(&format!("{expected:?} in {command}"), || {
        let (_, shown) = shell.run(command);
        expected.iter().all(|it| shown.contains(it)).then_some(shown)
    })
}

/// Returns the only block of code in a text that has this language.
pub(crate) fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let beginning = format!("```{language}\n");
    let mut blocks = text.split(&beginning).skip(1);
    let block = blocks.next().and_then(|rest| rest.split("```").next());
    assert!(blocks.next().is_none(), "a second block of {language}: {text}");
    block.unwrap_or_else(|| panic!("no block of {language}: {text}"))
}

/// Returns what a text has between single backticks, line by line.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The hosts of section 2, with a cable for each of their two lines.
pub(crate) struct TwoSites {
    pub(crate) a: Host,
    pub(crate) b: Host,
}

impl TwoSites {
    pub(crate) fn new() -> Self {
        let (a, b) = (Host::new("a"), Host::new("b"));
        a.cable("eth0", &["192.0.2.1/24"], (&b, "eth0", &["192.0.2.2/24"]));
        a.cable("eth1", &["198.51.100.1/24"], (&b, "eth1", &["198.51.100.2/24"]));
        Self { a, b }
    }

    /// Makes the keys of both hosts by the commands of section 2, and returns the public ones.
    pub(crate) fn keys(&self, at_a: &mut Shell, at_b: &mut Shell) -> [String; 2] {
        let commands = commands(section("## 2. Two sites"));
        [key(at_a, &commands), key(at_b, &commands)]
    }

    /// Returns the configuration of section 2 for host A (0) or B (1), with the public key of the other host.
    pub(crate) fn config(end: usize, key_of_peer: &str) -> String {
        let config = configurations(section("## 2. Two sites"))[end];
        let place = ["PUBLIC KEY OF B", "PUBLIC KEY OF A"][end];
        assert!(config.contains(place), "{config}");
        config.replace(place, key_of_peer)
    }

    /// Starts a daemon at both hosts, and waits until both paths carry packets.
    pub(crate) fn start(&self, at_a: &mut Shell, at_b: &mut Shell) -> [String; 2] {
        let keys = self.keys(at_a, at_b);
        check_and_start(at_a, &Self::config(0, &keys[1]));
        check_and_start(at_b, &Self::config(1, &keys[0]));
        wait_until_shown(at_a, "mpt status", &["mpt up"]);
        keys
    }
}
