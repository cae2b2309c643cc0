//! The forms in which values stand in the file: how each is read, how it is written, and what a reader is asked to write.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml_edit::{Array, Value};

use super::reader::{self, Table};
use super::values::{self, Fault};

/// A form of values of the type `V`.
pub(crate) trait Form<V>: Sync {
    /// Reads the value of a key. `None`: it is not there, or is bad, which is then reported.
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<V>;

    /// Returns the value as it is written into the file.
    fn write(&self, value: &V) -> Value;

    /// Says what to write: "an integer from 1 to 65535".
    fn describe(&self) -> String;

    /// Says between which limits values lie, where [`Form::describe`] says no more: "1 to 65535".
    fn limits(&self) -> Option<String> {
        None
    }
}

/// A string.
pub(crate) struct Text<V: 'static> {
    write: &'static str,
    parse: fn(&str) -> Result<V, Fault>,
    show: fn(&V) -> String,
    /// True if an integer may stand for its decimal digits.
    digits: bool,
}

/// A string. `parse` says of a bad one what it is not, `write` what to write instead.
pub(crate) const fn text<V>(
    write: &'static str,
    parse: fn(&str) -> Result<V, Fault>,
    show: fn(&V) -> String,
) -> Text<V> {
    Text { write, parse, show, digits: false }
}

/// A string of a fixed form like [`text`], where an integer may stand for its decimal digits.
pub(crate) const fn scalar<V>(
    write: &'static str,
    parse: fn(&str) -> Result<V, Fault>,
    show: fn(&V) -> String,
) -> Text<V> {
    Text { write, parse, show, digits: true }
}

impl<V> Form<V> for Text<V> {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<V> {
        match self.digits {
            true => table.scalar(key, self.write, self.parse),
            false => table.parsed(key, self.write, self.parse),
        }
    }

    fn write(&self, value: &V) -> Value {
        let text = (self.show)(value);
        match text.parse::<i64>() {
            Ok(number) if self.digits => number.into(),
            _ => text.into(),
        }
    }

    fn describe(&self) -> String {
        self.write.to_owned()
    }
}

/// A list of strings, each of which is judged by itself.
pub(crate) struct List<V: 'static> {
    /// Elements as they would stand between the brackets.
    pub(crate) example: &'static str,
    pub(crate) parse: fn(&str) -> Result<V, Fault>,
    pub(crate) show: fn(&V) -> String,
}

impl<V> Form<Vec<V>> for List<V> {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<Vec<V>> {
        table.list(key, self.example, self.parse)
    }

    fn write(&self, value: &Vec<V>) -> Value {
        Value::Array(value.iter().map(self.show).collect::<Array>())
    }

    fn describe(&self) -> String {
        format!("a list such as [{}]", self.example)
    }
}

/// An integer in a range. `noun` names it with its article ("a weight").
pub(crate) struct Integer {
    pub(crate) noun: &'static str,
    pub(crate) range: RangeInclusive<u64>,
}

/// A port to listen on or to send to.
pub(crate) const PORT: Integer = Integer { noun: "a port", range: 1..=65_535 };

impl<V: TryFrom<u64> + Copy + Into<i64>> Form<V> for Integer {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<V> {
        table.integer(key, self.noun, self.range.clone())
    }

    fn write(&self, value: &V) -> Value {
        Value::from((*value).into())
    }

    fn describe(&self) -> String {
        reader::integers(&self.range)
    }

    fn limits(&self) -> Option<String> {
        // Everybody knows those of ports.
        (self.noun != PORT.noun).then(|| format!("{} to {}", self.range.start(), self.range.end()))
    }
}

/// `true` or `false`.
pub(crate) struct Boolean;

impl Form<bool> for Boolean {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<bool> {
        table.boolean(key)
    }

    fn write(&self, value: &bool) -> Value {
        (*value).into()
    }

    fn describe(&self) -> String {
        reader::BOOLEANS.to_owned()
    }
}

/// One of a few words, each with its value.
pub(crate) struct Choice<V: 'static>(pub(crate) &'static [(&'static str, V)]);

impl<V: Copy + PartialEq + Sync> Form<V> for Choice<V> {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<V> {
        table.choice(key, self.0)
    }

    fn write(&self, value: &V) -> Value {
        word(self.0, value).into()
    }

    fn describe(&self) -> String {
        reader::one_of(self.0)
    }
}

/// A list of such words. `fault` says of another one what it is not.
pub(crate) struct Choices<V: 'static> {
    pub(crate) words: fn() -> Vec<(&'static str, V)>,
    pub(crate) fault: &'static str,
}

impl<V: Copy + PartialEq + Sync> Form<Vec<V>> for Choices<V> {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<Vec<V>> {
        table.list(key, &self.all(), |text| {
            let found = (self.words)().into_iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| value).ok_or_else(|| self.fault.into())
        })
    }

    fn write(&self, value: &Vec<V>) -> Value {
        let words = (self.words)();
        Value::Array(value.iter().map(|value| word(&words, value)).collect::<Array>())
    }

    fn describe(&self) -> String {
        format!("a list of {}", self.all())
    }
}

impl<V> Choices<V> {
    fn all(&self) -> String {
        let words: Vec<_> = (self.words)().iter().map(|(word, _)| format!("\"{word}\"")).collect();
        words.join(", ")
    }
}

fn word<V: PartialEq>(words: &[(&'static str, V)], value: &V) -> &'static str {
    words.iter().find(|(_, it)| it == value).map_or("", |(word, _)| word)
}

/// A time with its unit.
pub(crate) struct Time {
    range: RangeInclusive<Duration>,
    /// True if 0 is allowed besides, and stands for "never".
    or_zero: bool,
}

/// A time in a range.
pub(crate) const fn time(range: RangeInclusive<Duration>) -> Time {
    Time { range, or_zero: false }
}

/// A time in a range, or 0.
pub(crate) const fn time_or_zero(range: RangeInclusive<Duration>) -> Time {
    Time { range, or_zero: true }
}

impl Form<Duration> for Time {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<Duration> {
        table.scalar(key, &self.describe(), |text| {
            if self.or_zero && text.trim() == "0" {
                return Ok(Duration::ZERO);
            }
            let time = values::duration(text)?;
            self.range.contains(&time).then_some(time).ok_or_else(|| "is out of range".into())
        })
    }

    fn write(&self, value: &Duration) -> Value {
        match value.is_zero() {
            true => "0".into(),
            false => values::time(*value).into(),
        }
    }

    fn describe(&self) -> String {
        format!("a time from {}", self.between())
    }

    fn limits(&self) -> Option<String> {
        Some(self.between())
    }
}

impl Time {
    fn between(&self) -> String {
        let (start, end) = (values::time(*self.range.start()), values::time(*self.range.end()));
        let zero = if self.or_zero { ", or \"0\"" } else { "" };
        format!("\"{start}\" to \"{end}\"{zero}")
    }
}
