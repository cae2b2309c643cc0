//! `mpt genkey`, `mpt pubkey` and `mpt genpsk`, which need no daemon.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use mpt_core::session::{PresharedKey, PrivateKey};

fn mpt(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mpt"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without reading all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn printed(args: &[&str], input: &str) -> String {
    let output = mpt(args, input);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error of a command that fails.
fn refused(args: &[&str], input: &str) -> String {
    let output = mpt(args, input);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    String::from_utf8(output.stderr).unwrap()
}

fn mode(file: &Path) -> u32 {
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_private_key_is_printed_and_has_a_public_one() {
    let text = printed(&["genkey"], "");
    let key: PrivateKey = text.parse().unwrap();
    let expected = format!("{}\n", key.public());
    assert_eq!(printed(&["pubkey"], &text), expected);
    assert_eq!(printed(&["pubkey", "-"], text.trim_end()), expected);
    assert_ne!(printed(&["genkey"], ""), text);
}

#[test]
fn key_files_are_for_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (private, psk) = (directory.path().join("private.key"), directory.path().join("psk"));
    assert_eq!(printed(&["genkey", "-o", private.to_str().unwrap()], ""), "");
    assert_eq!(printed(&["genpsk", "--output", psk.to_str().unwrap()], ""), "");
    assert_eq!((mode(&private), mode(&psk)), (0o600, 0o600));
    let key: PrivateKey = std::fs::read_to_string(&private).unwrap().parse().unwrap();
    let public = printed(&["pubkey", private.to_str().unwrap()], "");
    assert_eq!(public, format!("{}\n", key.public()));
    std::fs::read_to_string(&psk).unwrap().parse::<PresharedKey>().unwrap();
}

#[test]
fn a_key_in_use_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("private.key");
    std::fs::write(&file, "precious").unwrap();
    let said = refused(&["genkey", "-o", file.to_str().unwrap()], "");
    let expected = format!(
        "mpt: {}: File exists (os error 17); a key in use is not overwritten: remove it, or name another file\n",
        file.display()
    );
    assert_eq!(said, expected);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn what_is_no_key_is_told() {
    assert_eq!(
        refused(&["pubkey"], "hello\n"),
        "mpt: standard input: no private key: a key is 44 characters of base64, this text has 5\n"
    );
    assert_eq!(
        refused(&["pubkey", "/no/file"], ""),
        "mpt: /no/file: No such file or directory (os error 2)\n"
    );
    // However much there is.
    refused(&["pubkey"], &"A".repeat(1 << 20));
}

/// The daemon may run as a user of its own, to whom the directory belongs.
#[test]
fn a_key_that_root_makes_belongs_to_the_owner_of_its_directory() {
    const SOMEBODY: u32 = 65_534;
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(directory.path(), Some(SOMEBODY), Some(SOMEBODY))
        .expect("this test gives a directory away: run it as root");
    let file = directory.path().join("private.key");
    assert_eq!(printed(&["genkey", "-o", file.to_str().unwrap()], ""), "");
    let metadata = std::fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), mode(&file)), (SOMEBODY, SOMEBODY, 0o600));
}
