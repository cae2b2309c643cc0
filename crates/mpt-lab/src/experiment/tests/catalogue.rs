//! The experiments that come with the laboratory.

use super::super::*;
use crate::case::Method;

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
