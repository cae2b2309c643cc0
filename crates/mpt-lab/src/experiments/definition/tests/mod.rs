//! Reading of files.

mod bad;
mod catalogue;
mod links;
mod observed;

use std::time::Duration;

use mpt_link::{Bitrate, Loss};

use super::load::read;
use super::syntax::source::Source;
use super::*;
use crate::experiments::case::{Method, Traffic};

/// A small experiment without mistakes.
const GOOD: &str = r#"title = "Two links"
rows = ["path1", "ours"]
[variables]
loss = "0%"
[[axis]]
name = "delay"
label = "delay"
values = ["0ms", "10ms"]
quick = ["10ms"]
[[link]]
rate = "10mbit"
queue = "100packets"
delay = "$delay"
forward = { loss = "$loss" }
[[link]]
rate = "20mbit"
queue = "100packets"
[traffic]
kind = "tcp"
duration = "5s"
[quick]
traffic.duration = "1s"
[[published]]
row = "ours"
along = "delay"
values = [29.1, 28.9]
[[expectation]]
what = "some"
row = "ours"
over = ["path1"]
at_least = 2
"#;

fn plan(text: &str, overrides: &[(&str, &str)], mode: Mode) -> anyhow::Result<Plan> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    read(Source { name: "x.toml", text }, "x", None, &overrides, mode)
}

fn full(text: &str) -> anyhow::Result<Plan> {
    plan(text, &[], Mode::default())
}

#[test]
fn cells_have_the_values_of_their_axes() {
    let plan = full(GOOD).unwrap();
    assert_eq!(plan.cases.len(), 4);
    let delays: Vec<_> = (plan.cases.iter())
        .map(|case| (case.cell["delay"].as_str(), case.spec.network.channels[0].params.delay))
        .collect();
    let (none, ten) = (Duration::ZERO, Duration::from_millis(10));
    assert_eq!(delays, [("0ms", none), ("0ms", none), ("10ms", ten), ("10ms", ten)]);
    let ours = &plan.cases[3].spec;
    assert_eq!(ours.network.links.len(), 2);
    assert_eq!(ours.network.channels.len(), 4);
    let Method::Tunnel(tunnel) = &ours.method else { panic!("{:?}", ours.method) };
    let weights: Vec<_> = tunnel.paths_a.iter().map(|path| path["weight"].as_integer()).collect();
    assert_eq!(weights, [Some(1), Some(2)]);
    assert!(tunnel.session);
    let as_in_the_papers = [("mapping".into(), "packet".into()), ("seal".into(), "off".into())];
    assert_eq!(tunnel.connection, as_in_the_papers.into());
    assert_eq!(plan.published.len(), 2);
    assert_eq!(plan.published[1].value, 28.9);
    assert_eq!(plan.expectations[0].at_least, Some(2.0));
}

#[test]
fn quick_takes_fewer_values_and_other_keys() {
    let plan = plan(GOOD, &[], Mode { quick: true, repeat: None }).unwrap();
    assert_eq!(plan.cases.len(), 2);
    let Traffic::Tcp { duration, .. } = plan.cases[0].spec.traffic else { panic!("not TCP") };
    assert_eq!(duration, Duration::from_secs(1));
    assert_eq!(plan.published.len(), 1, "only what is measured is laid beside");
}

#[test]
fn repetitions_have_other_seeds_and_come_after_all_cells() {
    let plan = plan(GOOD, &[], Mode { quick: false, repeat: Some(2) }).unwrap();
    assert_eq!(plan.cases.len(), 8);
    assert_eq!((plan.cases[3].spec.repetition, plan.cases[4].spec.repetition), (0, 1));
    assert_ne!(plan.cases[0].spec.seed, plan.cases[4].spec.seed);
    assert_ne!(plan.cases[0].spec.fingerprint(), plan.cases[4].spec.fingerprint());
}

#[test]
fn equal_links_have_equal_measurements() {
    let plan = full(&GOOD.replace("\"path1\", \"ours\"", "\"path1\", \"path2\"").replace(
        "[[expectation]]\nwhat = \"some\"\nrow = \"ours\"\nover = [\"path1\"]\nat_least = 2\n",
        "",
    ).replace("row = \"ours\"", "row = \"path2\"")).unwrap();
    let second: Vec<_> = plan.cases.iter().filter(|case| case.row == "path2").collect();
    assert_eq!(second[0].spec, second[1].spec, "the delay is that of the other link");
    assert_eq!(second[0].spec.network.links[0].name, "path1");
}

#[test]
fn the_command_line_sets_axes_variables_and_keys() {
    let set = [("delay", "5ms, 10ms"), ("loss", "1%"), ("traffic.duration", "2s")];
    let with_set = plan(GOOD, &set, Mode::default()).unwrap();
    assert_eq!(with_set.axes[0].values, ["5ms", "10ms"]);
    let spec = &with_set.cases[0].spec;
    assert_eq!(spec.network.channels[0].params.delay, Duration::from_millis(5));
    assert!(matches!(spec.network.channels[0].params.loss, Loss::Bernoulli(_)));
    assert_eq!(spec.network.channels[1].params.loss, Loss::None);
    assert_eq!(with_set.published.len(), 1, "the paper has no figure for 5 ms");
    let message = |set: (&str, &str)| plan(GOOD, &[set], Mode::default()).unwrap_err().to_string();
    assert_eq!(
        message(("dealy", "5ms")),
        "--set: dealy: x.toml has no such axis or variable; it has delay, loss, and every key of the file can be set by \
         its full name, such as traffic.duration"
    );
    assert_eq!(
        message(("delay", "5")),
        "--set: link.delay: 5 has no unit; write for example \"5ms\" (us, ms, s, min)"
    );
    assert_eq!(message(("title.x", "5")), "--set: title.x: title is not a table");
}

