//! Short runs of the tunnel: a change of behaviour is a difference to read.

use std::time::Duration;

use mpt_link::Probability;
use mpt_sim::report::Table;
use mpt_sim::study::in_parallel;
use mpt_sim::tunnel::{Case, Path, Profile};

#[test]
fn short_runs_of_the_tunnel_are_as_they_were() {
    let milliseconds = Duration::from_millis;
    let mut names = Vec::new();
    let mut cases = Vec::new();
    for profile in [Profile::Paper, Profile::Ours] {
        for (delay, jitter, loss, window) in [
            (0, 0, 0.0, None),
            (20, 0, 0.0, None),
            (20, 0, 0.0, Some(50)),
            (20, 2, 0.0, None),
            (0, 0, 0.002, None),
        ] {
            let paths = [(20, 0), (10, delay)].map(|(rate, delay)| Path {
                jitter: milliseconds(jitter),
                loss: Probability::new(loss).unwrap().into(),
                ..Path::new(rate, milliseconds(delay))
            });
            let mut case = Case::new(profile, paths.to_vec(), 1);
            case.duration = Duration::from_secs(5);
            case.reorder.window = window.or(case.reorder.window);
            let loss = 100.0 * loss;
            names.push(format!(
                "{} {delay} ms, jitter {jitter}, {loss} %, {}",
                profile.name(),
                case.reorder.window()
            ));
            cases.push(case);
        }
    }
    let outcomes = in_parallel(&cases, Case::run, || {});
    let heading = [
        "",
        "Mbit/s",
        "from 3 s",
        "wait p50",
        "p99 ms",
        "late",
        "given up",
        "waiting p99",
        "again",
        "events",
    ];
    let mut table = Table::new("20 + 10 Mbit/s, 5 s, seed 1", heading);
    for (name, outcome) in names.into_iter().zip(outcomes) {
        table.rows.push(vec![
            name,
            format!("{:.2}", outcome.goodput),
            format!("{:.2}", outcome.settled),
            format!("{:.1}", outcome.wait_p50_ms),
            format!("{:.1}", outcome.wait_p99_ms),
            outcome.late.to_string(),
            (outcome.lost + outcome.expired + outcome.skipped).to_string(),
            outcome.occupancy.p99.to_string(),
            outcome.retransmissions.to_string(),
            outcome.events.to_string(),
        ]);
    }
    insta::assert_snapshot!(table.to_string());
}
