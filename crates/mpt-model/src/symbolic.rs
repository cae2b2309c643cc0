//! The cases of the symbolic model (`crates/mpt-model/symbolic`), which Verifpal checks.
//!
//! A case is a model in the language of Verifpal with four kinds of comments that mean something here:
//!
//! - `// include FILE` stands for the lines of another file of the directory. The parts that cases share are in files `*.part`.
//! - `// replace OLD => NEW` replaces a text everywhere in the lines that were included. So a case states what distinguishes it.
//! - `// sessions N` is the number of concurrent sessions of each principal within which Verifpal searches for attacks, instead of [`SESSIONS`].
//! - Each query ends with `// holds` or `// is broken: REASON`, the verdict that the case expects.

use std::fs;
use std::path::Path;

/// The concurrent sessions of each principal within which Verifpal searches for attacks, where a case says nothing else.
pub const SESSIONS: u32 = 2;

/// A model, and what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of its file without the extension.
    pub name: String,
    /// The model that Verifpal reads.
    pub model: String,
    /// The concurrent sessions of each principal.
    pub sessions: u32,
    /// The queries in their order.
    pub queries: Vec<Query>,
}

/// A question to Verifpal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The query in the language of Verifpal.
    pub text: String,
    /// The reason why an attack is expected; `None` if none is.
    pub broken: Option<String>,
}

impl Case {
    /// Reads a case and the files that it includes.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the file and what is wrong with it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let shown = file.display();
        let own = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
        let (mut included, mut model) = (Vec::new(), Vec::new());
        for line in own.lines().filter(|line| !line.starts_with(REPLACE)) {
            let from = model.len();
            include(file, line, &mut model)?;
            included.extend(line.starts_with(INCLUDE).then_some(from..model.len()));
        }
        for rule in own.lines().filter_map(|line| line.strip_prefix(REPLACE)) {
            let (old, new) =
                rule.split_once(" => ").ok_or_else(|| format!("{shown}: no `=>` in `{rule}`"))?;
            let mut count = 0;
            for lines in &included {
                for line in &mut model[lines.clone()] {
                    count += line.matches(old).count();
                    *line = line.replace(old, new);
                }
            }
            if count == 0 {
                return Err(format!("{shown}: `{old}` is in none of the included files"));
            }
        }
        let asked = model.iter().skip_while(|line| *line != "queries[").skip(1);
        let queries = asked
            .take_while(|line| *line != "]")
            .map(|line| {
                Query::parse(line).ok_or_else(|| format!("{shown}: no verdict in `{line}`"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let sessions = match own.lines().find_map(|line| line.strip_prefix("// sessions ")) {
            None => SESSIONS,
            Some(count) => count.parse().map_err(|_| format!("{shown}: {count} sessions"))?,
        };
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, model: model.join("\n") + "\n", sessions, queries })
    }

    /// The code that `verifpal verify --result-code` prints if every verdict is the expected one.
    #[must_use]
    pub fn expected_code(&self) -> String {
        let code = |query: &Query| {
            let kind = query.text.chars().next().unwrap_or_default();
            format!("{kind}{}", u8::from(query.broken.is_some()))
        };
        self.queries.iter().map(code).collect()
    }
}

impl Query {
    fn parse(line: &str) -> Option<Self> {
        let (text, verdict) = line.trim().split_once(" // ")?;
        let broken = match verdict {
            "holds" => None,
            _ => Some(verdict.strip_prefix("is broken: ")?.to_owned()),
        };
        Some(Self { text: text.to_owned(), broken })
    }
}

const INCLUDE: &str = "// include ";
const REPLACE: &str = "// replace ";

/// Appends a line of a file, or the lines that it stands for.
fn include(file: &Path, line: &str, into: &mut Vec<String>) -> Result<(), String> {
    let Some(name) = line.strip_prefix(INCLUDE) else {
        into.push(line.to_owned());
        return Ok(());
    };
    let part = file.with_file_name(name);
    let text = fs::read_to_string(&part).map_err(|error| format!("{}: {error}", part.display()))?;
    text.lines().try_for_each(|line| include(&part, line, into))
}
