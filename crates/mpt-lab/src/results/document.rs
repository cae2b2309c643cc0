//! Tables in documents that people write: only the lines between two markers are generated.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::results::files::replace;

const BEGIN: &str = "<!-- results: ";
const BEGIN_CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// The markers of a document, after it was filled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Names of the markers whose tables were written.
    pub(crate) written: Vec<String>,
    /// Markers without results, whose text stayed as it was.
    pub(crate) left: Vec<String>,
}

/// Replaces the text between `<!-- results: NAME -->` and `<!-- end -->` in the file by what `tables` returns for the name.
///
/// # Errors
///
/// Fails when the file cannot be read or written, or when a marker has no counterpart: then nothing is written.
pub(crate) fn fill(file: &Path, tables: impl Fn(&str) -> Option<String>) -> Result<Filled> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (text, filled) = put(&text, tables).with_context(|| file.display().to_string())?;
    replace(file, text.as_bytes())?;
    Ok(filled)
}

fn put(text: &str, tables: impl Fn(&str) -> Option<String>) -> Result<(String, Filled)> {
    let mut result = String::with_capacity(text.len());
    let mut filled = Filled::default();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = lines.next() {
        result += line;
        let Some(name) = begins(line) else {
            if line.trim() == END {
                bail!("line {}: {END} without a beginning", number + 1);
            }
            continue;
        };
        let mut old = String::new();
        let end = loop {
            match lines.next() {
                Some((_, line)) if line.trim() == END => break line,
                Some((_, line)) if begins(line).is_none() => old += line,
                _ => bail!("line {}: {BEGIN}{name}{BEGIN_CLOSE} without {END}", number + 1),
            }
        };
        match tables(name) {
            Some(new) => {
                result += &format!("\n{new}\n");
                filled.written.push(name.to_owned());
            }
            None => {
                result += &old;
                filled.left.push(name.to_owned());
            }
        }
        result += end;
    }
    Ok((result, filled))
}

fn begins(line: &str) -> Option<&str> {
    line.trim().strip_prefix(BEGIN)?.strip_suffix(BEGIN_CLOSE).map(str::trim)
}

/// Returns text from a file as the text of one cell of a table: nothing in it is Markdown, HTML or a new line.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = "# Title\r\n<!-- results: a -->\nold\n\nold\n<!-- end -->\nbetween\n\
                    \x20 <!-- results: b -->\nkept\n<!-- end -->\n<!-- results: a -->\n<!-- end -->";
        let (filled, what) = put(text, |name| (name == "a").then(|| "NEW\n".to_owned())).unwrap();
        let expected = "# Title\r\n<!-- results: a -->\n\nNEW\n\n<!-- end -->\nbetween\n\
                        \x20 <!-- results: b -->\nkept\n<!-- end -->\n<!-- results: a -->\n\nNEW\n\n<!-- end -->";
        assert_eq!(filled, expected);
        assert_eq!((what.written, what.left), (vec!["a".into(), "a".into()], vec!["b".into()]));
        let (again, _) = put(&filled, |name| (name == "a").then(|| "NEW\n".to_owned())).unwrap();
        assert_eq!(again, filled, "writing twice is writing once");
        assert_eq!(put("no markers", |_| None).unwrap().0, "no markers");
    }

    #[test]
    fn markers_without_a_counterpart_are_named() {
        let bad = [
            ("one\n<!-- results: a -->\nx\n", "line 2: <!-- results: a --> without <!-- end -->"),
            ("<!-- end -->\n", "line 1: <!-- end --> without a beginning"),
            (
                "<!-- results: a -->\n<!-- results: b -->\n<!-- end -->\n",
                "line 1: <!-- results: a --> without <!-- end -->",
            ),
        ];
        for (text, expected) in bad {
            let error = put(text, |_| Some(String::new())).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_file_with_a_bad_marker_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("experiments.md");
        fs::write(&file, "<!-- results: a -->\n").unwrap();
        let error = format!("{:#}", fill(&file, |_| None).unwrap_err());
        assert!(error.contains("experiments.md: line 1"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "<!-- results: a -->\n");
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        assert_eq!(escaped("a|b\n<i>`*_"), "a\\|b &lt;i&gt;\\`\\*\\_");
    }
}
