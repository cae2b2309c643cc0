//! 0, 1, 2 and 78, of the real program.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::hosts::{Daemon, Host, Pair};

fn mptd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mptd")).args(arguments).output().unwrap()
}

/// Runs it with a file of this text, and more arguments.
fn with_file(text: &str, more: &[&str]) -> (Output, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    fs::write(&file, text).unwrap();
    let arguments = [&["--config", file.to_str().unwrap()], more].concat();
    (mptd(&arguments), directory)
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

const GOOD: &str = r#"
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]

[[connection]]
name = "office"
networks = ["10.9.0.2"]

[[connection.path]]
name = "dsl"
local = "192.0.2.1"
remote = "198.51.100.1"
"#;

#[test]
fn a_good_file_is_0() {
    let (output, _) = with_file(GOOD, &["--check"]);
    assert_eq!(code(&output), Some(0), "{output:?}");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mpt.toml");
    let output = mptd(&["--config", example, "--check"]);
    assert_eq!(code(&output), Some(0), "{output:?}");
}

#[test]
fn a_wrong_command_line_is_2() {
    for arguments in [["--nonsense"].as_slice(), &["--config"], &["file"], &["--check", "--check"]]
    {
        let output = mptd(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(code(&mptd(&["--help"])), Some(0));
    assert_eq!(code(&mptd(&["--version"])), Some(0));
}

#[test]
fn a_bad_file_is_78_and_every_error_has_its_line() {
    let path = "[[connection.path]]\nname = \"dsl\"";
    let second = "[[connection]]\nname = \"home\"\nnetworks = [\"10.10.0.2\"]\n[[connection.path]]\n\
                  name = \"dsl\"\nlocal = \"192.0.2.1\"\nremote = \"198.51.100.1\"\n";
    let v6_in_v4 = GOOD.replace("local = \"192.0.2.1\"", "local = \"2001:db8::1\"");
    let bad = [
        ("weight", GOOD.to_owned() + "weight = 0\n"),
        ("window", GOOD.replace("networks", "window = 65536\nnetworks")),
        ("unknown", GOOD.to_owned() + "wieght = 3\n"),
        (
            "dsl",
            GOOD.replace(
                path,
                &format!("{path}\nlocal = \"192.0.2.9\"\nremote = \"198.51.100.1\"\n{path}"),
            ),
        ),
        ("office", GOOD.to_owned() + &second.replace("home", "office").replace("10.10", "10.11")),
        // Equal selectors.
        (
            "10.9.0.2",
            GOOD.to_owned() + &second.replace("10.10.0.2", "10.9.0.2") + "local_port = 5000\n",
        ),
        // One tuple, no keys.
        ("key", GOOD.to_owned() + second),
        ("2001:db8::1", v6_in_v4),
        ("mpt.toml", "[[connection".to_owned()),
    ];
    for (named, text) in bad {
        for more in [["--check"].as_slice(), &[]] {
            let (output, directory) = with_file(&text, more);
            assert_eq!(code(&output), Some(78), "{named}: {output:?}");
            let errors = String::from_utf8(output.stderr).unwrap();
            assert!(errors.contains(named), "{named}: {errors}");
            assert!(errors.contains("mpt.toml:"), "file and line: {errors}");
            drop(directory);
        }
    }
}

#[test]
fn a_missing_file_is_78() {
    for more in [["--check"].as_slice(), &[]] {
        let output = mptd(&[&["--config", "/nonexistent/mpt.toml"], more].concat());
        assert_eq!(code(&output), Some(78), "{output:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("/nonexistent/mpt.toml"));
    }
}

#[test]
fn a_refusal_of_the_system_is_1() {
    let pair = Pair::with_lines(1);
    let _taken = pair.a.udp("10.71.1.1:4754");
    let output = Daemon::run_to_end(&pair.a, &pair.configs()[0]);
    assert_eq!(code(&output), Some(1), "{output:?}");

    let host = Host::new("alone");
    let mut config = pair.configs()[0].clone();
    config.daemon().set("buffer_limit", "1 MiB");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    fs::write(&file, config.text(&directory.path().join("missing/deep/mptd.sock"))).unwrap();
    let mut command = host.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let output = command.arg("--config").arg(&file).output().unwrap();
    assert_eq!(code(&output), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("missing/deep"));
}
