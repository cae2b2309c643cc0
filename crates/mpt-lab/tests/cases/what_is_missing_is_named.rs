//! Nothing is made before all programs are there.

use crate::support::{Case, Link, download, ping, plain, spec, tcp};

#[test]
fn with_the_command_that_installs_it() {
    for (traffic, program, package) in [
        (tcp(2), "iperf3", "iperf3"),
        (ping(3, 10), "ping", "iputils-ping"),
        (download("http", 1000), "curl", "curl"),
        (download("http", 1000), "busybox", "busybox"),
    ] {
        let case = Case::new(&spec(&[Link::new(20)], plain(), traffic));
        let output = case.command().env("PATH", "/nonexistent").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(said.contains(&format!("{program} is missing: apt install {package}")), "{said}");
    }
}

#[test]
fn and_an_unknown_adapter_with_those_that_there_are() {
    let method = serde_json::json!({ "kind": "adapter", "name": "nosuchtunnel" });
    let case = Case::new(&spec(&[Link::new(20)], method, tcp(2)));
    let output = case.command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("wireguard-go"), "{said}");
}

#[test]
fn and_a_garbled_specification_with_its_file() {
    let mut spec = spec(&[Link::new(20)], plain(), tcp(2));
    spec["trafic"] = spec["traffic"].take();
    let output = Case::new(&spec).command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("spec.json"), "{said}");
}

#[test]
fn and_what_the_kernel_cannot_do() {
    let mut spec = spec(&[Link::new(20), Link::new(20)], plain(), tcp(2));
    spec["backend"] = serde_json::json!("kernel");
    // Two links that share a channel.
    spec["network"]["links"][1]["forward"] = serde_json::json!([0]);
    let output = Case::new(&spec).command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("shared"), "{said}");
}
