//! Reads the tables of a file key by key and notes every mistake where it stands, instead of stopping at the first as a derived
//! deserialiser would.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path as FilePath;

use mpt_client::KeyFileError;
use mpt_text::position;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use zeroize::Zeroizing;

use super::diagnostic::Diagnostic;
use super::values::Fault;

/// The least similarity (Jaro-Winkler, 0 to 1) at which an unknown key is taken for a misspelling of a known one.
const ALIKE: f64 = 0.8;

/// The remedy for a wrong boolean.
pub(super) const BOOLEANS: &str = "true or false";

/// The function that reads key files.
pub type KeyReader<'a> = &'a dyn Fn(&FilePath) -> Result<Zeroizing<String>, KeyFileError>;

/// Collects what is found while one file is read.
pub(crate) struct Context<'a> {
    file: &'a str,
    keys: KeyReader<'a>,
    positions: position::Lines,
    errors: RefCell<Vec<Diagnostic>>,
    warnings: RefCell<Vec<Diagnostic>>,
}

/// Something read, and where it stands.
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) lines: Lines,
}

/// The lines of a table and its keys in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    header: usize,
    keys: BTreeMap<String, usize>,
}

impl Lines {
    /// Returns the line of the key, or of the table's header when the file does not hold the key.
    pub(crate) fn of(&self, key: &str) -> usize {
        self.keys.get(key).copied().unwrap_or(self.header)
    }

    /// Line of the table's header.
    pub(crate) fn header(&self) -> usize {
        self.header
    }

    /// True if the file holds the key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(file: &'a str, text: &str, keys: KeyReader<'a>) -> Self {
        Context {
            file,
            keys,
            positions: position::Lines::of(text),
            errors: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// The text of a key file.
    pub(crate) fn read_key(&self, path: &FilePath) -> Result<Zeroizing<String>, KeyFileError> {
        (self.keys)(path)
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        self.positions.line(offset)
    }

    pub(crate) fn error(&self, line: usize, key: &str, message: impl Into<String>) {
        self.errors.borrow_mut().push(self.diagnostic(line, key, message.into()));
    }

    pub(crate) fn warn(&self, line: usize, key: &str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(self.diagnostic(line, key, message.into()));
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.borrow().is_empty()
    }

    /// Errors and warnings, each in the order of the lines.
    pub(crate) fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let sorted = |list: RefCell<Vec<Diagnostic>>| {
            let mut list = list.into_inner();
            list.sort_by_key(|diagnostic| diagnostic.line);
            list
        };
        (sorted(self.errors), sorted(self.warnings))
    }

    fn diagnostic(&self, line: usize, key: &str, message: String) -> Diagnostic {
        // An object that was there before the text was read has no line in it.
        let line = (line > 0).then_some(line);
        Diagnostic { file: self.file.into(), line, key: key.into(), message }
    }
}

