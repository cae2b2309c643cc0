//! The packet filters of this host, which may drop the packets of peers. They are not evaluated, only looked through, so that a finding is a guess.

use std::collections::BTreeSet;
use std::process::Command;

use mpt_config::Config;
use serde_json::Value;

use super::{Findings, Level, ports};

/// A chain of packets that come in, and drops what none of its rules accepts.
#[derive(Debug, PartialEq, Eq)]
struct Chain {
    family: String,
    table: String,
    name: String,
}

pub(super) fn check(config: &Config, found: &mut Findings) {
    let Some(rules) = list() else {
        return found.add(
            Level::Note,
            "filter",
            "the packet filter cannot be looked at (nft --json list ruleset)",
            "run this as root, with nftables installed; or look yourself",
        );
    };
    let ports: BTreeSet<u16> = ports::listened_on(config).iter().map(|it| it.port()).collect();
    for port in ports {
        match closed_by(&rules, port) {
            None => found.ok("filter", format!("UDP port {port}: nothing seen that keeps it closed")),
            Some(Chain { family, table, name }) => found.add(
                Level::Warning,
                "filter",
                format!(
                    "UDP port {port}: probably closed, by the policy of {family} {table} {name}, none of whose rules names it"
                ),
                format!("nft insert rule {family} {table} {name} udp dport {port} accept"),
            ),
        }
    }
}

/// The command that lets in UDP to this port, if a packet filter probably drops it. `None` also where the filter cannot be looked at.
pub(crate) fn command_to_open(port: u16) -> Option<String> {
    let Chain { family, table, name } = closed_by(&list()?, port)?;
    Some(format!("nft insert rule {family} {table} {name} udp dport {port} accept"))
}

/// Returns the chain that probably drops what is forwarded from and to a device, as nft names it. `None` also where the filter cannot be looked at.
pub(crate) fn chain_that_forwards_nothing(device: &str) -> Option<String> {
    let Chain { family, table, name } = forwards_nothing(&list()?, device)?;
    Some(format!("{family} {table} {name}"))
}

/// The rules of this host; `None` where they cannot be looked at.
fn list() -> Option<Value> {
    let output = Command::new("nft").args(["--json", "list", "ruleset"]).output().ok()?;
    if output.status.success() { serde_json::from_slice(&output.stdout).ok() } else { None }
}

/// The chain that lets nothing in but what its rules name, and whose rules do not name this port.
fn closed_by(rules: &Value, port: u16) -> Option<Chain> {
    strict(rules, "input", |expression| mentions(expression, port))
}

/// The chain that forwards nothing but what its rules name, and whose rules do not name this device.
fn forwards_nothing(rules: &Value, device: &str) -> Option<Chain> {
    strict(rules, "forward", |expression| names(expression, device))
}

/// The chain at this hook whose policy is to drop, and none of whose rules is of interest. Rules that jump elsewhere may lead to one that is: the
/// rules of the whole table count.
fn strict(rules: &Value, hook: &str, of_interest: impl Fn(&Value) -> bool) -> Option<Chain> {
    let items = rules["nftables"].as_array()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let chains = items.iter().map(|item| &item["chain"]);
    let strict = |chain: &&Value| chain["hook"] == hook && chain["policy"] == "drop";
    let lets_in = |chain: &Value| {
        let of_table = items.iter().map(|item| &item["rule"]).filter(|rule| {
            !rule.is_null() && rule["family"] == chain["family"] && rule["table"] == chain["table"]
        });
        of_table.into_iter().any(|rule| of_interest(&rule["expr"]))
    };
    let chain = chains.filter(strict).find(|chain| !lets_in(chain))?;
    Some(Chain {
        family: text(&chain["family"]),
        table: text(&chain["table"]),
        name: text(&chain["name"]),
    })
}

/// True if an expression compares a destination port with this one, or with a set or range that has it. Named sets are not opened.
fn mentions(expression: &Value, port: u16) -> bool {
    match expression {
        Value::Array(all) => all.iter().any(|it| mentions(it, port)),
        Value::Object(fields) => {
            if let Some(compared) = fields.get("match")
                && compared["left"]["payload"]["field"] == "dport"
            {
                return holds(&compared["right"], port);
            }
            fields.values().any(|it| mentions(it, port))
        }
        _ => false,
    }
}

