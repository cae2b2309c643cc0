//! `mpt import`: what it makes of the files of the papers' prototype is what mptd takes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use mpt_config::{self as config, AuthKeyFile, Config};
use tempfile::TempDir;

const INTERFACE: &str = "\
;;;;;;; a banner
[general]
tunnel_num   = 1
accept_remote = 0
cmdport_local = 60456
cmd_timeout = 25

[tun_0]
name = tun0
mtu = 1440
ipv4_addr = 10.0.0.2/24
ipv6_addr = ::1/0   # off
";

const CONNECTION: &str = "\
[connection]
name            = site
permission      = 3
ip_ver          = 4
ip_local        = 10.0.0.2
local_port      = 23456
local_cmd_port  = 60456
ip_remote       = 10.0.0.3
remote_port     = 23456
remote_cmd_port = 60456
path_count      = 2
network_count   = 1
status          = 0
reorder_window  = 900
max_buffdelay_msec = 300
auth_type       = 2
auth_key        = 00112233445566778899AABBCCDDEEFF

[path_0]
interface_name  = eth1
ip_ver          = 4
public_ipaddr   = private_ipaddr
private_ipaddr  = 10.1.1.2
gw_ipaddr       = 10.1.1.2
remote_ipaddr   = 10.1.1.3
keepalive_time  = 5
dead_time       = 11
weight_in       = 100
weight_out      = 50
cmd_default     = 1
status          = 0

[path_1]
interface_name  = eth2
public_ipaddr   = 203.0.113.7
private_ipaddr  = 10.2.2.2
gw_ipaddr       = 0.0.0.0
remote_ipaddr   = 10.2.2.3
keepalive_time  = 5
dead_time       = 11
weight_out      = 100
status          = 128

[net_0]
ip_ver = 4
src_addr = 0.0.0.0/0
dst_addr = 192.168.7.0/24
";

/// The listing printed in imareen2023, as far as it is a file.
const LISTED_INTERFACE: &str = "\
; ########## General information ##########
60456 # The number of local cmd UDP port
2 # Number of interfaces
1 # Accept remote request

; MPT software make mptsrv as a server
25 # cmd_timeout

; ############ Information tun0 ##############
tun0 # Name of tunnel interface
1440 # Maximum Transfer Unit
10.0.0.2/24 # IPv4 address and prefix length
";

const LISTED_CONNECTION: &str = "\
; ####### Connections Info. ########
1 # Connections Num.

; ####### Connection Details #######
MPT_Connection # Connection Name
3 # Permission Send (1)/Receive (2)
4 # The Version of IP
10.0.0.2 # Local_IP
50230 # Local_Port
10.0.0.3 # Remote_IP
50230 # RDP (Remote_Data_Port)
60456 # UDP Port Number_Remote
2 # Paths_Num.
0 # Networks_Num
5 # Time of Keepalive Message
5 # Dead_Timer (sec)
0 # Status of Connection
0 # Auth_Type
0 # Auth_Key
; ########### Path0 info. ##########
eth1 # Interface Name
4 # The Version of IP
10.1.1.2/24 # Public IP
10.1.1.2 # Gateway_IP
10.1.1.3/24 # Remote IP
5 # Keepalive Time
25 # Dead Time
100 # Weight_out
100 # Weight_in
1 # CMD_default
; ####### Path1 information ########
eth2 # Interface Name
4 # IP_Version
10.2.2.2/24 # Public IP
10.2.2.2 # Gateway_IP
10.2.2.3/24 # Remote IP
5 # Keepalive Time
25 # Dead Time
100 # Weight_out
1 # Weight_in
1 # CMD_default
0 # Path status
";

/// A directory as the prototype wants it, with these connection files.
fn original(interface: &str, connections: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let conf = directory.path().join("conf");
    fs::create_dir_all(conf.join("connections")).unwrap();
    fs::write(conf.join("interface.conf"), interface).unwrap();
    // A file that is no connection is not looked at.
    fs::write(conf.join("connections/conf.template"), "[nonsense").unwrap();
    for (name, text) in connections {
        fs::write(conf.join("connections").join(name), text).unwrap();
    }
    directory
}

