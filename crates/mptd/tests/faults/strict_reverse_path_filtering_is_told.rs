//! A kernel that would drop the packets of the other end: `--check` and the log say which line to write, and writing it helps.

use crate::hosts::{Config, Daemon, Host, Pair, wait_for};
use crate::support::{Stream, wait_for_use};

const LINE: &str = "net.ipv4.conf.line2.rp_filter = 2";

/// Paths by interface to one address, to which the main route leads over the first.
fn configs(pair: &Pair) -> [Config; 2] {
    pair.b.add_address("lo", "10.70.0.2/32");
    pair.b.sysctl("net/ipv4/conf/all/rp_filter", "0");
    for line in 1..=2 {
        let name = format!("line{line}");
        pair.b.sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "0");
        pair.a.sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "0");
        pair.a.ip(&format!("route add 10.70.0.2 via 10.71.{line}.2 dev {name} metric {line}"));
    }
    pair.a.sysctl("net/ipv4/conf/all/rp_filter", "1");
    let mut configs = pair.configs();
    for line in ["line1", "line2"] {
        configs[0]
            .path("tunnel", line)
            .unset("local")
            .set("interface", line)
            .set("remote", "10.70.0.2");
        configs[1].path("tunnel", line).set("local", "10.70.0.2");
    }
    configs
}

fn check(host: &Host, config: &Config) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    std::fs::write(&file, config.text(&directory.path().join("socket"))).unwrap();
    let mut command = host.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let output = command.arg("--check").arg("--config").arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn by_check_and_in_the_log() {
    let pair = Pair::with_lines(2);
    let configs = configs(&pair);
    let said = check(&pair.a, &configs[0]);
    assert!(said.contains(LINE) && said.contains("1 warning"), "{said}");
    assert!(!said.contains("conf.line1"), "answers leave by line1: {said}");
    let [a, b] = pair.start(&configs);
    wait_for("the log says so, too", || a.log().contains(LINE).then_some(()));

    // It is as they say, with and without.
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    wait_for_use(&b, &["line1", "line2"]);
    assert_eq!(a.path("tunnel", "line2").received.packets, 0, "dropped by the kernel");
    pair.a.sysctl("net/ipv4/conf/line2/rp_filter", "2");
    wait_for("they arrive", || (a.path("tunnel", "line2").received.packets > 20).then_some(()));
    stream.end();
    assert!(!check(&pair.a, &configs[0]).contains("rp_filter"));
}

#[test]
fn with_a_default_route_into_the_tunnel() {
    let pair = Pair::with_lines(2);
    let mut configs = configs(&pair);
    for line in 1..=2 {
        pair.a.ip(&format!("route del 10.70.0.2 dev line{line}"));
        pair.a.ip(&format!("route add default via 10.71.{line}.2 dev line{line} metric {line}"));
    }
    assert!(!check(&pair.a, &configs[0]).contains("conf.line1"));
    configs[0].connection("tunnel").set("networks", vec!["0.0.0.0/0"]);
    let said = check(&pair.a, &configs[0]);
    assert!(said.contains("net.ipv4.conf.line1.rp_filter = 2") && said.contains(LINE), "{said}");

    // Paths known by their addresses have rules that the kernel heeds.
    for line in 1..=2 {
        let name = format!("line{line}");
        configs[0].path("tunnel", &name).unset("interface").set("local", format!("10.71.{line}.1"));
    }
    assert!(!check(&pair.a, &configs[0]).contains("rp_filter"));
    let [a, _b]: [Daemon; 2] = pair.start(&configs);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    wait_for("answers arrive on both", || {
        let received = |line| a.path("tunnel", line).received.packets;
        (received("line1") > 20 && received("line2") > 20).then_some(())
    });
    stream.end();
}
