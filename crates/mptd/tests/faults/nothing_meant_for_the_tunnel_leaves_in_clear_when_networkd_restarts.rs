//! systemd-networkd itself, which manages the uplinks and removes every rule and every route without device that is not its own or the
//! kernel's when it starts.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::hosts::{Config, Host, Pair, wait_for, wait_within};
use crate::internet::{Flood, batch, both, deletion, hosts, rules, way_to_server, within_a_second};

/// Path of the program in Debian.
const NETWORKD: &str = "/lib/systemd/systemd-networkd";

/// The time in which it configures two interfaces.
const CONFIGURED: Duration = Duration::from_secs(30);

/// Runs it in a root where nothing but its own directories is different, without a bus. It waits for udev, which does not run here: these files
/// say that udev is done with each interface.
const START: &str = "
    mount -t tmpfs tmpfs /run && mount -t sysfs sysfs /sys &&
    mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp /run/udev/data &&
    cp $FILES/*.network /run/systemd/network && chown -R systemd-network /run/systemd/netif &&
    for index in /sys/class/net/*/ifindex; do echo I:1 > /run/udev/data/n$(cat $index); done &&
    exec $NETWORKD";

/// One that runs on a host.
struct Networkd {
    child: Child,
    directory: TempDir,
}

impl Networkd {
    /// Starts it, and waits until both lines are configured.
    fn start(host: &Host) -> Self {
        assert!(fs::exists(NETWORKD).unwrap(), "{NETWORKD} is missing: run scripts/setup test");
        let directory = tempfile::tempdir().unwrap();
        for line in 1..=2 {
            let text = format!(
                "[Match]\nName=line{line}\n[Network]\nAddress=10.71.{line}.1/24\nAddress=fd00:71:{line}::1/64\nIPv6AcceptRA=no\n\
                 [Route]\nGateway=10.71.{line}.2\nMetric={line}\n[Route]\nGateway=fd00:71:{line}::2\nMetric={line}\n"
            );
            fs::write(directory.path().join(format!("line{line}.network")), text).unwrap();
        }
        let log = File::create(directory.path().join("log")).unwrap();
        let mut unshare: Command = host.namespace.command("unshare").unwrap();
        unshare.args(["--mount", "sh", "-c", START]);
        unshare.env("FILES", directory.path()).env("NETWORKD", NETWORKD);
        unshare.env("SYSTEMD_LOG_LEVEL", "debug").env("SYSTEMD_LOG_TARGET", "console");
        let child = unshare.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let networkd = Self { child, directory };
        for line in ["line1", "line2"] {
            let configured = format!("{line}: State changed: configuring -> configured");
            wait_within(CONFIGURED, &format!("networkd configures {line}"), || {
                let log = networkd.log();
                assert!(!log.contains(&format!("{line}: Failed")), "{log}");
                log.contains(&configured).then_some(())
            });
        }
        networkd
    }

    /// Ends it as systemd does, and gives its log.
    fn stop(mut self) -> String {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        wait_for("networkd ends", || self.child.try_wait().unwrap());
        self.log()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

impl Drop for Networkd {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn restarts((pair, configs): (Pair, [Config; 2])) {
    let first = Networkd::start(&pair.a);
    let [a, _b] = pair.start(&configs);
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    let sorted = |version| {
        let mut rules = rules(&pair.a, version);
        rules.sort();
        rules
    };
    let before = ["-4", "-6"].map(sorted);
    let flood = Flood::start(&pair.a);
    first.stop();
    let second = Networkd::start(&pair.a);
    let removed = second.log().matches("Removing foreign rout").count();
    assert!(removed > 0, "networkd has removed nothing: {}", second.log());
    within_a_second("the rules are there again", || ["-4", "-6"].map(sorted) == before);
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
    let sent = flood.assert_nothing_in_clear();
    assert!(sent.iter().all(|&sent| sent > 100), "{sent:?}");
    assert!(a.log().contains("put back"), "{}", a.log());
    // Its own routes are in place, with the block.
    for version in ["-4", "-6"] {
        let routes = pair.a.ip(&format!("{version} route show default proto static"));
        assert_eq!(routes.lines().count(), 2, "{routes}");
    }
    second.stop();
}

#[test]
fn by_a_default_route() {
    restarts(hosts());
}

#[test]
fn to_a_network() {
    let (pair, mut configs) = hosts();
    let networks = vec!["10.72.0.2", "fd00:72::2", "203.0.113.0/24", "2001:db8:9::/48"];
    configs[0].connection("tunnel").set("networks", networks);
    restarts((pair, configs));
}

/// It sets its routes right after it has removed ours. The kernel looks for the way to their gateways as our rules say at that moment.
#[test]
fn and_its_routes_are_accepted_while_our_rules_are_away() {
    let (pair, configs) = hosts();
    let [_a, _b] = pair.start(&configs);
    let rules = pair.a.ip("-details -4 rule");
    let foreign = rules.lines().filter(|line| !line.contains("proto kernel"));
    let mut commands: Vec<_> = foreign.map(deletion).collect();
    assert!(!commands.is_empty(), "{rules}");
    commands.push("route add 10.99.0.0/24 via 10.71.1.2 dev line1".to_owned());
    batch(&pair.a, "-4", &commands);
    let route = pair.a.ip("route show 10.99.0.0/24");
    assert!(route.contains("via 10.71.1.2 dev line1"), "refused: {route:?}");
}
