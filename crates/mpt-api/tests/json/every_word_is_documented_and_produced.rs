//! The words of the API are those that docs/control-api.md explains, and the daemon's source makes each of them: no
//! program waits for a value that never comes, or meets one that no document has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mpt_api::session::SessionCode;
use mpt_api::snapshot::MtuSource;
use mpt_api::{
    AtCap, CapCounts, CapPeriod, Code, Command, ConnectionState, DataState, Direction,
    Disagreement, DownReason, Ecn, Equalize, EventKind, Late, LossReason, Mapping, Offload,
    PathState, Permission, Seal, SessionRole, SessionState,
};
use strum::VariantNames;

/// An enumeration of the API.
struct Words {
    /// The first cell of the head of its table in the document.
    head: &'static str,
    /// Its name in Rust.
    name: &'static str,
    /// Its values, without the one that stands for those of a later daemon.
    values: BTreeSet<String>,
}

fn words<T: VariantNames>(head: &'static str) -> Words {
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    let known = T::VARIANTS.iter().filter(|&&word| word != "unknown");
    Words { head, name, values: known.map(|&word| word.to_owned()).collect() }
}

/// Every enumeration, by its table.
fn all() -> Vec<Words> {
    vec![
        words::<Command>("command"),
        words::<Code>("code"),
        words::<EventKind>("event"),
        words::<LossReason>("`reason` of an event"),
        words::<Permission>("`allow`"),
        words::<ConnectionState>("`state` of a connection"),
        words::<Direction>("`direction` of a connection"),
        words::<Mapping>("`mapping` of a connection"),
        words::<Ecn>("`ecn` of a connection"),
        words::<Seal>("`seal` of a session"),
        words::<DataState>("`data` of a session"),
        words::<Late>("`late_policy` of a window"),
        words::<Equalize>("`equalize` of a window"),
        words::<PathState>("`state` of a path"),
        words::<DownReason>("`down` of a path"),
        words::<CapPeriod>("`period` of a cap"),
        words::<CapCounts>("`counts` of a cap"),
        words::<AtCap>("`at_cap` of a cap"),
        words::<Disagreement>("`disagreement` of a connection"),
        words::<MtuSource>("`mtu_source` of a path"),
        words::<SessionState>("`state` of a session"),
        words::<SessionRole>("`role` of a session"),
        words::<Offload>("`offloads` of a device"),
        words::<SessionCode>("error"),
    ]
}

/// The words in backticks in the first column of the table whose head begins with this cell.
fn documented(page: &str, head: &str) -> BTreeSet<String> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    assert!(lines.next().is_some(), "docs/control-api.md has no table of {head}");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1).map(str::to_owned));
    let word = |cell: String| {
        let words: Vec<_> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!words.is_empty(), "{head}: {cell} is no word");
        words
    };
    cells.flat_map(word).collect()
}

#[test]
fn the_document_explains_every_value_and_no_other() {
    let page = include_str!("../../../../docs/control-api.md");
    for Words { head, values, .. } in all() {
        assert_eq!(documented(page, head), values, "{head}");
    }
}

/// The enumerations whose values come to the daemon as words, in requests and in its file.
const READ: [&str; 6] = ["Command", "Permission", "Ecn", "CapPeriod", "CapCounts", "AtCap"];

#[test]
fn the_daemon_produces_every_value() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut source = String::new();
    // Requests are refused where they are read, and settings have the words of the API.
    let folders = ["../mptd/src", "src"];
    folders.iter().for_each(|folder| read(&here.join(folder), &mut source));
    for Words { name, values, .. } in all() {
        for value in values {
            let words = value.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
            let variant = format!("{name}::{}", words.collect::<String>());
            let mut places = source.match_indices(&variant).filter(|(at, _)| {
                !source[at + variant.len()..].starts_with(|next: char| next.is_alphanumeric())
            });
            let is_produced = |at: usize| is_expression(&source, at, at + variant.len());
            let is_named = places.any(|(at, _)| READ.contains(&name) || is_produced(at));
            assert!(is_named, "the daemon never says {variant}");
        }
    }
}

/// True if the variant that stands from `start` to `end` is made there, false if something is compared with it: by a pattern or by `==`.
fn is_expression(source: &str, start: usize, end: usize) -> bool {
    let before =
        source[..start].trim_end_matches(|it: char| it.is_alphanumeric() || "_:".contains(it));
    // What wraps it: `Some(`, `&`, `(`.
    let before = before.trim_end_matches(['(', '&', ' ', '\n']);
    let before = before.trim_end_matches("Some").trim_end();
    let compares = ["==", "!=", "if let", "while let", " let", "|"];
    if compares.iter().any(|it| before.ends_with(it)) || is_within_matches(before) {
        return false;
    }
    let mut rest = source[end..].trim_start();
    // Its fields, if it has any, and the ends of what wraps it.
    if let Some((open, close)) =
        [('{', '}'), ('(', ')')].into_iter().find(|it| rest.starts_with(it.0))
    {
        let mut depth = 0;
        let closed = rest.find(|it: char| {
            depth += i32::from(it == open) - i32::from(it == close);
            depth == 0
        });
        rest = &rest[closed.expect("it is closed") + 1..];
    }
    let rest = rest.trim_start_matches([')', ' ', '\n']);
    let compares = ["=>", "if ", "| ", "= ", "==", "!=", ", .."];
    !compares.iter().any(|it| rest.starts_with(it))
}

/// True if the text ends within the parentheses of a `matches!`.
fn is_within_matches(before: &str) -> bool {
    let statement = before.rsplit([';', '{', '}']).next().unwrap_or_default();
    statement
        .rsplit_once("matches!")
        .is_some_and(|(_, behind)| behind.matches('(').count() > behind.matches(')').count())
}

#[test]
fn a_value_that_is_only_compared_with_is_not_produced() {
    for (line, is_made) in [
        ("Err(Failure::new(Code::Busy, text))", true),
        ("reason: Code::Busy,", true),
        ("let code = Code::Busy;", true),
        ("if wrong { Code::Busy } else { other }", true),
        ("Code::Busy => 5,", false),
        ("Code::Busy | Code::Failed => 5,", false),
        ("Some(Code::Busy) if late => 5,", false),
        ("Code::Busy { of } => 5,", false),
        ("if let Some(Code::Busy { of: Some(it) }) = code {", false),
        ("code == Code::Busy", false),
        ("matches!(code, Code::Failed | Code::Busy)", false),
        ("matches!(code, Code::Busy)", false),
        ("Failure { code: Code::Busy, .. } => 5,", false),
    ] {
        let at = line.find("Code::Busy").unwrap();
        assert_eq!(is_expression(line, at, at + "Code::Busy".len()), is_made, "{line}");
    }
}

/// Appends the Rust files of a folder, without their unit tests.
fn read(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let whole = fs::read_to_string(path).unwrap();
            let code = whole.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code.lines() {
                text.push_str(line.split("//").next().unwrap_or_default());
                text.push('\n');
            }
        }
    }
}
