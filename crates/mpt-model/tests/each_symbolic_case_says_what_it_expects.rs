//! Each case of the symbolic model can be put together, and says of every query whether it holds. That Verifpal finds the same is for
//! `make model` to show, which installs it.

use std::fs;
use std::path::Path;

use mpt_model::symbolic::Case;

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("symbolic")
}

#[test]
fn whichever_it_is() {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let (cases, parts): (Vec<_>, Vec<_>) =
        files.partition(|file| file.extension().is_some_and(|it| it == "vp"));
    assert!(cases.len() > 10 && !parts.is_empty());
    let (mut holding, mut broken) = (0, 0);
    let mut used = String::new();
    for file in cases {
        used += &fs::read_to_string(&file).unwrap();
        let case = Case::read(&file).unwrap();
        assert!(case.name.len() <= 61, "Verifpal takes names of 64 characters: {}", case.name);
        assert!(case.model.starts_with("// "), "{} says what it is about", case.name);
        assert!(!case.queries.is_empty(), "{}", case.name);
        let are_broken = case.queries.iter().filter(|query| query.broken.is_some()).count();
        holding += case.queries.len() - are_broken;
        broken += are_broken;
        assert_eq!(case.expected_code().len(), 2 * case.queries.len());
    }
    assert!(holding > 50 && broken > 20, "{holding}, {broken}");
    for part in parts {
        used += &fs::read_to_string(&part).unwrap();
    }
    for part in fs::read_dir(directory()).unwrap() {
        let name = part.unwrap().file_name().into_string().unwrap();
        let is_used = used.contains(&format!("// include {name}"));
        assert!(is_used || !name.ends_with(".part"), "{name} is part of no case");
    }
}

#[test]
fn what_is_wrong_with_a_case_is_told() {
    let directory = std::env::temp_dir().join(format!("mpt-symbolic-test-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("a.part"), "principal A[]\n").unwrap();
    let told = |text: &str| {
        let file = directory.join("case.vp");
        fs::write(&file, text).unwrap();
        Case::read(&file).map_err(|error| error.replace(directory.to_str().unwrap(), ""))
    };
    assert!(told("// include b.part\n").unwrap_err().starts_with("/b.part: "));
    assert_eq!(
        told("// replace B => C\n// include a.part\n").unwrap_err(),
        "/case.vp: `B` is in none of the included files"
    );
    assert_eq!(
        told("queries[\n\tconfidentiality? a\n]\n").unwrap_err(),
        "/case.vp: no verdict in `\tconfidentiality? a`"
    );
    let case =
        told("// replace A => B\nA\n// include a.part\nqueries[\n\tfreshness? a // holds\n]\n");
    let case = case.unwrap();
    assert!(case.model.starts_with("A\nprincipal B[]\n"), "{}", case.model);
    assert_eq!(case.expected_code(), "f0");
    fs::remove_dir_all(directory).unwrap();
}