/// True if an expression compares the name of an interface with this one.
fn names(expression: &Value, device: &str) -> bool {
    match expression {
        Value::Array(all) => all.iter().any(|it| names(it, device)),
        Value::Object(fields) => match fields.get("match") {
            Some(compared) => {
                let key = &compared["left"]["meta"]["key"];
                let right = &compared["right"];
                let mut set = right["set"].as_array().into_iter().flatten();
                (key == "iifname" || key == "oifname")
                    && (right == device || set.any(|it| it == device))
            }
            None => fields.values().any(|it| names(it, device)),
        },
        _ => false,
    }
}

fn holds(value: &Value, port: u16) -> bool {
    match value {
        Value::Number(number) => number.as_u64() == Some(port.into()),
        Value::Array(all) => all.iter().any(|it| holds(it, port)),
        Value::Object(fields) => match fields.get("range").and_then(Value::as_array) {
            Some(range) => {
                let bound = |it: Option<&Value>| it.and_then(Value::as_u64);
                let (first, last) = (bound(range.first()), bound(range.get(1)));
                first.is_some_and(|first| first <= port.into())
                    && last.is_some_and(|last| last >= port.into())
            }
            None => fields.values().any(|it| holds(it, port)),
        },
        // "@name"
        Value::String(name) => name.starts_with('@'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(policy: &str, right: Value) -> Value {
        json!({"nftables": [
            {"metainfo": {"version": "1.0.6"}},
            {"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input", "policy": policy}},
            {"rule": {"family": "inet", "table": "filter", "chain": "input", "expr": [
                {"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": right}},
                {"accept": null}
            ]}}
        ]})
    }

    #[test]
    fn a_port_that_no_rule_names_is_closed_by_the_policy() {
        let closed = closed_by(&rules("drop", json!(53)), 4754).unwrap();
        assert_eq!(
            (closed.family.as_str(), closed.table.as_str(), closed.name.as_str()),
            ("inet", "filter", "input")
        );
        assert_eq!(closed_by(&rules("accept", json!(53)), 4754), None);
        for open in [
            json!(4754),
            json!({"set": [53, 4754]}),
            json!({"range": [4000, 5000]}),
            json!({"set": [{"range": [4754, 4754]}]}),
            json!("@open"),
        ] {
            assert_eq!(closed_by(&rules("drop", open.clone()), 4754), None, "{open}");
        }
        assert!(closed_by(&rules("drop", json!({"range": [4755, 5000]})), 4754).is_some());
    }

    #[test]
    fn a_device_that_no_rule_names_is_not_forwarded_from() {
        let rules = |policy: &str, key: &str, device: Value| {
            json!({"nftables": [
                {"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "hook": "forward", "policy": policy}},
                {"rule": {"family": "ip", "table": "filter", "chain": "FORWARD", "expr": [
                    {"match": {"op": "==", "left": {"meta": {"key": key}}, "right": device}},
                    {"accept": null}
                ]}}
            ]})
        };
        let closed = forwards_nothing(&rules("drop", "iifname", json!("docker0")), "mpt0").unwrap();
        assert_eq!((closed.family.as_str(), closed.name.as_str()), ("ip", "FORWARD"));
        assert_eq!(forwards_nothing(&rules("accept", "iifname", json!("docker0")), "mpt0"), None);
        for (key, devices) in [
            ("iifname", json!("mpt0")),
            ("oifname", json!("mpt0")),
            ("iifname", json!({"set": ["eth1", "mpt0"]})),
        ] {
            let rules = rules("drop", key, devices.clone());
            assert_eq!(forwards_nothing(&rules, "mpt0"), None, "{key} {devices}");
        }
        assert!(forwards_nothing(&rules("drop", "mark", json!("mpt0")), "mpt0").is_some());
    }

    #[test]
    fn what_is_no_list_of_rules_closes_nothing() {
        for text in [json!(null), json!({"nftables": 3}), json!({"nftables": [{"chain": 3}]})] {
            assert_eq!(closed_by(&text, 1), None);
        }
    }
}
