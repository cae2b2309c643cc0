//! Every kind of link that the model knows can be written in a file.

use std::time::Duration;

use mpt_link::{Change, Jitter, QueueLimit, Redraw};

use super::{GOOD, full};
use crate::experiments::case::ChannelSpec;

const MS: Duration = Duration::from_millis(1);

/// Returns the way forward over the second link of the good file, which gets these keys in place of its queue.
fn channel(keys: &str) -> ChannelSpec {
    let second = "rate = \"20mbit\"\nqueue = \"100packets\"";
    let text = GOOD.replace(second, &format!("rate = \"20mbit\"\n{keys}"));
    full(&text).unwrap().cases[1].spec.network.channels[2].clone()
}

#[test]
fn a_short_queue() {
    assert_eq!(channel("queue = \"10ms\"").params.queue, QueueLimit::Time(10 * MS));
}

#[test]
fn a_queue_that_marks() {
    let marking = channel("queue = \"100ms\"\nmark_above = \"5ms\"");
    assert_eq!(marking.params.mark_above, Some(5 * MS));
    let none = channel("queue = \"100ms\"\nmark_above = \"0ms\"");
    assert_eq!(none.params.mark_above, None, "an axis may have a value without marks");
}

#[test]
fn a_queue_that_serves_flows_in_turns() {
    let fair = channel("queue = \"fq_codel\"");
    assert!(fair.fair);
    assert_eq!(fair.params.queue, QueueLimit::Unlimited);
    assert!(!channel("queue = \"100ms\"").fair);
}

#[test]
fn a_delay_that_wanders_in_order() {
    let wandering =
        "queue = \"100ms\"\nkeep_order = true\njitter = { normal = \"5ms\", every = \"100ms\" }";
    let params = channel(wandering).params;
    assert!(params.keep_order);
    assert!(
        matches!(params.jitter, Some(Jitter { redraw: Redraw::Every(every), .. }) if every == 100 * MS)
    );
    let each = "queue = \"100ms\"\njitter = { normal = \"5ms\", every = \"0ms\" }";
    assert!(matches!(
        channel(each).params.jitter,
        Some(Jitter { redraw: Redraw::EveryPacket, .. })
    ));
}

#[test]
fn slots() {
    assert_eq!(channel("queue = \"100ms\"\nslot = \"1ms\"").params.slot, MS);
}

#[test]
fn rates_that_step_and_delays_with_them() {
    let steps =
        "queue = \"100ms\"\nschedule = [{ after = \"5s\", rate = \"8mbit\", delay = \"29ms\" }]";
    let schedule = channel(steps).schedule;
    assert_eq!(schedule.len(), 2);
    assert!(matches!(schedule[0], (after, Change::Rate(_)) if after == 5000 * MS));
    assert_eq!(schedule[1], (5000 * MS, Change::Delay(29 * MS)));
}

#[test]
fn rates_that_are_drawn_again_in_each_direction_of_each_link() {
    let jumping = "queue = \"100ms\"\nredraw = { every = \"100ms\", within = \"40%\" }";
    let text = GOOD.replace("queue = \"100packets\"", jumping);
    let cases = full(&text).unwrap().cases;
    let schedules: Vec<_> = cases[1].spec.network.channels.iter().map(|it| &it.schedule).collect();
    assert_eq!(schedules.len(), 4);
    assert!(schedules.iter().all(|schedule| schedule.len() == 50), "for the five seconds");
    for (index, schedule) in schedules.iter().enumerate() {
        assert!(!schedules[..index].contains(schedule));
    }
    let alone = &cases[0].spec.network.channels[0].schedule;
    assert_eq!(alone, schedules[0], "every row meets the same");
    let none = "queue = \"100ms\"\nredraw = { every = \"100ms\", within = \"0%\" }";
    assert_eq!(channel(none).schedule, []);
}
