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
    let output = Command::new("nft").args(["--json", "list", "ruleset"]).output();
    let rules = match output {
        Ok(output) if output.status.success() => serde_json::from_slice(&output.stdout).ok(),
        _ => None,
    };
    let Some(rules) = rules else {
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
    let output = Command::new("nft").args(["--json", "list", "ruleset"]).output().ok()?;
    let rules = serde_json::from_slice(&output.stdout).ok()?;
    let Chain { family, table, name } = closed_by(&rules, port)?;
    Some(format!("nft insert rule {family} {table} {name} udp dport {port} accept"))
}

/// The chain that lets nothing in but what its rules name, and whose rules do not name this port. Rules that jump elsewhere may do so: the rules
/// of the whole table count.
fn closed_by(rules: &Value, port: u16) -> Option<Chain> {
    let items = rules["nftables"].as_array()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let chains = items.iter().map(|item| &item["chain"]);
    let strict = |chain: &&Value| chain["hook"] == "input" && chain["policy"] == "drop";
    let names_port = |chain: &Value| {
        let of_table = items.iter().map(|item| &item["rule"]).filter(|rule| {
            !rule.is_null() && rule["family"] == chain["family"] && rule["table"] == chain["table"]
        });
        of_table.into_iter().any(|rule| mentions(&rule["expr"], port))
    };
    let chain = chains.filter(strict).find(|chain| !names_port(chain))?;
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
    fn what_is_no_list_of_rules_closes_nothing() {
        for text in [json!(null), json!({"nftables": 3}), json!({"nftables": [{"chain": 3}]})] {
            assert_eq!(closed_by(&text, 1), None);
        }
    }
}
