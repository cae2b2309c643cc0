//! Plans of sweeps: what is wrong is told with line and key; what is done is not done again.

use std::fs;

use mpt_sim::sweep::{Kind, Plan, TunnelPlan, run};

const PLAN: &str = r#"
profiles = ["ns3-2011", "rfc"]
treatments = ["none", "rack-tlp"]
controls = ["reno", "lia"]
differences-ms = [0, 200]
seeds = 2
packets = 200
"#;

#[test]
fn every_combination_that_exists_is_a_case() {
    // RACK-TLP is in one of the profiles only: 3 x 2 x 2 x 2.
    assert_eq!(Plan::parse(PLAN).unwrap().cases().len(), 24);
}

#[test]
fn faults_are_told_with_line_and_key() {
    let with = |from: &str, to: &str| Plan::parse(&PLAN.replace(from, to)).unwrap_err();
    for (fault, line, key) in [
        (with("seeds = 2", "seed = 2"), 6, "seed"),
        (with("seeds = 2", "seeds = 0"), 6, "seeds"),
        (with("seeds = 2", "seeds = \"two\""), 6, "seeds"),
        (with("[0, 200]", "[]"), 5, "differences-ms"),
        (with("[0, 200]", "[0, 70000]"), 5, "differences-ms"),
        (with("\"rack-tlp\"", "\"rack\""), 3, "treatments"),
        (with("packets = 200", "packets = 0"), 7, "packets"),
        (with("packets = 200", "losses-percent = [nan]"), 7, "losses-percent"),
        (with("packets = 200", "queues = [0]"), 7, "queues"),
        (with("packets = 200", "packets = "), 7, "packets"),
    ] {
        assert_eq!(fault.line, line, "{fault}");
        assert!(fault.what.contains(key), "{fault}");
    }
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.jsonl");
    let cases = Plan::parse(PLAN).unwrap().cases();
    assert_eq!(run(&cases[..10], &path, &|| {}).unwrap(), 10);
    // Killed within a line.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    assert_eq!(run(&cases, &path, &|| {}).unwrap(), 15);
    assert_eq!(run(&cases, &path, &|| {}).unwrap(), 0);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 24);
    fs::write(&path, "something else\n").unwrap();
    let error = run(&cases, &path, &|| {}).unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
}

const TUNNEL: &str = r#"
kind = "tunnel"
profiles = ["paper", "ours"]
rates-mbit = [[10, 10], [10, 5]]
delays-ms = [[0, 20]]
windows = [25, 400]
late = ["drop"]
seeds = 1
seconds = 4
"#;

#[test]
fn a_plan_says_what_it_is_about() {
    assert_eq!(Kind::of(PLAN), Ok(Kind::Study));
    assert_eq!(Kind::of(TUNNEL), Ok(Kind::Tunnel));
    let fault = Kind::of("seeds = 1\nkind = \"tunel\"").unwrap_err();
    assert_eq!(fault.line, 2, "{fault}");
    assert!(fault.what.contains("`kind`"), "{fault}");
}

#[test]
fn faults_of_the_tunnels_plans_are_told_with_line_and_key() {
    let with = |from: &str, to: &str| TunnelPlan::parse(&TUNNEL.replace(from, to)).unwrap_err();
    for (fault, line, key) in [
        (with("seeds = 1", "seed = 1"), 8, "seed"),
        (with("seconds = 4", "seconds = 3"), 9, "seconds"),
        (with("[10, 5]", "[10, 0]"), 4, "rates-mbit"),
        (with("[10, 5]", "[10]"), 4, "rates-mbit"),
        (with("[10, 5]", "[10, 5, 1]"), 4, "rates-mbit"),
        (with("[25, 400]", "[]"), 6, "windows"),
        (with("[25, 400]", "[65536]"), 6, "windows"),
        (with("\"drop\"", "\"lose\""), 7, "late"),
        (with("seconds = 4", "losses-percent = [-1]"), 9, "losses-percent"),
    ] {
        assert_eq!(fault.line, line, "{fault}");
        assert!(fault.what.contains(key), "{fault}");
    }
}

#[test]
fn a_sweep_of_the_tunnel_is_taken_up_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.jsonl");
    let cases = TunnelPlan::parse(TUNNEL).unwrap().cases();
    assert_eq!(cases.len(), 8);
    assert_eq!(run(&cases[..3], &path, &|| {}).unwrap(), 3);
    assert_eq!(run(&cases, &path, &|| {}).unwrap(), 5);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 8);
}
