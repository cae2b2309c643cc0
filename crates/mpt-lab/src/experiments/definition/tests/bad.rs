//! Files that are wrong: the error names the place and says what to write.

use super::{GOOD, full};

/// Changes to the good file, each with the error that follows.
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
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "mark_above = \"5ms\"",
        "x.toml:16: link.mark_above: nothing waits where there is no rate; write rate, too",
    ),
    (
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "rate = \"20mbit\"\nqueue = \"fq_codel\"\nmark_above = \"5ms\"",
        "x.toml:18: link.mark_above: FQ-CoDel marks by rules of its own",
    ),
    (
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "rate = \"20mbit\"\nqueue = \"fq_codel\"\nduplication = \"1%\"",
        "x.toml:18: link.duplication: a queue that serves flows in turns duplicates nothing",
    ),
    (
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "rate = \"20mbit\"\nqueue = \"fq_codel\"\nschedule = [{ after = \"1s\", queue = \"5ms\" }]",
        "x.toml:18: link.schedule: a queue that serves flows in turns has no limit",
    ),
    (
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "rate = \"20mbit\"\nqueue = \"codel\"",
        "x.toml:17: link.queue: \"codel\" is not a queue limit; write for example \"100packets\"",
    ),
    (
        "rate = \"20mbit\"\nqueue = \"100packets\"",
        "redraw = { every = \"100ms\", within = \"40%\" }",
        "x.toml:16: link.redraw: there is no rate to be drawn again; write rate, too",
    ),
    (
        "rate = \"20mbit\"",
        "redraw = { every = \"1us\", within = \"40%\" }\nrate = \"20mbit\"",
        "x.toml:16: link.redraw: too often; at most 36000 times while the traffic runs",
    ),
    (
        "rate = \"20mbit\"",
        "redraw = { every = \"1s\", within = \"4%\" }\nschedule = [{ after = \"1s\", delay = \"1ms\" }]\nrate = \"20mbit\"",
        "x.toml:16: link.redraw: there is a schedule or a trace already",
    ),
    (
        "[[link]]\nrate = \"20mbit\"",
        "[[channel]]\nname = \"air\"\nrate = \"1mbit\"\nqueue = \"fq_codel\"\nhalf_duplex = true\naccess = \"1ms\"\nburst = \"1ms\"\n[[link]]\nrate = \"20mbit\"",
        "x.toml:18: channel.queue: a medium that stations share does not serve flows in turns",
    ),
    (
        "[traffic]",
        "[[beside]]\nkind = \"ping\"\n[traffic]",
        "x.toml:18: beside.interval: missing; write for example interval = \"100ms\"",
    ),
    (
        "[traffic]",
        "[[beside]]\nkind = \"ping\"\ninterval = \"1ms\"\n[traffic]",
        "x.toml:20: beside.interval: too short; write at least \"10ms\"",
    ),
    (
        "[traffic]",
        "[[beside]]\nkind = \"page\"\ninterval = \"1s\"\n[traffic]",
        "x.toml:20: beside.interval: this kind has no interval; it has pause",
    ),
    (
        "[traffic]",
        "[[beside]]\nkind = \"rival\"\nover = \"path9\"\n[traffic]",
        "x.toml:20: beside.over: there is no link \"path9\"; write one of path1, path2, or \"second-connection\"",
    ),
    (
        "[traffic]",
        "[[beside]]\nkind = \"tea\"\n[traffic]",
        "x.toml:19: beside.kind: unknown variant `tea`",
    ),
    (
        "[traffic]",
        "[measure]\nfrom = \"9.5s\"\n[traffic]",
        "measure.to: less than a second after \"from\"; write a later time",
    ),
    (
        "[traffic]",
        "[measure]\nwatch = \"1ms\"\n[traffic]",
        "x.toml:19: measure.watch: too often; write at least \"50ms\"",
    ),
    (
        "[traffic]",
        "[measure]\nreach = [{ step = \"up\", after = \"1s\", until = \"2s\", rate = \"1mbit\" }]\n[traffic]",
        "x.toml:19: measure.reach: a rate has to be held for 3 s",
    ),
    (
        "kind = \"tcp\"",
        "kind = \"sctp\"",
        "x.toml:19: traffic.kind: unknown variant `sctp`, expected one of `tcp`, `bulk`, `udp`",
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
        "kind = \"tcp\"",
        "kind = \"rtp\"\nrate = \"1mbit\"\ndscp = 64",
        "x.toml:21: traffic.dscp: 64 is no DSCP; write 0 to 63",
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
        "sound_up_to = 1.1",
        "expectation.sound_up_to: only a ratio has one; write over, and no difference",
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

proptest::proptest! {
    #[test]
    fn damaged_files_never_panic(at in 0..GOOD.len(), length in 0..20_usize, with in ".{0,4}") {
        let end = (at + length).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        let _ = full(&text).is_ok();
    }
}
