//! The history keeps what it has of paths that come and go, within its bounds.

use super::*;
use crate::example;

const NOW: u64 = 1_790_000_000;

fn drawn(history: &History, span: u64, now: u64) -> serde_json::Value {
    serde_json::to_value(history.of("office", span, now)).unwrap()
}

#[test]
fn each_span_has_its_resolution() {
    let mut history = History::default();
    let snapshot = example::snapshot();
    // More than a day: what is older is gone. Only the last minutes are drawn by the second.
    let day = (NOW..NOW + 88_800).step_by(10);
    for now in day.chain(NOW + 88_800..NOW + 90_000) {
        history.add(now, &snapshot);
    }
    let now = NOW + 89_999;
    for (span, step, points) in [(600, 1, 601), (7_200, 10, 720), (86_400, 60, 1_440)] {
        let drawn = drawn(&history, span, now);
        assert_eq!(drawn["step"], step);
        assert_eq!(drawn["paths"][0]["points"].as_array().unwrap().len(), points, "{span}");
    }
    let last = &drawn(&history, 600, now)["paths"][0]["points"][600];
    let expected = serde_json::json!([now, 94_100_000.0, 0.0, null, null, null]);
    assert_eq!(last, &expected);
}

#[test]
fn coarse_points_are_means_and_gaps_stay_gaps() {
    let mut history = History::default();
    let mut snapshot = example::snapshot();
    let start = NOW - NOW % 60;
    for (now, rate) in [(start, 10), (start + 1, 30), (start + 300, 7)] {
        snapshot.connections[0].paths[0].sent.bits_per_second = rate;
        history.add(now, &snapshot);
    }
    let points = &drawn(&history, 7_200, start + 300)["paths"][0]["points"];
    assert_eq!((&points[0][0], &points[0][1]), (&start.into(), &20.0.into()));
    assert_eq!((&points[1][0], &points[1][1]), (&(start + 300).into(), &7.0.into()));
    assert!(points[2].is_null());
}

#[test]
fn a_thousand_paths_take_no_more_memory_than_they_may() {
    let mut history = History::default();
    let mut snapshot = example::snapshot();
    for number in 0..4 * MOST as u64 {
        snapshot.connections[1].name = format!("client{number}");
        history.add(NOW + number, &snapshot);
    }
    assert!(history.0.len() <= MOST, "{}", history.0.len());
    assert!(history.0.contains_key(&("office".into(), "dsl".into())), "it was always there");
    assert!(history.0.contains_key(&(format!("client{}", 4 * MOST - 1), "dsl".into())));
}
