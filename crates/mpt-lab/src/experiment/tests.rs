//! Files that are right and files that are wrong.

use std::time::Duration;

use mpt_link::{Bitrate, Loss};

use super::load::read;
use super::source::Source;
use super::*;
use crate::case::{Method, Traffic};

/// A small experiment that everything is right about.
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

/// What is changed in the good file, and what the error must say.
const BAD: &[(&str, &str, &str)] = &[
    (
        "title = \"Two links\"",
        "title = 5",
        "x.toml:1: title: invalid type: integer `5`, expected a string",
    ),
    ("title = ", "titel = ", "x.toml:1: titel: unknown key; write one of title, source"),
    ("[traffic]", "[trafic]", "x.toml:18: trafic: unknown key; write one of"),
    ("rows = [\"path1\", \"ours\"]\n", "", "missing field `rows`"),
    (
        "rate = \"10mbit\"",
        "rate = \"10\"",
        "x.toml:11: link.rate: \"10\" has no unit; write for example \"10mbit\"",
    ),
    (
        "rate = \"10mbit\"",
        "rate = 10",
        "x.toml:11: link.rate: 10 has no unit; write for example \"10mbit\"",
    ),
    (
        "rate = \"10mbit\"",
        "rate = \"0mbit\"",
        "x.toml:11: link.rate: \"0mbit\" is no rate at all; write",
    ),
    (
        "rate = \"10mbit\"",
        "rate = \"10mbyte\"",
        "x.toml:11: link.rate: \"10mbyte\" is not a rate; write",
    ),
    (
        "rate = \"10mbit\"",
        "rate = [1]",
        "x.toml:11: link.rate: invalid type: sequence, expected a rate with its unit",
    ),
    (
        "rate = \"10mbit\"",
        "speed = \"10mbit\"",
        "x.toml:11: link.speed: unknown field `speed`, expected one of `name`",
    ),
    (
        "queue = \"100packets\"\ndelay",
        "delay",
        "x.toml:10: link.queue: missing; a link with a rate has a queue",
    ),
    ("rate = \"20mbit\"\n", "", "link.queue: nothing waits where there is no rate"),
    (
        "\"$delay\"",
        "\"$latency\"",
        "x.toml:13: link.delay: no axis and no variable is called \"latency\"; write one of $delay, $loss",
    ),
    (
        "\"0ms\", \"10ms\"",
        "\"0\", \"10ms\"",
        "x.toml:8: link.delay: \"0\" has no unit; write for example \"5ms\"",
    ),
    (
        "\"0ms\", \"10ms\"",
        "\"10ms\", \"10ms\"",
        "x.toml:8: axis.values: \"10ms\" stands there twice",
    ),
    ("\"0ms\", \"10ms\"", "", "axis.quick: \"10ms\" is not among the values"),
    (
        "quick = [\"10ms\"]",
        "quick = [\"11ms\"]",
        "x.toml:9: axis.quick: \"11ms\" is not among the values; write some of 0ms, 10ms",
    ),
    ("label = \"delay\"\n", "", "missing field `label`"),
    (
        "name = \"delay\"\n",
        "name = \"loss\"\n",
        "both variables and loss give $loss a value; rename one",
    ),
    (
        "loss = \"$loss\"",
        "loss = \"1\"",
        "x.toml:14: link.forward.loss: \"1\" has no unit; write for example \"0.1%\"",
    ),
    (
        "loss = \"$loss\"",
        "loss = { mean = \"90%\", burst = 1 }",
        "link.loss: no link loses 90 % in bursts of 1 packets",
    ),
    (
        "loss = \"$loss\"",
        "loss = { mean = \"1%\" }",
        "link.loss: write { mean = \"1%\", burst = 4 }, or all of to_bad",
    ),
    (
        "loss = \"$loss\"",
        "jitter = { normal = \"1ms\", uniform = \"1ms\" }",
        "link.jitter: write one of { normal",
    ),
    (
        "loss = \"$loss\"",
        "schedule = [{ after = \"2s\", rate = \"1mbit\" }, { after = \"1s\", rate = \"2mbit\" }]",
        "link.schedule: goes back in time",
    ),
    (
        "loss = \"$loss\"",
        "trace = \"t.csv\"",
        "x.toml:10: link.trace: an experiment of the catalogue has no directory for trace files",
    ),
    (
        "kind = \"tcp\"",
        "kind = \"sctp\"",
        "x.toml:19: traffic.kind: unknown variant `sctp`, expected one of `tcp`, `udp`",
    ),
    (
        "duration = \"5s\"\n",
        "",
        "x.toml:18: traffic.duration: missing; write for example duration = \"30s\"",
    ),
    (
        "duration = \"5s\"",
        "duration = \"1ms\"",
        "x.toml:20: traffic.duration: too short to measure",
    ),
    (
        "duration = \"5s\"",
        "duration = \"5s\"\ncount = 3",
        "x.toml:21: traffic.count: this kind of traffic has no count; it has duration, flows",
    ),
    (
        "duration = \"5s\"",
        "duration = \"5s\"\nflows = 0",
        "x.toml:21: traffic.flows: write 1 to 256",
    ),
    (
        "\"ours\"]",
        "\"theirs\"]",
        "x.toml:2: rows.method: no usual row is called \"theirs\"; write one of path1, path2, mptcp",
    ),
    ("\"ours\"]", "\"ours\", \"ours\"]", "there are two rows \"ours\""),
    ("\"ours\"]", "{ name = \"ours\", weights = [1] }]", "rows.weights: 1 weights for 2 links"),
    (
        "\"ours\"]",
        "{ name = \"ours\", weights = \"speeds\" }]",
        "x.toml:2: rows.weights: \"speeds\" is not known; write \"rates\"",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", links = [\"path3\"] }]",
        "x.toml:2: rows.links: there is no link \"path3\"; write some of path1, path2",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", inner = 5 }]",
        "rows.inner: 5 is not a version of IP; write 4 or 6",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", connection = { windo = 5 } }]",
        "rows.connection: unknown key windo; write one of checksum",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", connection = { window = 70000 } }]",
        "70000 is not a window; write packets from 0 to 65535",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", only = { speed = \"1\" } }]",
        "rows.only: there is no axis \"speed\"; write one of delay",
    ),
    (
        "\"ours\"]",
        "{ name = \"ours\", only = { delay = \"7ms\" } }]",
        "the axis delay has no value \"7ms\"",
    ),
    ("\"ours\"]", "{ label = \"x\" }]", "missing field `name`"),
    (
        "along = \"delay\"",
        "along = \"speed\"",
        "x.toml:25: published.along: there is no axis \"speed\"; write one of delay",
    ),
    (
        "[29.1, 28.9]",
        "[29.1]",
        "x.toml:26: published.values: 1 figures for 2 values of the axis delay",
    ),
    (
        "row = \"ours\"\nalong",
        "row = \"our\"\nalong",
        "x.toml:24: published.row: there is no row \"our\"; write one of ours, path1",
    ),
    ("at_least = 2", "", "x.toml:27: expectation.at_least: missing; write at_least or at_most"),
    ("at_least = 2", "at_least = \"2\"", "expected a number"),
    (
        "over = [\"path1\"]",
        "over = [\"path9\"]",
        "x.toml:30: expectation.over: there is no row \"path9\"",
    ),
    (
        "over = [\"path1\"]",
        "metric = \"goodput\"",
        "\"goodput\" is not a metric; write one of goodput_mbit",
    ),
    ("title = ", "repetitions = 0\ntitle = ", "x.toml:1: repetitions: 0 measurements say nothing"),
    ("title = ", "[network]\nscale = 0.5\n[x]\ntitle = ", "x: unknown key"),
    (
        "[traffic]",
        "[network]\nscale = 0\n[traffic]",
        "x.toml:19: network.scale: 0 is not a scale; write a number from 1 to 1000",
    ),
    (
        "[traffic]",
        "[network]\nbackend = \"cloud\"\n[traffic]",
        "x.toml:19: network.backend: unknown variant `cloud`",
    ),
    (
        "[traffic]",
        "[[event]]\nafter = \"1s\"\ndo = \"explode\"\nlink = \"path1\"\n[traffic]",
        "x.toml:20: event.do: unknown variant `explode`",
    ),
    (
        "[traffic]",
        "[[event]]\nafter = \"1s\"\ndo = \"black-hole\"\nlink = \"path9\"\n[traffic]",
        "x.toml:21: event.link: there is no link \"path9\"",
    ),
    (
        "[traffic]",
        "[[channel]]\nname = \"air\"\naccess = \"1ms\"\nburst = \"1ms\"\n[traffic]",
        "channel.access: only a medium that both directions share",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[link]]\nvia = [\"air\"]\nrate = \"20mbit\"",
        "link.via: there is no [[channel]] with name = \"air\"",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[link]]\nmtu = 100\nrate = \"20mbit\"",
        "link.mtu: 100 is not an MTU; write 576 to 9200",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[link]]\nname = \"a link\"\nrate = \"20mbit\"",
        "link.name: \"a link\" is not a name",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[link]]\nname = \"path1\"\nrate = \"20mbit\"",
        "link.name: there is another link \"path1\"",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[link]]\ncount = 100\nrate = \"20mbit\"",
        "link.count: 100 is too few or too many",
    ),
    ("[[link]]\nrate = \"20mbit\"", "[link]\nrate = \"20mbit\"", "x.toml:15: "),
];

