//! The commands and configurations of docs/operations.md, sections 2 to 4, 7, 10 and 13, run as they stand there.

use std::net::IpAddr;

use crate::hosts::Host;
use crate::machines::carry;
use crate::operations::{
    TwoSites, check_and_start, commands, configurations, key, only, section, wait_until_shown,
};
use crate::shell::Shell;

/// The commands of section 10, with names of this host in the places of the words in capitals. In the end everything is as before.
fn change_at_run_time(shell: &mut Shell) {
    let text = section("## 10. Changes at run time");
    let mut commands: Vec<_> = text.split('`').skip(1).step_by(2).collect();
    commands.sort_unstable();
    commands.dedup();
    let names = [("CONNECTION", "b"), ("[--path PATH]", ""), ("PATH", "line2"), ("IF", "eth1")];
    let names = names.into_iter().chain([("TIME", "50ms"), ("198.51.100.1", "198.51.100.2")]);
    for (beginning, expected) in [
        ("mpt path set ", "path line2 of connection b: weight 3, weight_in 2, tier 1"),
        ("mpt path up ", "path line2 of connection b: in service"),
        ("mpt interface down ", "b"),
        ("mpt interface up ", "b"),
        ("mpt keepalive ", "b"),
        ("mpt path del ", "line2"),
        ("mpt path add ", "line2"),
        ("mpt reload", ""),
    ] {
        let command = names.clone().fold(only(&commands, beginning).to_owned(), |command, name| {
            command.replace(name.0, name.1)
        });
        let said = shell.succeeds(&command);
        assert!(said.contains(expected), "{command}: {said}");
    }
    wait_until_shown(shell, "mpt status", &["mpt up", "line2"]);
}

/// The number of commands in each section that has any. Each is run by a test: those of sections 1, 9, 11, 12 and 15 by tests of their own;
/// `mpt top` and `mpt dashboard` of section 7 by those about them, its unit by `make deb-test`; examples/controller of section 13 by
/// `sessions::a_central_controller_leaves_bad_paths`, and section 14 by `tunnel::a_foreign_end_of_gre_in_udp_is_talked_to`.
const COMMANDS: [(u32, usize); 10] =
    [(1, 11), (2, 7), (3, 3), (4, 6), (7, 5), (9, 3), (11, 3), (13, 5), (14, 4), (15, 6)];

#[test]
fn no_command_is_without_a_test() {
    // Other lines are those of files.
    let is_command = |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase());
    let counted = (1..=15).map(|number| {
        let lines = commands(section(&format!("## {number}. ")));
        (number, lines.into_iter().filter(|line| is_command(line)).count())
    });
    let counted: Vec<_> = counted.filter(|it| it.1 > 0).collect();
    assert_eq!(counted, COMMANDS, "a new command takes a test");
}

#[test]
fn two_sites_and_a_dashboard_inside_the_tunnel() {
    let sites = TwoSites::new();
    sites.a.add_address("lo", "192.168.1.1/24");
    sites.b.add_address("lo", "192.168.2.1/24");
    let commands = commands(section("## 2. Two sites"));
    assert_eq!(only(&commands, "mptd"), "mptd --check");
    let forward = only(&commands, "sysctl");
    assert_eq!(only(&commands, "systemctl"), "systemctl enable --now mptd");

    let (mut at_a, mut at_b) = (Shell::new(&sites.a), Shell::new(&sites.b));
    let keys = sites.keys(&mut at_a, &mut at_b);
    at_a.succeeds(forward);
    at_b.succeeds(forward);
    check_and_start(&mut at_a, &TwoSites::config(0, &keys[1]));
    check_and_start(&mut at_b, &TwoSites::config(1, &keys[0]));
    let shown = wait_until_shown(&mut at_a, only(&commands, "mpt show"), &["connection b: up"]);
    assert!(shown.contains("line1") && shown.contains("line2"), "{shown}");
    at_a.succeeds(&only(&commands, "ping").replace("ping ", "ping -c 2 -w 15 "));
    at_a.succeeds("ping -c 2 -w 15 -I 192.168.1.1 192.168.2.1");
    wait_until_shown(&mut at_a, "mpt status", &["mpt up", "sealed with"]);

    change_at_run_time(&mut at_a);

    let served = self::commands(section("### `mpt dashboard`"));
    at_a.succeeds(only(&served, "openssl"));
    at_a.start(only(&served, "mpt dashboard --listen"));
    let ask = "curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}'";
    let page = "http://10.9.0.1:4780/health";
    wait_until_shown(&mut at_b, &format!("{ask} {page}"), &["401"]);
    let token = at_a.succeeds("cat /etc/mpt/dashboard.token");
    let bearer = format!("{ask} --header 'Authorization: Bearer {}' {page}", token.trim());
    wait_until_shown(&mut at_b, &bearer, &["200"]);
}

