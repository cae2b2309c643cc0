//! The experiments that come with the laboratory.

use std::collections::BTreeSet;

use super::super::*;
use crate::experiments::case::Method;

#[test]
fn every_experiment_of_the_catalogue_is_right() {
    for name in names() {
        for quick in [false, true] {
            let plan = load(name, &[], Mode { quick, repeat: None }).unwrap();
            assert!(!plan.cases.is_empty() && !plan.about.is_empty(), "{name}");
        }
    }
}

/// The experiments on networks of which nothing is configured, with the number of cells in which each has the adaptive row.
const NOTHING_CONFIGURED: [(&str, usize); 12] = [
    ("real-networks", 13),
    ("papers-cells", 14),
    ("many-flows", 12),
    ("path-sets", 3),
    ("hard-links", 14),
    ("rate-steps", 1),
    ("competing", 4),
    ("latency", 8),
    ("pages", 7),
    ("lossy-networks", 14),
    ("lossy-streams", 1),
    ("repair-cost", 4),
];

/// The row that has to find everything out gets only the addresses and keys of its paths.
#[test]
fn networks_of_which_nothing_is_configured_are_that() {
    for (name, cells) in NOTHING_CONFIGURED {
        let plan = load(name, &[], Mode::default()).unwrap();
        assert!(plan.strict, "{name}");
        let adaptive: Vec<_> = plan.cases.iter().filter(|case| case.row == "adaptive").collect();
        for case in &adaptive {
            let Method::Tunnel(tunnel) = &case.spec.method else { panic!("{name}: no tunnel") };
            assert!(tunnel.session);
            assert!(tunnel.connection.is_empty(), "{name}: {:?}", tunnel.connection);
            for path in tunnel.paths_a.iter().chain(&tunnel.paths_b) {
                assert!(path.is_empty(), "{name}: {path:?}");
            }
        }
        let found: BTreeSet<_> = adaptive.iter().map(|case| &case.cell).collect();
        assert_eq!(found.len(), cells, "{name}");
        let judged = plan.expectations.iter().any(|it| it.row == "adaptive" && !it.goal);
        assert!(judged, "{name} demands nothing");
    }
}

/// Networks in which a few random losses decide the result of a run are measured more often.
#[test]
fn lossy_cells_of_the_real_networks_are_measured_five_times() {
    let plan = load("real-networks", &[], Mode::default()).unwrap();
    let times = |network: &str| {
        let cases = plan.cases.iter().filter(|case| case.cell["network"] == network);
        cases.filter(|case| case.row == "adaptive").count()
    };
    assert_eq!(["baseline", "loss_05", "loss_2", "congested"].map(times), [3, 5, 5, 5]);
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
