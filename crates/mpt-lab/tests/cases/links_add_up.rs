//! Two links together, by every method that can use both; one alone by other programs' tunnels.

use serde_json::json;

use crate::support::{Link, download, measure, mptcp, rtp, spec, tcp, tunnel};

const LINKS: [Link; 2] = [Link::new(20), Link::new(20)];

#[test]
fn in_a_tunnel() {
    let measured = measure(&spec(&LINKS, tunnel(4, 4, true), tcp(4)));
    let share = measured.metric("goodput_mbit") / 40.0;
    assert!((0.9..1.0).contains(&share), "{share}");
    for path in ["path1", "path2"] {
        assert!(measured.counter(&format!("a/path {path}/sent_packets")) > 3000);
        assert!(measured.counter(&format!("b/path {path}/received_packets")) > 3000);
    }
    assert!(measured.counter("b/reorder/in_order") > 6000);
    assert!(
        measured.metric("cpu_daemon_a_percent") > 0.0
            && measured.metric("cpu_daemon_b_percent") > 0.0
    );
    assert_eq!(measured.deviations(), [""; 0]);
}

#[test]
fn in_a_tunnel_as_in_the_papers_with_other_ip_versions() {
    let mut spec = spec(&LINKS, tunnel(6, 6, false), tcp(3));
    spec["method"]["connection"] =
        json!({ "early_release": false, "late": "drop", "window": 1000 });
    spec["method"]["paths_a"] = json!([{ "weight": 1 }, { "weight": 3 }]);
    spec["receive_steering"] = json!(true);
    let measured = measure(&spec);
    let [first, second] = ["path1", "path2"]
        .map(|path| measured.counter(&format!("a/path {path}/sent_packets")) as f64);
    let ratio = second / first;
    assert!((2.9..3.1).contains(&ratio), "{ratio}");
}

#[test]
fn in_multipath_tcp() {
    let measured = measure(&spec(&LINKS, mptcp(), tcp(4)));
    let share = measured.metric("goodput_mbit") / 40.0;
    assert!((0.85..1.0).contains(&share), "{share}");
    assert_eq!(measured.deviations(), [""; 0], "two subflows");

    let measured = measure(&spec(&LINKS, mptcp(), download("ftp", 5_000_000)));
    assert!(measured.metric("download_s") > 1.0);
    assert_eq!(measured.deviations().len(), 1, "no FTP server took part");
}

#[test]
fn but_not_in_tunnels_of_one_path() {
    for name in ["openvpn", "wireguard-go", "fastd"] {
        let method = json!({ "kind": "adapter", "name": name });
        let measured = measure(&spec(&LINKS[..1], method, tcp(3)));
        let share = measured.metric("goodput_mbit") / 20.0;
        assert!((0.8..0.97).contains(&share), "{name}: {share}");
        assert!(measured.metric("cpu_daemon_b_percent") > 0.0, "{name}");
        assert!(measured.0["environment"]["programs"][name].is_string(), "{name}");
    }
}

#[test]
fn nor_does_a_tunnel_have_to_be_ready_as_soon_as_its_device_is_there() {
    let adapters = tempfile::tempdir().unwrap();
    let first = "configure = [\n    [\"wg\",";
    let fails_once =
        r#"["sh", "-c", "test -e $dir/$end.again || { touch $dir/$end.again; exit 1; }"]"#;
    let text = include_str!("../../adapters/wireguard-go.toml");
    assert!(text.contains(first));
    let text = text.replace(first, &format!("configure = [{fails_once},\n    [\"wg\","));
    std::fs::write(adapters.path().join("slow.toml"), text).unwrap();
    let method = json!({ "kind": "adapter", "name": "slow" });
    let case = crate::support::Case::new(&spec(&LINKS[..1], method, tcp(1)));
    let output = case.command().arg("--adapters").arg(adapters.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn and_multipath_tcp_carries_nothing_but_tcp() {
    let case = crate::support::Case::new(&spec(&LINKS, mptcp(), rtp(1, 1)));
    let output = case.command().output().unwrap();
    assert!(!output.status.success());
    let flags = case.result().0["flags"].to_string();
    assert!(flags.contains("carries TCP only"), "{flags}");
}