/// One table being read. Every key is asked for once, then [`Table::finish`] reports the keys nobody asked for.
pub(crate) struct Table<'a> {
    context: &'a Context<'a>,
    /// Name of the table, with the tables around it; empty for the file itself.
    name: String,
    entries: &'a DeTable<'a>,
    header: usize,
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// The file itself.
    pub(crate) fn root(context: &'a Context<'a>, entries: &'a DeTable<'a>) -> Self {
        Table::named(context, entries, "")
    }

    /// A text that holds the keys of one table only.
    pub(crate) fn named(context: &'a Context<'a>, entries: &'a DeTable<'a>, name: &str) -> Self {
        Table { context, name: name.into(), entries, header: 1, known: Vec::new() }
    }

    /// A string of a fixed form. `parse` says of a bad one what it is not ("is not an IP address"), `write` what to write
    /// instead.
    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        write: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        self.entry(key)?.parse(false, write, parse)
    }

    /// Reads a string of a fixed form like [`Self::parsed`], where an integer may stand for its decimal digits.
    pub(crate) fn scalar<T>(
        &mut self,
        key: &'static str,
        write: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        self.entry(key)?.parse(true, write, parse)
    }

    /// A list of such strings; each element is judged by itself.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        example: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<T>> {
        let entry = self.entry(key)?;
        let DeValue::Array(elements) = entry.value else {
            entry.error(format!("{} is not a list; write [{example}]", show(entry.value)));
            return None;
        };
        let parse_element = |element: &'a Spanned<DeValue<'a>>| {
            Entry {
                line: entry.context.line(element.span().start),
                value: element.get_ref(),
                ..entry.clone()
            }
            .parse(false, example, &parse)
        };
        Some(elements.iter().filter_map(parse_element).collect())
    }

    /// An integer in a range. `noun` names it with its article ("a weight").
    pub(super) fn integer<T: TryFrom<u64>>(
        &mut self,
        key: &'static str,
        noun: &str,
        range: RangeInclusive<u64>,
    ) -> Option<T> {
        let entry = self.entry(key)?;
        let number = match entry.value {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => None,
        };
        let found = number.filter(|n| range.contains(n)).and_then(|n| T::try_from(n).ok());
        if found.is_none() {
            entry.error(format!("{} is not {noun}; write {}", show(entry.value), integers(&range)));
        }
        found
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let entry = self.entry(key)?;
        if let DeValue::Boolean(value) = entry.value {
            return Some(*value);
        }
        entry.error(format!("{} is not a boolean; write {BOOLEANS}", show(entry.value)));
        None
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.parsed(key, &one_of(words), |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|&(_, value)| value).ok_or_else(|| "is not known".into())
        })
    }

    /// A sub-table, `[key]`.
    pub(crate) fn table(&mut self, key: &'static str) -> Option<Table<'a>> {
        let entry = self.entry(key)?;
        match entry.value {
            DeValue::Table(entries) => Some(entry.table(entries, entry.line)),
            DeValue::Array(_) => {
                entry.error(format!(
                    "there is only one; write [{}], with single brackets",
                    entry.key
                ));
                None
            }
            other => {
                entry.error(format!("{} is not a table; write [{}]", show(other), entry.key));
                None
            }
        }
    }

    /// Sub-tables, `[[key]]`. Whether the file holds the key at all is told by [`Table::has`].
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<Table<'a>> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let wrong = |line, what: String| {
            entry.context.error(line, &entry.key, format!("{what}; write [[{}]]", entry.key));
            None
        };
        match entry.value {
            DeValue::Array(elements) => elements
                .iter()
                .filter_map(|element| {
                    let line = entry.context.line(element.span().start);
                    match element.get_ref() {
                        DeValue::Table(entries) => Some(entry.table(entries, line)),
                        other => wrong(line, format!("{} is not a table", show(other))),
                    }
                })
                .collect(),
            DeValue::Table(_) => {
                wrong(entry.line, "there may be several, so the brackets are double".into());
                Vec::new()
            }
            other => {
                wrong(entry.line, format!("{} is not a table", show(other)));
                Vec::new()
            }
        }
    }

    /// True if the value of the key is just this word.
    pub(crate) fn is_word(&self, key: &str, word: &str) -> bool {
        let value = self.find(key).map(|(_, value)| value.get_ref());
        matches!(value, Some(DeValue::String(text)) if text == word)
    }

    /// Line of the key, or of the table's header when the file does not hold the key.
    pub(crate) fn line(&self, key: &str) -> usize {
        self.find(key).map_or(self.header, |(at, _)| self.context.line(at.span().start))
    }

    /// True if the file holds the key, be its value good or bad.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Reports a key that must be there and is not.
    pub(crate) fn require(&self, key: &str, write: &str) {
        if !self.has(key) {
            self.context.error(self.header, &self.path(key), format!("missing; write {write}"));
        }
    }

    /// Reports the keys that were not read, and returns the lines of all.
    pub(crate) fn finish(self) -> Lines {
        let mut lines = Lines { header: self.header, keys: BTreeMap::new() };
        for (key, _) in self.entries {
            let line = self.context.line(key.span().start);
            let name: &str = key.get_ref();
            lines.keys.insert(name.to_owned(), line);
            if !self.known.contains(&name) {
                let message = self.suggestion(name);
                self.context.error(line, &self.path(&name.escape_debug().to_string()), message);
            }
        }
        lines
    }

    fn suggestion(&self, unknown: &str) -> String {
        let nearest = (self.known.iter())
            .map(|known| (strsim::jaro_winkler(known, &unknown.to_lowercase()), known))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match nearest {
            Some((likeness, known)) if likeness >= ALIKE => {
                format!("unknown key; did you mean {known}?")
            }
            _ => format!("unknown key; write one of {}", self.known.join(", ")),
        }
    }

    fn entry(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        let path = self.path(key);
        let (at, value) = self.find(key)?;
        let line = self.context.line(at.span().start);
        Some(Entry { context: self.context, key: path, line, value: value.get_ref() })
    }

    fn find(
        &self,
        key: &str,
    ) -> Option<(&'a Spanned<toml::de::DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key)
    }

    /// The key with the tables around it.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

/// One value being read.
#[derive(Clone)]
struct Entry<'a> {
    context: &'a Context<'a>,
    key: String,
    line: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Entry<'a> {
    fn parse<T>(
        &self,
        or_integer: bool,
        write: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let outcome = match self.value {
            DeValue::String(text) => parse(text),
            DeValue::Integer(integer) if or_integer => {
                match u64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(number) => parse(&number.to_string()),
                    Err(_) => Err("is out of range".into()),
                }
            }
            _ => Err("is not a string".into()),
        };
        outcome
            .map_err(|Fault { fault, instead }| {
                let write = instead.as_deref().unwrap_or(write);
                self.error(format!("{} {fault}; write {write}", show(self.value)));
            })
            .ok()
    }

    fn table(&self, entries: &'a DeTable<'a>, header: usize) -> Table<'a> {
        Table { context: self.context, name: self.key.clone(), entries, header, known: Vec::new() }
    }

    fn error(&self, message: String) {
        self.context.error(self.line, &self.key, message);
    }
}

/// Returns what to write for an integer in a range.
pub(super) fn integers(range: &RangeInclusive<u64>) -> String {
    format!("an integer from {} to {}", range.start(), range.end())
}

/// Returns what to write for one of a few words.
pub(super) fn one_of<T>(words: &[(&str, T)]) -> String {
    let quoted: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// A value as it would stand in the file, cut to a readable length, control characters escaped.
fn show(value: &DeValue<'_>) -> String {
    const LONGEST: usize = 60;
    let cut = |text: &str| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    };
    match value {
        DeValue::String(text) => format!("\"{}\"", cut(text)),
        DeValue::Integer(integer) => cut(&integer.to_string()),
        DeValue::Float(float) => cut(&float.to_string()),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(datetime) => datetime.to_string(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
