//! The observations that a file asks for besides its traffic.

use std::time::Duration;

use super::{GOOD, Mode, full, plan};
use crate::experiments::case::{Beside, Observation, Over, Step, Target, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Returns what is observed in the row of a link alone and in that of the tunnel.
fn observed(rows: &str, tables: &str) -> [Observation; 2] {
    let text = GOOD.replace("[\"path1\", \"ours\"]", rows);
    let text = text.replace("[traffic]", &format!("{tables}\n[traffic]"));
    let plan = full(&text).unwrap();
    [0, 1].map(|row: usize| plan.cases[row].spec.observation.clone())
}

const ROWS: &str = "[\"path1\", \"ours\"]";

#[test]
fn nothing_is_unless_the_file_says_so() {
    for observation in observed(ROWS, "") {
        assert!(observation.is_usual());
    }
    let text = serde_json::to_string(&full(GOOD).unwrap().cases[0].spec).unwrap();
    assert!(!text.contains("observation") && !text.contains("ecn"), "{text}");
}

#[test]
fn which_part_of_the_time_counts_and_what_is_to_be_reached() {
    let measure = "[measure]\nlead = \"2s\"\nfrom = \"4s\"\nto = \"5s\"\nwatch = \"100ms\"\n\
        reach = [{ step = \"down\", after = \"1s\", until = \"5s\", rate = \"30mbit\" }]";
    let [alone, tunnel] = observed(ROWS, measure);
    assert_eq!(tunnel.lead, 2 * SECOND);
    assert_eq!(tunnel.counts, (4 * SECOND, 5 * SECOND));
    assert_eq!(tunnel.watch, Some(SECOND / 10));
    assert_eq!(alone.watch, None, "there is no daemon");
    assert_eq!(alone.targets, [], "one link does not carry what both do");
    let target = Target { step: Step::Down, after: SECOND, until: 5 * SECOND, rate: 30_000_000 };
    assert_eq!(tunnel.targets, [target]);
}

#[test]
fn what_runs_beside_it() {
    let beside = "[[beside]]\nkind = \"ping\"\ninterval = \"50ms\"\n\
        [[beside]]\nkind = \"echo\"\ninterval = \"100ms\"\n\
        [[beside]]\nkind = \"page\"\npause = \"1s\"\n\
        [[beside]]\nkind = \"none\"\ninterval = \"1s\"";
    let [alone, tunnel] = observed(ROWS, beside);
    let ms = Duration::from_millis;
    let expected = [
        Beside::Ping { interval: ms(50) },
        Beside::Echo { interval: ms(100) },
        Beside::Page { pause: SECOND },
    ];
    assert_eq!(tunnel.beside, expected);
    assert_eq!(alone.beside, expected);
}

#[test]
fn a_rival_is_where_its_link_or_connection_is() {
    let rival = "[[beside]]\nkind = \"rival\"\nover = \"path2\"\nafter = \"1s\"";
    let [alone, tunnel] = observed(ROWS, rival);
    assert_eq!(alone.beside, [], "it goes over the other link");
    let congestion = "cubic".to_owned();
    assert_eq!(tunnel.beside, [Beside::Rival { over: Over::Link(1), after: SECOND, congestion }]);

    let second = "[[beside]]\nkind = \"rival\"\nover = \"second-connection\"";
    let rows = "[\"path1\", { name = \"ours\", second_connection = true }]";
    let [without, with] = observed(rows, second).map(|it| it.beside);
    assert_eq!(without, []);
    assert!(matches!(with[..], [Beside::Rival { over: Over::SecondConnection, .. }]));
}

#[test]
fn flows_may_be_the_laboratorys_own_and_understand_ecn() {
    let text = GOOD.replace("kind = \"tcp\"", "kind = \"bulk\"\necn = true");
    let spec = &full(&text).unwrap().cases[0].spec;
    assert!(matches!(spec.traffic, Traffic::Tcp { own: true, .. }));
    assert!(spec.ecn);
    let spec = &full(GOOD).unwrap().cases[0].spec;
    assert!(matches!(spec.traffic, Traffic::Tcp { own: false, .. }));
    assert!(!spec.ecn);
}

#[test]
fn some_cells_are_measured_more_often() {
    let axis = "values = [{ label = \"0ms\", delay = \"0ms\", times = 1 }, { label = \"10ms\", delay = \"10ms\", times = 3 }]";
    let text = GOOD.replace("values = [\"0ms\", \"10ms\"]", axis);
    let text = text.replace("[traffic]", "[measure]\nrepetitions = \"$times\"\n[traffic]");
    let count = |mode| {
        let plan = plan(&text, &[], mode).unwrap();
        ["0ms", "10ms"].map(|delay| {
            let cases = plan.cases.iter().filter(|case| case.cell["delay"] == delay);
            cases.count() / plan.rows.len()
        })
    };
    assert_eq!(count(Mode::default()), [1, 3]);
    assert_eq!(count(Mode { quick: false, repeat: Some(2) }), [2, 2]);
    assert_eq!(count(Mode { quick: true, repeat: None }), [0, 1]);
}
