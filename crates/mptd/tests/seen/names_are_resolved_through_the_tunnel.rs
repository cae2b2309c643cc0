//! `mpt join` has names resolved through the tunnel where that is asked for, and asks what is left open only who sits at a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command_line::program;
use crate::machines::{Machine, Scene};
use crate::terminal::Terminal;

/// Programs that stand for those of the system, and write down how they were called.
struct System {
    directory: TempDir,
}

impl System {
    /// `programs`: those that there are besides the usual ones. Each succeeds.
    fn with(programs: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for program in programs {
            let file = directory.path().join(program);
            let calls = directory.path().join("calls");
            let script = format!(
                "#!/bin/sh\necho \"{program} $*\" >>{calls}\ncase $1 in -a) cat >>{calls} ;; esac\n",
                calls = calls.display()
            );
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { directory }
    }

    fn path(&self) -> String {
        format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.directory.path().display())
    }

    /// Runs mpt on a machine of this system.
    fn mpt(&self, machine: &Machine, arguments: &[&str]) -> Output {
        machine.command(arguments).env("PATH", self.path()).output().unwrap()
    }

    /// Returns the calls of the programs, except those that see whether they work.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default();
        calls.lines().filter(|it| *it != "resolvectl status").map(str::to_owned).collect()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn by_systemd_resolved() {
    let scene = Scene::new(1);
    let line = scene.line(&[]);
    let (system, client) = (System::with(&["resolvectl", "resolvconf"]), &scene.clients[0]);
    let servers = ["--dns", "9.9.9.9", "--dns", "149.112.112.112"];
    let planned = system.mpt(client, &[&["join", "--dry-run", &line], &servers[..]].concat());
    let sentence = "have 9.9.9.9, 149.112.112.112 asked for names, through the tunnel (resolvectl)";
    assert!(said(&planned).contains(&format!("would {sentence}")), "{planned:?}");
    assert_eq!(system.calls(), [""; 0]);

    let joined = system.mpt(client, &[&["join", &line], &servers[..]].concat());
    assert!(joined.status.success() && said(&joined).contains(sentence), "{joined:?}");
    assert_eq!(
        system.calls(),
        ["resolvectl dns mpt0 9.9.9.9 149.112.112.112", "resolvectl domain mpt0 ~."]
    );
    let undone = system.mpt(client, &["setup", "undo"]);
    assert!(said(&undone).contains("resolve names as before: done"), "{undone:?}");
}

#[test]
fn by_resolvconf() {
    let scene = Scene::new(1);
    let line = scene.line(&[]);
    let (system, client) = (System::with(&["resolvconf"]), &scene.clients[0]);
    let joined =
        system.mpt(client, &["join", &line, "--dns", "9.9.9.9", "--network", "10.0.0.0/8"]);
    assert!(joined.status.success(), "{joined:?}");
    assert!(
        said(&joined).contains("note: the name server 9.9.9.9 is in no network that leads through"),
        "{joined:?}"
    );
    assert_eq!(system.calls(), ["resolvconf -a mpt0 -m 0 -x", "nameserver 9.9.9.9"]);
    system.mpt(client, &["setup", "undo"]);
    assert_eq!(system.calls().last().unwrap(), "resolvconf -d mpt0");
}

#[test]
fn not_where_nothing_can_do_it() {
    let scene = Scene::new(1);
    let line = scene.line(&[]);
    // None of the programs that manage name servers on this machine is in the PATH.
    let system = System::with(&[]);
    let tools = tempfile::tempdir().unwrap();
    let client = &scene.clients[0];
    let before = client.traces();
    let path = tools.path().to_str().unwrap();
    let output =
        client.command(&["join", &line, "--dns", "9.9.9.9"]).env("PATH", path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("neither systemd-resolved runs on this host nor is there resolvconf"),
        "{error}"
    );
    assert_eq!(client.traces(), before, "nothing was begun");
    drop(system);
}

/// Returns the command with which a terminal runs `mpt` on a machine.
fn at_a_terminal(machine: &Machine, system: &System, arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", machine.host.namespace.name(), "env"]);
    let directory: &Path = &machine.directory;
    let variables: [(&str, PathBuf); 3] = [
        ("MPT_DIRECTORY", directory.join("etc")),
        ("MPT_STATE", directory.join("state")),
        ("MPT_SOCKET", directory.join("mptd.sock")),
    ];
    for (name, value) in variables {
        command.arg(format!("{name}={}", value.display()));
    }
    command.arg(format!("PATH={}", system.path())).arg(program()).args(arguments);
    command
}

#[test]
fn who_sits_at_a_terminal_is_asked() {
    let scene = Scene::new(1);
    let line = scene.line(&[]);
    let (system, client) = (System::with(&["resolvectl"]), &scene.clients[0]);
    let terminal = Terminal::run(&at_a_terminal(client, &system, &["join", &line]), (120, 50));
    terminal.wait_for(&["name servers (addresses; none: as before):"]);
    terminal.press(&["9.9.9.9", "Enter"]);
    terminal.wait_for(&["direct or block? [direct]"]);
    terminal.press(&["block", "Enter"]);
    terminal.wait_for(&["ended with 0", "mpt up"]);
    let config = fs::read_to_string(client.directory.join("etc/mpt.toml")).unwrap();
    assert!(config.contains("fallback = \"block\""), "{config}");
    assert_eq!(system.calls()[0], "resolvectl dns mpt0 9.9.9.9");
    client.succeeds(&["setup", "undo"]);

    // With flags, nothing is left to ask.
    let line =
        crate::machines::line_of(&scene.server.succeeds(&["setup", "token", "--client", "b"]));
    let arguments = ["join", &line, "--no-dns", "--fallback", "direct"];
    let terminal = Terminal::run(&at_a_terminal(client, &system, &arguments), (120, 50));
    let screen = terminal.wait_for(&["ended with 0"]);
    assert!(!screen.contains("name servers") && !screen.contains("[direct]"), "{screen}");
}