#[test]
fn bad_files_are_refused_with_the_place_and_what_to_write() {
    let mut wrong = Vec::new();
    for (old, new, expected) in BAD {
        let text = GOOD.replacen(old, new, 1);
        assert_ne!(text, GOOD, "{old} is not in the file");
        let error = match full(&text) {
            Ok(_) => "taken".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        if !(error.contains(expected) && error.starts_with("x.toml:")) {
            wrong.push(format!("{new}\n  says:      {error}\n  instead of {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_experiment_of_the_catalogue_is_right() {
    for name in names() {
        for quick in [false, true] {
            let plan = load(name, &[], Mode { quick, repeat: None }).unwrap();
            assert!(!plan.cases.is_empty() && !plan.about.is_empty(), "{name}");
        }
    }
}

/// Nothing is said of the paths of the row that has to find it out.
#[test]
fn real_networks_configure_nothing() {
    let plan = load("real-networks", &[], Mode::default()).unwrap();
    let adaptive = plan.cases.iter().filter(|case| case.row == "adaptive");
    let mut networks = 0;
    for case in adaptive {
        let Method::Tunnel(tunnel) = &case.spec.method else { panic!("{:?}", case.spec.method) };
        assert!(tunnel.session);
        assert!(tunnel.connection.is_empty(), "{:?}", tunnel.connection);
        for path in tunnel.paths_a.iter().chain(&tunnel.paths_b) {
            assert!(path.is_empty(), "{path:?}");
        }
        networks += 1;
    }
    assert_eq!(networks, 13 * 3);
}

#[test]
fn the_catalogue_holds_every_file() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut files: Vec<String> = (std::fs::read_dir(directory).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned()))
        .collect();
    files.sort();
    let mut embedded: Vec<_> = names().map(str::to_owned).collect();
    embedded.sort();
    assert_eq!(files, embedded);
}

#[test]
fn every_experiment_is_explained_in_the_documents() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let text = std::fs::read_to_string(file).unwrap();
    for name in names() {
        let plan = load(name, &[], Mode::default()).unwrap();
        let section =
            format!("\n### {name}\n\n**{}** ({})\n\n{}\n", plan.title, plan.source, plan.about);
        assert!(text.contains(&section), "docs/experiments.md lacks the section{section}");
        assert!(
            text.contains(&format!("<!-- results: {name} -->")),
            "no place for tables of {name}"
        );
    }
}

proptest::proptest! {
    #[test]
    fn damaged_files_never_panic(at in 0..GOOD.len(), length in 0..20_usize, with in ".{0,4}") {
        let end = (at + length).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        let _ = full(&text).is_ok();
    }
}
