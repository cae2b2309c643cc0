//! Section 15 of docs/operations.md, command by command: two hosts run a stand-in of the prototype (`compat/mptsrv.py`), and are moved one
//! after the other. After each step the hosts reach each other through the tunnel.

use serde_json::json;

use crate::hosts::{Host, wait_for};
use crate::operations::{commands, configurations, key, only, quoted, section, wait_until_shown};
use crate::shell::Shell;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compat/mptsrv.py");
const KEY: &str = "00112233445566778899AABBCCDDEEFF";

/// One of the two hosts: the last number of its addresses, and of those of the other one.
struct Site {
    own: u8,
    other: u8,
}

impl Site {
    /// Writes the files of the original, as its administrator has them.
    fn write_files(&self, shell: &mut Shell) {
        let Self { own, other } = self;
        let interface = format!(
            "[general]\ntunnel_num = 1\naccept_remote = 0\ncmdport_local = 60456\n\
             [tun_0]\nname = tun0\nmtu = 1440\nipv4_addr = 10.0.0.{own}/24\n"
        );
        let path = |line: u8| {
            format!(
                "[path_{}]\ninterface_name = eth{line}\nip_ver = 4\n\
                 public_ipaddr = 10.{line}.{line}.{own}\nprivate_ipaddr = 10.{line}.{line}.{own}\n\
                 gw_ipaddr = 0.0.0.0\nremote_ipaddr = 10.{line}.{line}.{other}\n\
                 keepalive_time = 1\ndead_time = 11\nweight_in = 1\nweight_out = 1\nstatus = 0\n",
                line - 1
            )
        };
        let connection = format!(
            "[connection]\nname = site\npermission = 3\nip_ver = 4\n\
             ip_local = 10.0.0.{own}\nlocal_port = 23456\nlocal_cmd_port = 60456\n\
             ip_remote = 10.0.0.{other}\nremote_port = 23456\nremote_cmd_port = 60456\n\
             path_count = 2\nnetwork_count = 0\nstatus = 0\nreorder_window = 900\n\
             max_buffdelay_msec = 300\nauth_type = 2\nauth_key = {KEY}\n{}{}",
            path(1),
            path(2)
        );
        shell.succeeds("mount -t tmpfs tmpfs /opt && mkdir -p /opt/mpt/conf/connections");
        shell.write("/opt/mpt/conf/interface.conf", &interface);
        shell.write("/opt/mpt/conf/connections/site.conf", &connection);
    }

    /// Starts the stand-in, which ends when it is told to.
    fn start_original(&self, shell: &mut Shell) {
        let Self { own, other } = self;
        let paths = [1, 2].map(|line| {
            json!({
                "own": format!("10.{line}.{line}.{own}"),
                "remote": format!("10.{line}.{line}.{other}"),
                "weight": 1,
            })
        });
        let config = json!({
            "device": "tun0", "address": format!("10.0.0.{own}/24"),
            "local": format!("10.0.0.{own}"), "remote": format!("10.0.0.{other}"),
            "port": 23456, "remote_port": 23456,
            "command_port": 60456, "remote_command_port": 60456,
            "window": 900, "authentication": 2, "key": KEY, "template_key": KEY,
            "accept": false, "known": true, "keepalive": 1, "dead": 11, "paths": paths,
        });
        shell.succeeds("rm -f /run/original && mkfifo /run/original");
        shell.start(&format!("python3 -B {SCRIPT} '{config}' </run/original"));
        shell.succeeds("exec 3>/run/original");
        wait_until_shown(shell, "ip link show dev tun0", &["UP"]);
    }

    fn end_original(shell: &mut Shell) {
        shell.succeeds("echo quit >&3; exec 3>&-; wait");
    }

    /// Waits until packets travel both ways.
    fn reach_other(&self, shell: &mut Shell) {
        let ping = format!("ping -c 2 -i 0.2 -w 2 10.0.0.{}", self.other);
        wait_until_shown(shell, &ping, &[" 0% packet loss"]);
    }
}

/// Steps 1 and 2 at either host.
fn change_over(shell: &mut Shell, commands: &[&str]) {
    let imported = shell.succeeds(only(commands, "mpt import"));
    assert_eq!(imported, "", "nothing is odd about the files");
    shell.succeeds("mptd --check && test -s /etc/mpt/site.auth");
    Site::end_original(shell);
    let said = shell.succeeds(only(commands, "mpt doctor"));
    for port in [23456, 60456] {
        assert!(said.contains(&format!("filter     UDP port {port}: ")), "{said}");
    }
    // The rest of the name of the service is that of the program.
    shell.start(only(commands, "systemctl").trim_start_matches("systemctl restart "));
    wait_until_shown(shell, only(commands, "mpt show"), &["mptsrv", "path0 heard", "path1 heard"]);
}

#[test]
fn host_by_host_and_over_to_a_session() {
    let (a, b) = (Host::new("a"), Host::new("b"));
    for line in [1, 2] {
        let [own, other] = [2, 3].map(|end| format!("10.{line}.{line}.{end}/24"));
        let name = format!("eth{line}");
        a.cable(&name, &[&own], (&b, &name, &[&other]));
    }
    let (mut at_a, mut at_b) = (Shell::new(&a), Shell::new(&b));
    let [site_a, site_b] = [Site { own: 2, other: 3 }, Site { own: 3, other: 2 }];
    for (site, shell) in [(&site_a, &mut at_a), (&site_b, &mut at_b)] {
        site.write_files(shell);
        site.start_original(shell);
    }
    site_a.reach_other(&mut at_a);

    let text = section("## 15. Moving from the original");
    let (commands, configs, quoted) = (commands(text), configurations(text), quoted(text));
    assert_eq!(commands[1], "mptd --check");
    // As one that was ended by a signal leaves it.
    at_a.succeeds("ip route add 10.1.1.3 dev eth1");
    at_a.succeeds(only(&quoted, "ip route del"));
    change_over(&mut at_a, &commands);
    site_a.reach_other(&mut at_a);

    // The way back, and once more.
    assert_eq!(only(&quoted, "systemctl stop"), "systemctl stop mptd");
    at_a.succeeds("kill $(pidof mptd)");
    wait_for("mptd has ended", || (at_a.run("pidof mptd").0 != 0).then_some(()));
    site_a.start_original(&mut at_a);
    site_a.reach_other(&mut at_a);
    Site::end_original(&mut at_a);
    at_a.start("mptd");
    site_a.reach_other(&mut at_a);

    change_over(&mut at_b, &commands);
    site_a.reach_other(&mut at_a);

    let making = self::commands(section("## 2. Two sites"));
    let keys = [key(&mut at_a, &making), key(&mut at_b, &making)];
    let with_session = [
        configs[0].replace("PUBLIC KEY OF B", &keys[1]),
        configs[1].replace("PUBLIC KEY OF A", &keys[0]),
    ];
    for (shell, config) in [&mut at_a, &mut at_b].into_iter().zip(&with_session) {
        shell.write("/etc/mpt/mpt.toml", config);
        shell.succeeds(only(&commands, "mptd --check && mpt reload"));
    }
    wait_until_shown(&mut at_a, "mpt show", &["session   established", "data sealed with"]);
    wait_until_shown(&mut at_a, "mpt status", &["mpt up", "path0", "path1"]);
    for shell in [&mut at_a, &mut at_b] {
        shell.succeeds("rm /etc/mpt/*.auth && mptd --check && mpt reload");
    }
    site_a.reach_other(&mut at_a);
}
