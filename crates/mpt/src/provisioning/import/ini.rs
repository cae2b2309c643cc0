//! The prototype's dialect of INI files, read as it reads them: keys without regard to case, comments from `;` or `#`, quotes, a backslash at the end
//! of a line that goes on, numbers as in C. Text on which the prototype would choke, or which it would drop, is taken if its meaning is clear, with a
//! warning.

use std::collections::BTreeMap;

use super::original::Warnings;

/// Longest line that the prototype reads, in bytes.
const LONGEST_LINE: usize = 1024;

/// A file: sections of keys, all in lower case.
#[derive(Debug, Default)]
pub(super) struct Ini {
    file: String,
    sections: BTreeMap<String, Section>,
}

/// One section.
#[derive(Debug, Default)]
struct Section {
    line: usize,
    keys: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    value: String,
    asked: bool,
}

impl Ini {
    /// True if a text is such a file: it has a section.
    pub(super) fn is_one(text: &str) -> bool {
        text.lines().any(|line| line.trim_start().starts_with('['))
    }

    pub(super) fn read(file: &str, text: &str, warnings: &mut Warnings) -> Self {
        let mut ini = Self { file: file.to_owned(), ..Self::default() };
        if !text.is_empty() && !text.ends_with('\n') {
            let what = "the last line has no end, and mptsrv drops it: taken";
            warnings.add(format!("{file}:{}", text.lines().count()), what);
        }
        let mut section = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((index, first)) = lines.next() {
            let place = format!("{file}:{}", index + 1);
            let mut line = first.trim().to_owned();
            while line.ends_with('\\') {
                line.pop();
                line.push_str(lines.next().map_or("", |(_, next)| next).trim());
            }
            if line.len() > LONGEST_LINE {
                let what = format!("longer than {LONGEST_LINE} bytes, and mptsrv drops it: taken");
                warnings.add(&place, what);
            }
            if line.is_empty() || line.starts_with([';', '#']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                match rest.split_once(']') {
                    Some((name, _)) => {
                        section = name.trim().to_lowercase();
                        ini.sections.entry(section.clone()).or_default().line = index + 1;
                    }
                    None => warnings.add(&place, "a section without its bracket: ignored"),
                }
            } else if let Some((key, value)) = line.split_once('=') {
                let key = key.trim().to_lowercase();
                let entry = Entry { line: index + 1, value: unquoted(value), asked: false };
                let keys = &mut ini.sections.entry(section.clone()).or_default().keys;
                if let Some(before) = keys.insert(key.clone(), entry) {
                    let what =
                        format!("{key} was in line {} already: this one counts", before.line);
                    warnings.add(&place, what);
                }
            } else {
                warnings
                    .add(&place, "neither section nor key, and mptsrv refuses the file: ignored");
            }
        }
        ini
    }

    /// The place at which a section begins, for warnings.
    pub(super) fn place(&self, section: &str) -> String {
        match self.sections.get(section) {
            Some(found) => format!("{}:{}", self.file, found.line),
            None => self.file.clone(),
        }
    }

    pub(super) fn has(&self, section: &str) -> bool {
        self.sections.contains_key(section)
    }

    /// The value of a key with the place where it stands; an empty one is none.
    pub(super) fn text(&mut self, section: &str, key: &str) -> Option<(String, String)> {
        let entry = self.sections.get_mut(section)?.keys.get_mut(key)?;
        entry.asked = true;
        let place = format!("{}:{}", self.file, entry.line);
        (!entry.value.is_empty()).then(|| (entry.value.clone(), place))
    }

    /// A number as C reads it: octal with a 0 before it, hexadecimal with 0x.
    pub(super) fn number(
        &mut self,
        section: &str,
        key: &str,
        warnings: &mut Warnings,
    ) -> Option<u64> {
        let (text, place) = self.text(section, key)?;
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let octal = text.strip_prefix('0').filter(|rest| !rest.is_empty());
        let number = match (hexadecimal, octal) {
            (Some(digits), _) => u64::from_str_radix(digits, 16),
            (None, Some(digits)) => u64::from_str_radix(digits, 8),
            (None, None) => text.parse(),
        };
        match number {
            Ok(number) => {
                if hexadecimal.is_none() && octal.is_some() {
                    let what = format!("{key} = {text} is octal to mptsrv: taken as {number}");
                    warnings.add(place, what);
                }
                Some(number)
            }
            Err(_) => {
                warnings.add(place, format!("{key} = \"{text}\" is no number: ignored"));
                None
            }
        }
    }

    /// Tells of all keys that nobody asked for, and sections that nobody knows.
    pub(super) fn finish(self, known: impl Fn(&str) -> bool, warnings: &mut Warnings) {
        for (name, section) in &self.sections {
            if !known(name) {
                let place = format!("{}:{}", self.file, section.line);
                warnings.add(place, format!("section [{name}] is not known: ignored"));
                continue;
            }
            for (key, entry) in section.keys.iter().filter(|(_, entry)| !entry.asked) {
                let place = format!("{}:{}", self.file, entry.line);
                warnings.add(place, format!("{key} is not known to mptsrv either: ignored"));
            }
        }
    }
}

/// A value without its quotes or the comment behind it.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote)
            && let Some((inside, _)) = rest.split_once(quote)
        {
            return inside.to_owned();
        }
    }
    value.split([';', '#']).next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Ini, Warnings) {
        let mut warnings = Warnings::default();
        (Ini::read("x.conf", text, &mut warnings), warnings)
    }

    #[test]
    fn keys_comments_quotes_and_continued_lines() {
        let (mut ini, warnings) = read(
            "; a comment\n[Connection]\nNAME = office # here\nquoted = \"a;b\" ; there\nlong = 1\\\n2\nempty =\n",
        );
        let mut text = |key: &str| ini.text("connection", key).map(|it| it.0);
        assert_eq!(text("name").as_deref(), Some("office"));
        assert_eq!(text("quoted").as_deref(), Some("a;b"));
        assert_eq!(text("long").as_deref(), Some("12"));
        assert_eq!((text("empty"), text("missing")), (None, None));
        assert_eq!(warnings.all(), [""; 0]);
    }

    #[test]
    fn numbers_are_those_of_c() {
        let (mut ini, mut warnings) = read("[a]\nd = 10\no = 010\nx = 0x10\nz = 0\nbad = ten\n");
        let numbers = ["d", "o", "x", "z", "bad"].map(|key| ini.number("a", key, &mut warnings));
        assert_eq!(numbers, [Some(10), Some(8), Some(16), Some(0), None]);
        assert_eq!(
            warnings.all(),
            [
                "x.conf:3: o = 010 is octal to mptsrv: taken as 8",
                "x.conf:6: bad = \"ten\" is no number: ignored"
            ]
        );
    }

    #[test]
    fn oddities_are_told_with_their_lines() {
        let (ini, mut warnings) = read("[a]\nx = 1\nx = 2\nnonsense\n[b\n[c]\ny = 3");
        ini.finish(|name| name == "a", &mut warnings);
        assert_eq!(
            warnings.all(),
            [
                "x.conf:7: the last line has no end, and mptsrv drops it: taken",
                "x.conf:3: x was in line 2 already: this one counts",
                "x.conf:4: neither section nor key, and mptsrv refuses the file: ignored",
                "x.conf:5: a section without its bracket: ignored",
                "x.conf:3: x is not known to mptsrv either: ignored",
                "x.conf:6: section [c] is not known: ignored",
            ]
        );
    }
}