fn import(directory: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt"));
    command.arg("import").arg(directory).args(more).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Imports into a file, has it checked as `mptd --check` does, and gives what it says, and the warnings of the import.
fn imported(original: &TempDir) -> (Config, Vec<String>) {
    let file = original.path().join("mpt.toml");
    let output = import(original.path(), &["--output", file.to_str().unwrap()]);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(text(&output.stdout), "");
    let checked = config::load(&file);
    let checked = checked.unwrap_or_else(|errors| {
        panic!("{errors}\n{}", fs::read_to_string(&file).unwrap_or_default())
    });
    let root = format!("mpt: {}/", original.path().display());
    let place = |line: &str| line.replace(&root, "");
    (checked.config, told.lines().map(place).collect())
}

#[test]
fn what_the_files_say_is_carried_over() {
    let original = original(INTERFACE, &[("site.conf", CONNECTION)]);
    let (config, warnings) = imported(&original);
    assert_eq!(warnings, [""; 0]);
    let device = &config.devices[0];
    assert_eq!((device.name.as_str(), device.mtu), ("tun0", Some(1440)));
    assert_eq!(device.addresses, ["10.0.0.2/24".parse().unwrap()]);

    let connection = &config.connections[0];
    assert_eq!(connection.name, "site");
    assert!(connection.sequence && connection.reorder.window == Some(900));
    assert_eq!(connection.reorder.max_delay().as_millis(), 300);
    let networks: Vec<_> = connection.networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.0.0.3/32", "192.168.7.0/24"]);

    let compat = connection.compat.as_ref().unwrap();
    assert_eq!(
        (compat.local.to_string(), compat.remote.to_string()),
        ("10.0.0.2".into(), "10.0.0.3".into())
    );
    assert_eq!((compat.command_port, compat.remote_command_port), (60456, 60456));
    assert_eq!((compat.keepalive.as_secs(), compat.dead.as_secs()), (5, 11));
    assert_eq!(compat.authentication_word(), "sha256");
    let Some(AuthKeyFile::File(file)) = &compat.auth_key_file else { panic!("{compat:?}") };
    assert_eq!(fs::read_to_string(file).unwrap(), "00112233445566778899AABBCCDDEEFF\n");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);

    let [first, second] = connection.paths.as_slice() else { panic!("two paths") };
    assert_eq!((first.local_port, first.remote_port), (23456, 23456));
    assert_eq!((first.weight, first.weight_in, first.up), (50, 100, true));
    assert_eq!((first.public, first.nat), (None, false));
    assert_eq!(first.remote_source_port, Some(23456), "from nowhere else");
    assert_eq!((second.weight, second.weight_in, second.up), (100, 1, false));
    assert_eq!(second.public, Some("203.0.113.7".parse().unwrap()));
    assert_eq!((second.nat, second.remote_source_port), (true, None));
}

#[test]
fn the_listing_of_the_paper_is_read() {
    let original = original(LISTED_INTERFACE, &[("IPv4.conf", LISTED_CONNECTION)]);
    let (config, warnings) = imported(&original);
    let connection = &config.connections[0];
    assert_eq!(connection.name, "MPT_Connection");
    assert_eq!(connection.networks, ["10.0.0.3/32".parse().unwrap()]);
    let compat = connection.compat.as_ref().unwrap();
    assert_eq!((compat.keepalive.as_secs(), compat.dead.as_secs()), (5, 25));
    assert_eq!(compat.authentication_word(), "none");
    let paths: Vec<_> = connection
        .paths
        .iter()
        .map(|it| {
            (
                it.local.unwrap().to_string(),
                it.remote.address().unwrap().to_string(),
                it.weight,
                it.weight_in,
            )
        })
        .collect();
    assert_eq!(
        paths,
        [
            ("10.1.1.2".to_owned(), "10.1.1.3".to_owned(), 100, 100),
            ("10.2.2.2".to_owned(), "10.2.2.3".to_owned(), 100, 1)
        ]
    );
    assert_eq!(connection.paths[0].local_port, 50230);
    assert_eq!(
        warnings,
        [
            "conf/interface.conf: a listing as printed in a paper, which no mptsrv reads",
            "conf/connections/IPv4.conf: a listing as printed in a paper, which no mptsrv reads",
            "conf/connections/IPv4.conf:21: the path has no status: taken as 0, up",
            "conf/interface.conf:10: accept_remote: nobody gets a connection here that is not in the file; see create and [[client]]",
            "conf/connections/IPv4.conf:5: the reorder window is not said: mptd's own is taken",
        ]
    );
}