#[test]
fn an_office_a_concentrator_and_a_controller() {
    let [office, concentrator, router] = ["office", "concentrator", "router"].map(Host::new);
    router.sysctl("net/ipv4/ip_forward", "1");
    concentrator.cable("eth0", &["198.51.100.1/24"], (&router, "server", &["198.51.100.254/24"]));
    concentrator.ip("route add default via 198.51.100.254");
    for (uplink, network, metric) in [("eth0", "10.1.0", 100), ("wwan0", "192.0.2", 200)] {
        let (own, gateway) = (format!("{network}.7/24"), format!("{network}.1/24"));
        office.cable(uplink, &[&own], (&router, &format!("to-{uplink}"), &[&gateway]));
        office.ip(&format!("route add default via {network}.1 dev {uplink} metric {metric}"));
    }
    let text = section("## 3. An office");
    let (keys, configs) = (commands(text), configurations(text));
    let [at_server, at_client] = configs[..] else { panic!("{configs:?}") };
    let [mut server, mut client] = [Shell::new(&concentrator), Shell::new(&office)];
    let [server_key, client_key] = [key(&mut server, &keys), key(&mut client, &keys)];
    check_and_start(&mut server, &at_server.replace("PUBLIC KEY OF THE OFFICE", &client_key));
    // This stands for the answer of the DNS.
    client.succeeds("echo 198.51.100.1 vpn.example.org >>/etc/hosts");
    let config = at_client.replace("PUBLIC KEY OF THE CONCENTRATOR", &server_key);
    check_and_start(&mut client, &config);
    wait_until_shown(&mut client, "mpt status", &["mpt up", "dsl", "lte"]);
    wait_until_shown(&mut server, "mpt show", &["connection anna.office: up"]);
    wait_until_shown(&mut server, "mpt client list", &["anna", "2 of 2"]);
    client.succeeds("ping -c 2 -w 15 10.8.0.1");
    // The network of the tunnel leads nowhere else, also while the device is gone.
    let routes = client.succeeds(only(&keys, "ip route show"));
    for expected in ["10.8.0.0/24 dev mpt0", "unreachable 10.8.0.0/24", "metric 1836056576"] {
        assert!(routes.contains(expected), "{expected} is not in {routes}");
    }

    // Section 13: the office steers the concentrator.
    let elsewhere = section("## 13. Daemons elsewhere");
    let (steering, configs) = (commands(elsewhere), configurations(elsewhere));
    let controller_key = key(&mut client, &steering);
    let table = configs[0].replace("PUBLIC KEY OF THE CONTROLLER", &controller_key);
    server.succeeds(&format!("cat >>/etc/mpt/mpt.toml <<'END-OF-FILE'\n{table}\nEND-OF-FILE"));
    server.succeeds("mpt reload");
    let show = only(&steering, "mpt --remote");
    let show = show.replace("PUBLIC_KEY_OF_THE_DAEMON", &server_key);
    let shown = client.succeeds(&show);
    assert!(shown.contains("connection anna.office: up"), "{shown}");

    // Section 4: everything through the concentrator.
    let internet = section("## 4. The Internet");
    let line = internet.split("```toml\n").nth(1).unwrap().lines().next().unwrap();
    let networks = line.split('#').next().unwrap().trim();
    let rules_before = client.succeeds("ip rule").lines().count();
    client.write("/etc/mpt/mpt.toml", &config.replace("networks = [\"10.8.0.0/24\"]", networks));
    client.succeeds("mpt reload");
    let in_section_4 = commands(internet);
    wait_until_shown(&mut client, "ip route get 203.0.113.9", &["dev mpt0"]);
    for command in
        in_section_4.iter().filter(|it| it.starts_with("sysctl") || it.starts_with("nft"))
    {
        server.succeeds(command);
    }
    let rules = client.succeeds(only(&in_section_4, "ip rule"));
    assert_eq!(rules.lines().count(), rules_before + 3, "three for IPv4: {rules}");
    let route = client.succeeds(only(&in_section_4, "ip route get"));
    assert!(route.contains("dev mpt0"), "{route}");
    let source = carry(&office, &router, "198.51.100.254");
    assert_eq!(source, "198.51.100.1".parse::<IpAddr>().unwrap(), "the concentrator's address");
}