#[test]
fn and_values_whose_names_have_commas() {
    let values = ["10ms, 10-40ms", "160ms, 160-190ms", "160ms"].map(|label| {
        let (delay, loss) =
            label.split_once(", ").map_or((label, "0%"), |(delay, _)| (delay, "1%"));
        format!("{{ label = \"{label}\", delay = \"{delay}\", lost = \"{loss}\" }}")
    });
    let file = GOOD
        .replace("values = [\"0ms\", \"10ms\"]", &format!("values = [{}]", values.join(", ")))
        .replace("quick = [\"10ms\"]", "quick = [\"160ms\"]")
        .replace("forward = { loss = \"$loss\" }", "forward = { loss = \"$lost\" }")
        .replace("values = [29.1, 28.9]", "values = [29.1, 28.9, 28.8]");
    let chosen = |list: &str| {
        plan(&file, &[("delay", list)], Mode::default()).map(|plan| plan.axes[0].values.clone())
    };
    assert_eq!(chosen("160ms, 160-190ms").unwrap(), ["160ms, 160-190ms"]);
    assert_eq!(chosen("160ms,10ms, 10-40ms").unwrap(), ["160ms", "10ms, 10-40ms"]);
    assert_eq!(
        chosen("10ms,").unwrap_err().to_string(),
        "--set: delay: there is no value \"10ms\"; write some of \"10ms, 10-40ms\", \"160ms, 160-190ms\", \"160ms\""
    );
}

#[test]
fn a_scale_divides_rates_and_what_depends_on_them() {
    let scaled = GOOD
        .replace("[traffic]", "[network]\nscale = 10\n[traffic]")
        .replace("\"ours\"]", "{ name = \"ours\", connection = { window = 1000 } }]");
    let plan = full(&scaled).unwrap();
    let spec = &plan.cases[1].spec;
    assert_eq!(spec.network.channels[0].params.rate, Bitrate::from_megabits(1));
    assert_eq!(spec.network.channels[0].params.queue, mpt_link::QueueLimit::Packets(10));
    let Method::Tunnel(tunnel) = &spec.method else { panic!("{:?}", spec.method) };
    assert_eq!(tunnel.connection["window"].as_integer(), Some(100));
    assert_eq!(spec.scale, 10.0);
}

#[test]
fn each_end_wishes_for_what_the_other_one_sends() {
    let row = "{ name = \"ours\", weights = [94, 121], weights_back = [10000, 121] }]";
    let plan = full(&GOOD.replace("\"ours\"]", row)).unwrap();
    let Method::Tunnel(tunnel) = &plan.cases[1].spec.method else { panic!("no tunnel") };
    let keys = |path: &std::collections::BTreeMap<String, toml::Value>| {
        (path["weight"].as_integer(), path.get("weight_in").and_then(toml::Value::as_integer))
    };
    let ends =
        [&tunnel.paths_a, &tunnel.paths_b].map(|end| end.iter().map(keys).collect::<Vec<_>>());
    assert_eq!(ends[0], [(Some(94), Some(10000)), (Some(121), None)]);
    assert_eq!(ends[1], [(Some(10000), Some(94)), (Some(121), None)]);
}

#[test]
fn shared_channels_are_shared() {
    let text = r#"title = "Shared"
rows = ["wired", "ours"]
[[channel]]
name = "segment"
rate = "100mbit"
queue = "100packets"
[[channel]]
name = "air"
rate = "150mbit"
queue = "100packets"
half_duplex = true
access = "140us"
burst = "800us"
[[link]]
name = "wired"
rate = "1mbit"
queue = "50packets"
via = ["segment"]
[[link]]
name = "second"
rate = "1mbit"
queue = "50packets"
via = ["segment"]
[[link]]
name = "wifi"
via = ["air"]
[traffic]
kind = "tcp"
duration = "5s"
"#;
    let plan = full(text).unwrap();
    let [alone, ours] = &plan.cases[..] else { panic!("{} cases", plan.cases.len()) };
    let network = &alone.spec.network;
    assert_eq!((network.channels.len(), network.links.len()), (4, 1));
    let network = &ours.spec.network;
    let [wired, second, wifi] = &network.links[..] else { panic!("{:?}", network.links) };
    assert_eq!(wired.forward[1], second.forward[1], "both lead through the segment");
    assert_ne!(wired.forward[1], wired.backward[1], "which has two directions");
    assert_eq!(wifi.forward, wifi.backward, "the air has one");
    assert!(network.channels[wifi.forward[0]].medium.is_some());
}
