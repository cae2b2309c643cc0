//! Links between the documents lead to files and headings that exist, and the index names every document.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All documents: those of the root and of docs.
fn documents() -> Vec<PathBuf> {
    let files = [root(), root().join("docs")].map(|it| fs::read_dir(it).unwrap());
    let files = files.into_iter().flatten().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|it| it == "md")).collect()
}

/// The text without blocks and pieces of code.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<String>();
    outside.lines().map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

/// The targets of all links and pictures.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The anchor that a heading gets: lower case, without punctuation, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let outside = text.split("```").step_by(2).collect::<String>();
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn to_a_file_and_a_heading() {
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&prose(&text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: {link} leads nowhere", document.display());
            if !heading.is_empty() && target.extension().is_some_and(|it| it == "md") {
                let known = anchors(&fs::read_to_string(&target).unwrap());
                let place = document.display();
                assert!(known.contains(heading), "{place}: {link} leads to no heading: {known:#?}");
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn the_index_names_every_document() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let named: BTreeSet<_> = links(&prose(&index)).into_iter().collect();
    for document in documents() {
        let name = document.file_name().unwrap().to_str().unwrap().to_owned();
        let in_docs = document.parent().unwrap().ends_with("docs");
        let link = if in_docs { name.clone() } else { format!("../{name}") };
        assert!(named.contains(&link) || document.ends_with("docs/README.md"), "{link}");
    }
}

/// Each reader has a part of the index, and the repository has what people look for there.
#[test]
fn the_index_has_a_part_for_each_reader() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let parts: Vec<_> = index.split("\n## ").skip(1).collect();
    let readers: Vec<_> = parts.iter().filter_map(|part| part.lines().next()).collect();
    let expected = ["For users", "For operators", "For researchers", "For developers"];
    assert_eq!(readers, expected);
    assert!(parts.iter().all(|part| links(part).len() >= 3), "{index}");
    for file in ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.lines().count() > 10, "{file}: {text}");
    }
}

/// The README answers a stranger's questions in this order.
#[test]
fn the_readme_begins_with_the_product() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let parts = [
        "docs/pictures/diagram.svg",
        "docs/pictures/dashboard.png",
        "docs/pictures/top.png",
        "## Quick start",
        "## Numbers",
        "## How it compares",
        "## What it does not do",
        "## Questions",
        "docs/README.md",
    ];
    let places = parts.map(|part| readme.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
}