/// Every oddity is told with its file and line; what cannot be used is left out.
#[test]
fn oddities_are_told() {
    let with = |changes: &[(&str, &str)]| {
        let mut text = CONNECTION.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        text
    };
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("= 23456", "= 027000")], "local_port = 027000 is octal to mptsrv: taken as 11776"),
        (&[("permission      = 3", "permission = 1")], "permission = 1 has no effect in mptsrv"),
        (&[("reorder_window  = 900", "reorder_window = 20000")], "makes mptsrv crash"),
        (
            &[("weight_out      = 50", "weight_out = 0")],
            "weight_out = 0 makes no sense: 1 is taken",
        ),
        (
            &[("auth_type       = 2", "auth_type = 7")],
            "auth_type = 7 lets everybody command mptsrv",
        ),
        (&[("auth_key        =", ";")], "no auth_key: mptsrv takes the key built into it"),
        (&[("path_count      = 2", "path_count = 3")], "path_count = 3, but there are 2"),
        (&[("path_count      = 2", "path_count = 1")], "[path_1] and those behind it are not used"),
        (
            &[("remote_ipaddr   = 10.2.2.3", "remote_ipaddr = 10.1.1.3")],
            "mptsrv uses one of them only",
        ),
        (
            &[("private_ipaddr  = 10.2.2.2", ";")],
            "no private_ipaddr: public_ipaddr 203.0.113.7 is taken",
        ),
        (&[("remote_ipaddr   = 10.2.2.3", ";")], "no remote_ipaddr: the path is left out"),
        (&[("dead_time       = 11", "dead_time = 4")], "dead_time differs between the paths: 11 s"),
        (
            &[("gw_ipaddr       = 10.1.1.2", "gw_ipaddr = 10.1.1.1")],
            "gw_ipaddr = 10.1.1.1: mptsrv makes a route",
        ),
        (
            &[("gw_ipaddr       = 10.1.1.2", "gateway_ipaddr = 10.1.1.2")],
            "gateway_ipaddr is not known",
        ),
        (&[("src_addr = 0.0.0.0/0", "src_addr = 192.168.1.0/24")], "src_addr is not taken over"),
        (
            &[("dst_addr = 192.168.7.0/24", "dst_addr = 192.168.7.1/24")],
            "192.168.7.1/24 has host bits",
        ),
        (
            &[("ip_local        = 10.0.0.2", "ip_local = 10.0.0.9")],
            "ip_local = 10.0.0.9 is no address of the tunnel",
        ),
        (&[("name            = site", "name = site of mine")], "becomes \"site-of-mine\""),
        (&[("max_buffdelay_msec = 300", "max_buffdelay_msec = 60000")], "is cut to 10000"),
        (
            &[("dst_addr = 192.168.7.0/24\n", "dst_addr = 192.168.7.0/24")],
            "the last line has no end",
        ),
        (
            &[("local_port      = 23456", "local_port = 0")],
            "the kernel chooses one that nobody knows",
        ),
    ];
    for (changes, expected) in cases {
        let original = original(INTERFACE, &[("site.conf", &with(changes))]);
        let (_, warnings) = imported(&original);
        let told = warnings.iter().any(|warning| warning.contains(expected));
        assert!(told, "{expected}: {warnings:#?}");
        assert!(warnings.iter().all(|warning| warning.starts_with("conf/")), "{warnings:#?}");
    }
}

#[test]
fn numbering_follows_the_window() {
    let off = CONNECTION.replace("reorder_window  = 900", "reorder_window = 0");
    let (config, _) = imported(&original(INTERFACE, &[("site.conf", &off)]));
    let connection = &config.connections[0];
    assert_eq!((connection.sequence, connection.reorder.window), (false, Some(0)));
}

#[test]
fn several_files_become_several_connections() {
    let other = CONNECTION
        .replace("10.0.0.3", "10.0.0.4")
        .replace("10.1.1.3", "10.1.1.4")
        .replace("10.2.2.3", "10.2.2.4")
        .replace("192.168.7.0", "192.168.8.0");
    // The third has the peer of the first, and never carries anything.
    let files = [("a.conf", CONNECTION), ("b.conf", &other), ("c.conf", CONNECTION)];
    let (config, warnings) = imported(&original(INTERFACE, &files));
    let names: Vec<_> = config.connections.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["site", "site-2"]);
    assert!(warnings.iter().any(|it| it.contains("c.conf") && it.contains("left out")));
}

#[test]
fn it_is_printed_unless_a_file_is_named() {
    let original = original(INTERFACE, &[("site.conf", CONNECTION)]);
    let output = import(&original.path().join("conf"), &[]);
    assert!(output.status.success());
    let toml = text(&output.stdout);
    assert!(toml.contains("auth_key_file = \"/etc/mpt/site.auth\""), "{toml}");
    assert!(!toml.contains("00112233"), "the key is not shown: {toml}");
    let told = text(&output.stderr);
    assert!(told.contains("write the auth_key into /etc/mpt/site.auth"), "{told}");
}

#[test]
fn nothing_is_overwritten() {
    let original = original(INTERFACE, &[("site.conf", CONNECTION)]);
    let file = original.path().join("mpt.toml");
    fs::write(&file, "mine").unwrap();
    let output = import(original.path(), &["--output", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_directory_without_such_files_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let output = import(empty.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("interface.conf"), "{output:?}");
}
