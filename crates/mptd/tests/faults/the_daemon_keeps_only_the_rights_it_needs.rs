//! Another user, one capability, and the files it needs: with them everything works that changes at run time, and nothing else can be opened.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use mpt_api::{Command, PathState, Reply};
use mpt_core::control::PrivateKey;
use nix::unistd::{User, chown};

use crate::hosts::{Config, Daemon, Pair};
use crate::support::{wait_for_echo, wait_for_state};

/// A user that every system has.
const USER: &str = "nobody";
/// `CAP_NET_ADMIN` alone, as the kernel shows a set.
const NETWORK_ONLY: &str = "0000000000001000";
const NOTHING: &str = "0000000000000000";
/// Exit code for a configuration that cannot be used.
const EX_CONFIG: i32 = 78;

/// What the kernel says of each thread.
fn assert_rights(daemon: &Daemon, uid: u32) {
    let mut threads = 0;
    for thread in fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(value("Uid"), format!("{uid} {uid} {uid} {uid}"), "{status}");
        for set in ["CapPrm", "CapEff", "CapBnd"] {
            assert_eq!(value(set), NETWORK_ONLY, "{set} of {status}");
        }
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(value(set), NOTHING, "{set} of {status}");
        }
        assert_eq!(value("NoNewPrivs"), "1", "{status}");
        threads += 1;
    }
    assert!(threads > 1, "the data thread is one of them");
}

/// Asks for a connection whose key is in this file, and gives the answer.
fn connect_with_key(daemon: &Daemon, file: &Path) -> Result<Reply, mpt_api::Failure> {
    let peer = PrivateKey::from_seed([9; 32]).public();
    let toml = format!(
        "[[connection]]\nname = \"keyed\"\ndevice = \"mpt0\"\nkey = 9\nnetworks = [\"10.99.0.0/24\"]\n\
         [connection.peer]\npublic_key = \"{peer}\"\npsk_file = {file:?}\n\
         [[connection.path]]\nname = \"line2\"\nlocal = \"10.71.2.1\"\nremote = \"10.71.2.2\"\n"
    );
    daemon.request(Command::CreateConnection { toml })
}

/// A key file of this user in a directory that everybody may read.
fn key_of(user: &User, directory: &Path, name: &str) -> std::path::PathBuf {
    let file = directory.join(name);
    fs::write(&file, PrivateKey::from_seed([7; 32]).to_base64().as_bytes()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    chown(&file, Some(user.uid), Some(user.gid)).unwrap();
    file
}

fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// Two hosts, of which `a` has everything that takes rights: a name to resolve, an interface to bind to, a mark, a key.
fn configs(pair: &Pair, user: &str) -> [Config; 2] {
    let mut configs = pair.configs();
    configs[0].daemon().set("user", user);
    configs[0].path("tunnel", "line1").set("remote", "b.mpt.test");
    configs[0].path("tunnel", "line2").unset("local").set("interface", "line2");
    configs
}

fn run_as(user: &str) {
    let pair = Pair::with_lines(3);
    let mut configs = configs(&pair, user);
    configs.iter_mut().for_each(|config| config.remove("tunnel", Some("line3")));
    let account = User::from_name(user).unwrap().unwrap();
    let names = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(names.path(), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(names.path(), "127.0.0.1 localhost\n10.71.1.2 b.mpt.test\n").unwrap();

    let mut b = Daemon::start(&pair.b, &configs[1]);
    b.wait_until_up();
    // The key of this end has a directory of its own.
    let keys = open_directory();
    let private = key_of(&account, keys.path(), "private.key");
    configs[0].daemon().set("private_key_file", private.to_str().unwrap());
    let a = Daemon::start_with_names_as(&pair.a, &configs[0], names.path(), user);
    a.wait_until_answering();
    wait_for_state(&a, "line1", PathState::Up);
    wait_for_state(&a, "line2", PathState::Up);
    wait_for_echo(&pair.a, &pair.b);
    assert_rights(&a, account.uid.as_raw());

    // A reload opens the TUN driver, makes addresses and routes, and sockets.
    for config in &mut configs {
        config.device("mpt1").set("addresses", vec!["10.73.0.1/24"]);
        config.connection("tunnel").set("device", "mpt0");
    }
    configs[0].connection("more").set("device", "mpt1").set("key", 3);
    configs[0].connection("more").set("networks", vec!["10.74.0.0/24"]);
    configs[0].lay_path("more", 3, 1);
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    assert!(pair.a.link_exists("mpt1"));
    assert!(pair.a.ip("route show 10.74.0.0/24").contains("mpt1"));

    // The file is written by this user, and stays his.
    let set = Command::SetPath {
        connection: "tunnel".into(),
        path: "line2".into(),
        change: mpt_api::PathChange { weight: std::num::NonZeroU16::new(7), ..Default::default() },
    };
    a.request(set).unwrap();
    a.request(Command::SaveConnection { connection: "tunnel".into() }).unwrap();
    let saved = fs::read_to_string(a.config_file()).unwrap();
    assert!(saved.contains("weight = 7"), "{saved}");
    assert_eq!(fs::metadata(a.config_file()).unwrap().uid(), account.uid.as_raw());

    // Keys beside the configuration and beside those known at the start can be read. One that has the same owner and mode elsewhere cannot.
    let elsewhere = open_directory();
    let hidden = key_of(&account, elsewhere.path(), "other.psk");
    let failure = connect_with_key(&a, &hidden).unwrap_err();
    assert!(failure.message.contains("Permission denied"), "{failure}");
    let directory = a.config_file().parent().unwrap().to_owned();
    for directory in [directory.as_path(), keys.path()] {
        let near = key_of(&account, directory, "near.psk");
        connect_with_key(&a, &near).unwrap();
        a.request(Command::DeleteConnection { connection: "keyed".into() }).unwrap();
    }

    wait_for_echo(&pair.a, &pair.b);
    let (socket, log) = (a.socket(), a.log());
    assert!(!log.contains("ERROR"), "{log}");
    assert!(socket.exists());
    assert_eq!(fs::metadata(&socket).unwrap().uid(), account.uid.as_raw());
    // It is gone with its directory; what counts is that the daemon, while it ran, could undo all it did.
    let devices = || ["mpt0", "mpt1"].map(|name| pair.a.link_exists(name));
    assert_eq!(devices(), [true; 2]);
    a.stop();
    assert_eq!(devices(), [false; 2]);
    assert!(!pair.a.ip("rule").contains("fwmark"), "{}", pair.a.ip("rule"));
}

#[test]
fn as_another_user() {
    run_as(USER);
}

#[test]
fn as_root() {
    run_as("root");
}

#[test]
fn a_user_that_does_not_exist_is_told() {
    let pair = Pair::with_lines(1);
    let [mut config, _] = pair.configs();
    config.daemon().set("user", "nobody-of-that-name");
    let output = Daemon::run_to_end(&pair.a, &config);
    assert_eq!(output.status.code(), Some(EX_CONFIG));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no user \"nobody-of-that-name\""), "{said}");
}
