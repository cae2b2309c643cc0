//! A shell that asks while somebody types is told commands, options, and the names that the daemon knows.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mpt_api::{Client, Clients, Reply, Response, to_line};

use crate::example::snapshot;
use crate::fake::{FakeDaemon, mpt};

/// Returns the completions that bash gets for the last of these words.
fn told(socket: &Path, words: &[&str]) -> Vec<String> {
    let mut command = mpt();
    command.env("COMPLETE", "bash").env("MPT_SOCKET", socket).env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).args(["--", "mpt"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|word| !word.starts_with('-')).map(str::to_owned).collect()
}

fn with_daemon(words: &[&str], reply: Reply) -> Vec<String> {
    let daemon = FakeDaemon::answering(to_line(&Response::result(reply)));
    told(&daemon.socket, words)
}

fn known() -> Reply {
    Reply::Snapshot(Box::new(snapshot()))
}

#[test]
fn names_of_connections_and_paths() {
    for words in
        [&["show", ""][..], &["path", "up", ""], &["connection", "save", ""], &["status", ""]]
    {
        assert_eq!(with_daemon(words, known()), ["branch", "office"], "{words:?}");
    }
    assert_eq!(with_daemon(&["show", "of"], known()), ["office"]);
    assert_eq!(with_daemon(&["path", "down", "office", ""], known()), ["dsl", "lte"]);
    assert_eq!(with_daemon(&["path", "down", "branch", ""], known()), ["dsl"]);
    assert_eq!(with_daemon(&["interface", "up", ""], known()), ["wwan0"]);
}

#[test]
fn names_of_clients() {
    let anna = Client { name: "anna".into(), public_key: String::new(), connections: Vec::new() };
    let clients = Reply::Clients(Clients { clients: vec![anna] });
    assert_eq!(with_daemon(&["client", "disconnect", ""], clients), ["anna"]);
}

#[test]
fn commands_need_no_daemon() {
    let nowhere = Path::new("/nonexistent");
    assert_eq!(told(nowhere, &["sta"]), ["status"]);
    assert!(told(nowhere, &["path", ""]).contains(&"down".to_owned()));
    assert_eq!(
        told(nowhere, &["path", "up", ""]),
        [""; 0],
        "and where there is none, there are no names"
    );
}

/// A daemon that does not answer holds up nobody who types.
#[test]
fn a_daemon_that_hangs_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("mptd.sock");
    let _silent = UnixListener::bind(&socket).unwrap();
    let start = Instant::now();
    assert_eq!(told(&socket, &["show", ""]), [""; 0]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The file of the package, in a real bash.
#[test]
fn a_real_bash_completes_them() {
    let directory = tempfile::tempdir().unwrap();
    let made = mpt().arg("manual").arg(directory.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let script = directory.path().join("completions/bash/mpt.bash");
    let daemon = FakeDaemon::replying(known());
    let binary = Path::new(env!("CARGO_BIN_EXE_mpt")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let typed = r#"
        source "$1"
        COMP_WORDS=(mpt path up office "") COMP_CWORD=4 COMP_TYPE=9
        _clap_complete_mpt mpt "" office
        printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Command::new("bash")
        .args(["-c", typed, "bash"])
        .arg(&script)
        .env("PATH", path)
        .env("MPT_SOCKET", &daemon.socket)
        .output()
        .unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(
        words.starts_with("dsl\nlte\n"),
        "{words:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
