//! The host of a server knows what fits the networks of a client whose paths carry less than its device: the routes to them have an MTU of their own.

use std::net::IpAddr;

use mpt_api::Command;

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::{Config, Daemon, Host, Identity, Pair, wait_for};

/// Bytes around an inner packet: IPv4, UDP, GRE with key and sequence number, the tag of a sealed packet.
const AROUND: usize = 20 + 8 + 12 + 16;

/// Returns the MTU of the route to a destination as `ip` shows it: `None` where that of the device holds.
fn mtu(host: &Host, to: &str) -> Option<usize> {
    let shown = host.ip(&format!("route get {to}"));
    assert!(shown.contains("dev mpt0"), "{shown}");
    let mut words = shown.split_whitespace().skip_while(|word| *word != "mtu");
    words.nth(1).map(|mtu| mtu.parse().unwrap())
}

/// Sends an echo request of `size` bytes that must not be fragmented. `Err` with what `ping` says: it was refused or is not answered.
fn ping(host: &Host, to: IpAddr, size: usize) -> Result<(), String> {
    let mut ping = host.namespace.command("ping").unwrap();
    let payload = (size - 28).to_string();
    let arguments = ["-M", "do", "-c", "1", "-W", "5", "-s", &payload, &to.to_string()];
    let output = ping.args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(said).unwrap()) }
}

/// A server, a client on its first line, and a second one that may have a network behind it, on a line of its own.
struct Scene {
    pair: Pair,
    narrow: Host,
    server: Daemon,
    anna: Daemon,
    /// The configuration of the second client.
    config: Config,
    _identities: [Identity; 3],
}

fn scene() -> Scene {
    let pair = Pair::with_lines(1);
    let narrow = Host::new("narrow");
    narrow.cable("line1", &["10.71.9.1/24"], (&pair.b, "line9", &["10.71.9.2/24"]));
    let identities = [Identity::new(), Identity::new(), Identity::new()];
    let mut config = server(&identities[1], &["10.71.1.2", "10.71.9.2"]);
    admit(&mut config, "anna", &identities[0]);
    admit(&mut config, "nora", &identities[2]);
    config.client("nora").set("networks", vec!["192.168.7.0/24"]);
    let server = Daemon::start(&pair.b, &config);
    server.wait_until_answering();
    let mut config = client(&identities[0], &identities[1]);
    config.lay_path("office", 1, 1);
    let anna = Daemon::start(&pair.a, &config);
    let mut config = client(&identities[2], &identities[1]);
    config.path("office", "line9").set("local", "10.71.9.1").set("remote", "10.71.9.2");
    created(&server, "anna.office");
    Scene { pair, narrow, server, anna, config, _identities: identities }
}

#[test]
fn and_packets_to_others_are_not() {
    let mut scene = scene();
    scene.config.path("office", "line9").set("mtu", 640);
    let nora = Daemon::start(&scene.narrow, &scene.config);
    created(&scene.server, "nora.office");
    let host = &scene.pair.b;
    let [anna, small] = [&scene.anna, &nora].map(assigned);
    let fits = 640 - AROUND;
    for to in ["192.168.7.1", &small.to_string()] {
        wait_for(&format!("the route to {to} has an MTU"), || {
            (mtu(host, to) == Some(fits)).then_some(())
        });
    }
    assert_eq!(mtu(host, &anna.to_string()), None);
    // Whatever makes the routes anew keeps it.
    scene.server.request(Command::Reload).unwrap();
    assert_eq!(mtu(host, "192.168.7.1"), Some(fits));
    ping(host, small, fits).unwrap();
    let said = ping(host, small, fits + 1).unwrap_err();
    assert!(said.contains("message too long, mtu=584"), "{said}");
    assert_eq!(scene.server.drops("nora.office", "too_big"), 0, "the kernel refused it before");
    ping(host, anna, 1500 - AROUND).unwrap();
    // A route that another program removes is put back as it was.
    host.ip("route del 192.168.7.0/24 dev mpt0");
    wait_for("the route is back", || {
        let shown = host.ip("route show 192.168.7.0/24");
        shown.contains("dev mpt0").then_some(())
    });
    assert_eq!(mtu(host, "192.168.7.1"), Some(fits));
}

#[test]
fn as_long_as_its_paths_carry_less() {
    let scene = scene();
    let host = &scene.pair.b;
    // IPv6 goes from an interface of 1000 bytes, whoever uses it.
    let routes = || host.ip("-4 route show table all");
    let before = routes();
    let nora = Daemon::start(&scene.narrow, &scene.config);
    created(&scene.server, "nora.office");
    let small = assigned(&nora).to_string();
    assert_eq!((mtu(host, &small), mtu(host, "192.168.7.1")), (None, None));
    let socket = host.udp("10.72.0.2:0");
    for line in [1000, 900] {
        host.ip(&format!("link set line9 mtu {line}"));
        for to in ["192.168.7.1", &small] {
            wait_for(&format!("the route to {to} follows the line to {line}"), || {
                // It is noticed by packets that do not fit. Later the kernel refuses them.
                let _ = socket.send_to(&[0; 1400], format!("{small}:9"));
                (mtu(host, to) == Some(line - AROUND)).then_some(())
            });
        }
    }
    nora.stop();
    wait_for("its routes went with it", || (routes() == before).then_some(()));
}
