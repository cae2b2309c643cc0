//! NetworkManager itself, which manages the uplinks. It restarts, and it activates their profiles anew, which removes every route over them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::hosts::{Config, Host, Pair, wait_for, wait_within};
use crate::internet::{Flood, both, hosts, rules, way_to_server, within_a_second};

/// Directory into which `scripts/setup test` unpacks it. It is not installed, since it would take over the network of the machine.
const UNPACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/network-manager");

/// The time in which it starts, and in which it activates a profile.
const STARTED: Duration = Duration::from_secs(30);

/// Runs it with a bus of its own, in a root where nothing but its own directories is different. With a read-only `/sys` it does not wait for udev, which does not
/// run here.
const START: &str = r#"
    mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib &&
    mount -t sysfs sysfs /sys && mount -o remount,ro,bind /sys &&
    mkdir -p /run/dbus /run/NetworkManager/system-connections /var/lib/NetworkManager &&
    cp "$FILES"/*.nmconnection /run/NetworkManager/system-connections/ || exit
    dbus-daemon --config-file="$FILES/bus.conf" --nofork & bus=$!
    while [ ! -S /run/dbus/system_bus_socket ]; do sleep 0.01; done
    for LD_LIBRARY_PATH in "$UNPACKED"/usr/lib/*-linux-gnu*; do export LD_LIBRARY_PATH; done
    "$UNPACKED/usr/sbin/NetworkManager" --debug --config="$FILES/nm.conf" --config-dir="$FILES/none" & manager=$!
    trap 'kill $manager' TERM
    wait $manager; wait $manager; kill $bus; wait $bus"#;

/// Calls its command line in the root and with the bus of the process `$MANAGER`.
const NMCLI: &str = r#"
    for LD_LIBRARY_PATH in "$UNPACKED"/usr/lib/*-linux-gnu*; do export LD_LIBRARY_PATH; done
    exec nsenter --target "$MANAGER" --mount "$UNPACKED/usr/bin/nmcli" --wait 30 "$@""#;

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"#;

const SETTINGS: &str = "[main]\nplugins=keyfile\ndns=none\nauth-polkit=false\nno-auto-default=*\n";

/// One that runs on a host.
struct NetworkManager<'a> {
    host: &'a Host,
    child: Child,
    directory: TempDir,
}

impl<'a> NetworkManager<'a> {
    /// Starts it with profiles for both lines, and waits until it has taken up what is there.
    fn start(host: &'a Host) -> Self {
        let manager = Path::new(UNPACKED).join("usr/sbin/NetworkManager");
        assert!(manager.exists(), "{} is missing: run scripts/setup test", manager.display());
        let directory = tempfile::tempdir().unwrap();
        for line in 1..=2 {
            let text = format!(
                "[connection]\nid=line{line}\nuuid=0000000{line}-1111-4111-8111-111111111111\ntype=ethernet\ninterface-name=line{line}\n\
                 [ipv4]\nmethod=manual\naddress1=10.71.{line}.1/24,10.71.{line}.2\nroute-metric={line}\n\
                 [ipv6]\nmethod=manual\naddress1=fd00:71:{line}::1/64,fd00:71:{line}::2\nroute-metric={line}\n"
            );
            let profile = directory.path().join(format!("line{line}.nmconnection"));
            fs::write(&profile, text).unwrap();
            fs::set_permissions(&profile, fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::write(directory.path().join("bus.conf"), BUS).unwrap();
        fs::write(directory.path().join("nm.conf"), SETTINGS).unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let mut unshare: Command = host.namespace.command("unshare").unwrap();
        unshare.args(["--mount", "sh", "-c", START]);
        unshare.env("FILES", directory.path()).env("UNPACKED", UNPACKED);
        let output = log.try_clone().unwrap();
        let child = unshare.stdin(Stdio::null()).stdout(output).stderr(log).spawn().unwrap();
        let manager = Self { host, child, directory };
        wait_within(STARTED, "NetworkManager has started", || {
            manager.log().contains("startup complete").then_some(())
        });
        manager
    }

    /// Calls `nmcli`, and panics unless it succeeds.
    fn nmcli(&self, arguments: &[&str]) {
        let mut shell = self.host.namespace.command("sh").unwrap();
        shell.args(["-c", NMCLI, "nmcli"]).args(arguments);
        shell.env("UNPACKED", UNPACKED).env("MANAGER", self.child.id().to_string());
        let output = shell.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "nmcli {arguments:?}: {error}\n{}", self.log());
    }

    /// Ends it as a service manager does.
    fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        wait_for("NetworkManager ends", || self.child.try_wait().unwrap());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

impl Drop for NetworkManager<'_> {
    fn drop(&mut self) {
        // It may have ended.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.end();
        }
    }
}

/// Looks until two looks a second apart find the same, and returns that. The daemon sets the rule of a path that names no
/// interface a moment after it has begun.
fn settled<T: PartialEq>(mut look: impl FnMut() -> T) -> T {
    loop {
        let found = look();
        thread::sleep(Duration::from_secs(1));
        if look() == found {
            return found;
        }
    }
}

fn restarts((pair, configs): (Pair, [Config; 2])) {
    let manager = NetworkManager::start(&pair.a);
    for line in ["line1", "line2"] {
        manager.nmcli(&["connection", "up", line]);
    }
    let [a, _b] = pair.start(&configs);
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    let sorted = |version| {
        let mut rules = rules(&pair.a, version);
        rules.sort();
        rules
    };
    let before = settled(|| ["-4", "-6"].map(sorted));
    let flood = Flood::start(&pair.a);
    manager.stop();
    let manager = NetworkManager::start(&pair.a);
    manager.nmcli(&["device", "reapply", "line1"]);
    for line in ["line1", "line2"] {
        let down =
            format!("path down connection=tunnel path={line} from=up to=down reason=interface");
        assert!(!a.log().contains(&down), "it has left {line} alone so far: {}", a.log());
        manager.nmcli(&["connection", "up", line]);
        assert!(a.log().contains(&down), "it has removed the routes of {line}: {}", a.log());
    }
    within_a_second("the rules are there", || ["-4", "-6"].map(sorted) == before);
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
    for line in ["line1", "line2"] {
        within_a_second("its path is up", || {
            a.path("tunnel", line).state == mpt_api::PathState::Up
        });
    }
    let sent = flood.assert_nothing_in_clear();
    assert!(sent.iter().all(|&sent| sent > 100), "{sent:?}");
    manager.stop();
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
