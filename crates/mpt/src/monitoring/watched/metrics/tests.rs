//! The text of `/metrics` for daemons that come and go.

use std::time::Duration;

use super::*;
use crate::example;

/// Names and labels of all series that are counters.
fn counters(text: &str) -> HashSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series);
    series.filter(|it| it.split('{').next().unwrap().ends_with("_total")).map(Into::into).collect()
}

#[test]
fn the_daemon_that_has_never_answered_is_down() {
    let text = Metrics::new().text();
    assert_eq!(
        text,
        "# HELP mpt_up Whether the daemon answers\n# TYPE mpt_up gauge\nmpt_up 0.0\n# EOF\n"
    );
}

#[test]
fn a_snapshot_becomes_open_metrics() {
    let metrics = Metrics::new();
    metrics.update(Some(&example::snapshot()));
    insta::assert_snapshot!(metrics.text());
}

#[test]
fn counters_never_disappear() {
    let metrics = Metrics::new();
    let mut snapshot = example::snapshot();
    metrics.update(Some(&snapshot));
    let before = counters(&metrics.text());
    assert!(before.contains("mpt_path_sent_packets_total{connection=\"office\",path=\"lte\"}"));

    metrics.update(None);
    let text = metrics.text();
    assert_eq!(counters(&text), before, "while the daemon is away");
    assert!(text.contains("\nmpt_up 0.0\n") && !text.contains("mpt_path_up"), "{text}");

    snapshot.connections[0].paths.pop();
    snapshot.connections.pop();
    metrics.update(Some(&snapshot));
    let text = metrics.text();
    assert_eq!(counters(&text), before, "of a path and a connection that are gone");
    assert!(!text.contains("mpt_path_up{connection=\"office\",path=\"lte\"}"), "{text}");

    metrics.update(Some(&example::snapshot()));
    let lines: Vec<_> = metrics.text().lines().map(str::to_owned).collect();
    let unique: HashSet<_> = lines.iter().collect();
    assert_eq!(unique.len(), lines.len(), "no series stands twice");
}

#[test]
fn clients_that_come_and_go_take_no_more_memory_than_they_may() {
    let metrics = Metrics::new();
    let mut snapshot = example::snapshot();
    for number in 0..3 * MOST_GONE {
        snapshot.connections[1].name = format!("client{number}");
        metrics.update(Some(&snapshot));
    }
    let seen = metrics.daemon.seen();
    assert_eq!((seen.gone.len(), seen.gone_paths.len()), (MOST_GONE, MOST_GONE));
}

#[test]
fn round_trip_times_are_counted_in_buckets() {
    let metrics = Metrics::new();
    let mut snapshot = example::snapshot();
    let dsl = &mut snapshot.connections[0].paths[0];
    dsl.liveness = Some(mpt_api::Liveness { rtt_us: Some(12_000), ..example_liveness() });
    for _ in 0..3 {
        metrics.update(Some(&snapshot));
    }
    snapshot.connections[0].paths[0].liveness.as_mut().unwrap().rtt_us = Some(3_000_000);
    metrics.update(Some(&snapshot));
    let text = metrics.text();
    let labels = "connection=\"office\",path=\"dsl\"";
    for (bound, count) in [("0.01", 0), ("0.025", 3), ("2.5", 3), ("+Inf", 4)] {
        let line =
            format!("mpt_path_rtt_samples_seconds_bucket{{le=\"{bound}\",{labels}}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    let sum = format!("mpt_path_rtt_samples_seconds_sum{{{labels}}} 3.036\n");
    assert!(text.contains(&sum), "{text}");
    // A path that is down is not sampled, and one that is gone keeps its counts.
    snapshot.connections[0].paths[0].state = PathState::Down;
    metrics.update(Some(&snapshot));
    snapshot.connections[0].paths.remove(0);
    metrics.update(Some(&snapshot));
    assert!(metrics.text().contains(&sum));
}

fn example_liveness() -> mpt_api::Liveness {
    example::snapshot().connections[0].paths[1].liveness.unwrap()
}

#[test]
fn labels_are_escaped() {
    let metrics = Metrics::new();
    let mut snapshot = example::snapshot();
    snapshot.connections[0].drops = [("a\"b\\c\nd".to_owned(), 1)].into();
    metrics.update(Some(&snapshot));
    let expected =
        "mpt_connection_drops_total{connection=\"office\",cause=\"a\\\"b\\\\c\\nd\"} 1\n";
    assert!(metrics.text().contains(expected));
}

/// Returns how long this thread has had a processor, to a few milliseconds.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

#[test]
fn a_thousand_connections_take_less_than_50_ms() {
    let metrics = Metrics::new();
    let mut snapshot = example::snapshot();
    let mut connection = snapshot.connections.remove(0);
    // As many causes as a daemon has.
    connection.drops = (0..33).map(|cause| (format!("cause_number_{cause}"), 0)).collect();
    let named =
        |number| Connection { name: format!("client{number}.office"), ..connection.clone() };
    snapshot.connections = (0..1_000).map(named).collect();
    metrics.update(Some(&snapshot));
    // Processor time is measured, and the least of a few runs counts: other programs use the processor as well and empty its caches.
    let times = (0..10).map(|_| {
        let start = processor_time();
        assert!(metrics.text().len() > 5_000_000);
        processor_time() - start
    });
    let least = times.min().unwrap();
    assert!(least < Duration::from_millis(50), "{least:?}");
}
