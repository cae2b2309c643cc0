use serde_json::json;

use crate::harness::{Emulator, Hosts};

fn refusal(plan: &serde_json::Value) -> String {
    let answer = Emulator::spawn().ask(plan);
    answer["Failed"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn with_what_is_wrong() {
    let hosts = Hosts::new();
    let plan = |cables| json!({"seed": 1, "channels": [], "cables": cables});
    let missing = refusal(&plan(vec![hosts.cable(0, &[0], &[])]));
    assert_eq!(missing, "cable cable: there is no channel 0");
    let mut cable = hosts.cable(0, &[], &[]);
    cable["ends"][1]["namespace"] = json!("/run/netns/mpt-nowhere");
    let nowhere = refusal(&plan(vec![cable]));
    assert!(nowhere.contains("open network namespace /run/netns/mpt-nowhere"), "{nowhere}");
    let mut cable = hosts.cable(0, &[], &[]);
    cable["ends"][0]["device"] = json!("lo");
    let taken = refusal(&plan(vec![cable]));
    assert!(taken.contains("device lo exists already"), "{taken}");
}

#[test]
fn and_a_schedule_of_changes_is_followed_when_it_is_started() {
    let hosts = Hosts::new();
    let lossy = json!({"Loss": {"Bernoulli": 1.0}});
    let params = json!(mpt_link::Params::default());
    let channel = json!({"params": params, "schedule": [[{"secs": 0, "nanos": 0}, lossy]]});
    let plan = json!({"seed": 1, "channels": [channel], "cables": [hosts.cable(0, &[0], &[])]});
    let mut emulator = Emulator::spawn();
    assert_eq!(emulator.ask(&plan), json!("Done"));
    assert_eq!(emulator.ask(&json!("StartSchedule")), json!("Done"));
    let none = json!({"Change": [0, {"Loss": "None"}]});
    assert_eq!(emulator.ask(&none), json!("Done"));
    let nowhere = json!({"Change": [1, {"Loss": "None"}]});
    assert_eq!(emulator.ask(&nowhere), json!({"Failed": "there is no channel 1"}));
}
