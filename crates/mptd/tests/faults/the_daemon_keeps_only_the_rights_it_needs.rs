//! Another user, one capability, and the files it needs: with them everything works that changes at run time, and nothing else can be opened.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use mpt_api::{Command, PathState, Reply};
use mpt_core::session::PrivateKey;
use nix::sys::signal::Signal;
use nix::unistd::{User, chown};

use crate::hosts::{Config, Daemon, Pair, wait_for};
use crate::support::{wait_for_echo, wait_for_state};

/// A user that every system has.
const USER: &str = "nobody";
/// `CAP_NET_ADMIN` alone, as the kernel shows a set.
const NETWORK_ONLY: &str = "0000000000001000";
const NOTHING: &str = "0000000000000000";
/// Exit code for a configuration that cannot be used.
const EX_CONFIG: i32 = 78;

/// Mode of the TUN driver's node where udev sets it.
const OF_UDEV: u32 = 0o666;
/// Mode of the node where the kernel or `mknod` made it.
const OF_ROOT: u32 = 0o600;

/// Asserts what the kernel says of each thread of a process, and gives the number of threads.
fn assert_rights(process: u32, uid: u32, capabilities: &str) -> usize {
    let mut threads = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(value("Uid"), format!("{uid} {uid} {uid} {uid}"), "{status}");
        for set in ["CapPrm", "CapEff", "CapBnd"] {
            assert_eq!(value(set), capabilities, "{set} of {status}");
        }
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(value(set), NOTHING, "{set} of {status}");
        }
        assert_eq!(value("NoNewPrivs"), "1", "{status}");
        // A filter (seccomp(2)).
        assert_eq!(value("Seccomp"), "2", "{status}");
        threads += 1;
    }
    assert_hidden(process);
    threads
}

/// Asserts that neither a core dump nor the files below `/proc` show the memory to a user without privileges.
fn assert_hidden(process: u32) {
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().collect::<Vec<_>>(), ["0", "0", "bytes"]);
    // They belong to root, whoever the process is, unless it may be dumped.
    let memory = fs::metadata(format!("/proc/{process}/mem")).unwrap();
    assert_eq!(memory.uid(), 0);
}

/// The processes that a process has started and that run still.
fn children(process: u32) -> Vec<u32> {
    let file = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(file).unwrap();
    children.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// The helper of a daemon whose user cannot open the TUN driver: root without any capability.
fn assert_helper(daemon: &Daemon) -> u32 {
    let [helper] = children(daemon.pid())[..] else { panic!("{:?}", children(daemon.pid())) };
    assert_eq!(assert_rights(helper, 0, NOTHING), 1);
    helper
}

fn runs(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
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

fn run_as(user: &str, node: u32) {
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
    let a = Daemon::start_with_names_as(&pair.a, &configs[0], names.path(), &account, node);
    a.wait_until_answering();
    wait_for_state(&a, "line1", PathState::Up);
    wait_for_state(&a, "line2", PathState::Up);
    wait_for_echo(&pair.a, &pair.b);
    let threads = assert_rights(a.pid(), account.uid.as_raw(), NETWORK_ONLY);
    assert!(threads > 1, "the data thread is one of them");
    let helper = (user != "root" && node == OF_ROOT).then(|| assert_helper(&a));
    assert_eq!(children(a.pid()).len(), helper.iter().len());

    // A reload opens the TUN driver, makes addresses and routes, and sockets.
    let without_more = configs[0].clone();
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
    // So does each of many; a device that was removed can be made again.
    let with_more = &configs[0];
    for _ in 0..3 {
        a.write_config(&without_more);
        a.request(Command::Reload).unwrap();
        assert!(!pair.a.link_exists("mpt1"));
        a.write_config(with_more);
        a.request(Command::Reload).unwrap();
        assert!(pair.a.link_exists("mpt1"));
    }

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
    assert!(!helper.is_some_and(runs));
}

#[test]
fn as_another_user() {
    run_as(USER, OF_UDEV);
}

#[test]
fn as_another_user_where_the_driver_belongs_to_root() {
    run_as(USER, OF_ROOT);
}

#[test]
fn as_the_user_that_a_service_manager_starts_it_as() {
    let pair = Pair::with_lines(1);
    let [config, _] = pair.configs();
    let account = User::from_name(USER).unwrap().unwrap();
    let daemon = Daemon::start_as(&pair.a, &config, &account);
    daemon.wait_until_answering();
    wait_for("its device", || pair.a.link_exists("mpt0").then_some(()));
    assert!(assert_rights(daemon.pid(), account.uid.as_raw(), NETWORK_ONLY) > 1);
    daemon.stop();
    assert!(!pair.a.link_exists("mpt0"));
}

#[test]
fn as_root() {
    run_as("root", OF_ROOT);
}

#[test]
fn the_helper_outlives_signals_to_the_group_and_not_the_daemon() {
    let pair = Pair::with_lines(1);
    let [mut config, _] = pair.configs();
    config.daemon().set("user", USER);
    let account = User::from_name(USER).unwrap().unwrap();
    let mut daemon =
        Daemon::start_with_names_as(&pair.a, &config, Path::new("/etc/hosts"), &account, OF_ROOT);
    daemon.wait_until_answering();
    wait_for("its device", || pair.a.link_exists("mpt0").then_some(()));
    let helper = assert_helper(&daemon);
    let process = nix::unistd::Pid::from_raw(helper.cast_signed());
    // A terminal sends SIGINT on ^C, and `kill -HUP $(pidof mptd)` reaches the helper as well.
    for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM] {
        nix::sys::signal::kill(process, signal).unwrap();
    }
    config.device("mpt1").set("addresses", vec!["10.73.0.1/24"]);
    config.connection("tunnel").set("device", "mpt0");
    daemon.write_config(&config);
    daemon.request(Command::Reload).unwrap();
    assert!(pair.a.link_exists("mpt1"));
    assert!(runs(helper));
    daemon.kill();
    wait_for("the helper ends", || (!runs(helper)).then_some(()));
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
