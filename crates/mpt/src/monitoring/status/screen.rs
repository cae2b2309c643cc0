//! Lines of coloured text that fit a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

/// The style of what works.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of what works in part.
pub(crate) const FAIR: Style = AnsiColor::Yellow.on_default();
/// The style of what does not work.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of names.
pub(crate) const STRONG: Style = Style::new().bold();
/// The style of details.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// The style of everything else.
pub(crate) const PLAIN: Style = Style::new();

/// The mark in place of text that does not fit.
const CUT: char = '~';

/// One line of pieces, each with its style.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    /// Returns a line without text.
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Adds a piece. Control characters become question marks: a terminal shall not obey what a daemon elsewhere sends.
    pub(crate) fn with(mut self, style: Style, text: impl AsRef<str>) -> Line {
        let printable = |c: char| if c.is_control() { '?' } else { c };
        self.0.push((style, text.as_ref().chars().map(printable).collect()));
        self
    }

    /// Returns the number of its characters.
    pub(crate) fn length(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Returns its pieces, each with its style.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Style, &str)> {
        self.0.iter().map(|(style, text)| (*style, text.as_str()))
    }

    /// Returns the text of at most `width` characters, with the sequences that a terminal takes for colours.
    pub(crate) fn fitted(&self, width: usize) -> String {
        let length = self.length();
        let mut room = if length > width { width.saturating_sub(1) } else { width };
        let mut shown = String::new();
        for (style, text) in &self.0 {
            let piece: String = text.chars().take(room).collect();
            room -= piece.chars().count();
            let _ = write!(shown, "{style}{piece}{style:#}");
        }
        if length > width && width > 0 {
            shown.push(CUT);
        }
        shown
    }
}

/// Returns a name of at most `width` characters: names often differ in their last characters, so what is left out is in the middle.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width || width == 0 {
        return name.chars().take(width).collect();
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let start = name.chars().take(head);
    start.chain([CUT]).chain(name.chars().skip(length - tail)).collect()
}

/// Splits a sentence into lines of at most `width` characters, the later ones of which are indented. Longer words are split.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = indent.min(width - 1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let start = if lines.len() > 1 { indent } else { 0 };
            let space = usize::from(used > start);
            if used + space + word.len() <= width {
                if let Some(line) = lines.last_mut() {
                    line.extend(std::iter::repeat_n(' ', space).chain(word.drain(..)));
                    used = line.chars().count();
                }
            } else if used > start {
                lines.push(" ".repeat(indent));
                used = indent;
            } else if let Some(line) = lines.last_mut() {
                line.extend(word.drain(..width - used));
                used = width;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_longer_than_the_terminal_is_wide() {
        let line = Line::new().with(BAD, "down").with(PLAIN, " and more");
        for width in 0..20 {
            let plain = anstream::adapter::strip_str(&line.fitted(width)).to_string();
            let expected = if width >= 13 {
                "down and more".to_owned()
            } else {
                let kept = "down and more".chars().take(width.saturating_sub(1));
                kept.chain((width > 0).then_some('~')).collect()
            };
            assert_eq!(plain, expected, "{width}");
        }
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        let line = Line::new().with(PLAIN, "a\x1b[2Jb\nc");
        assert_eq!(line.fitted(80), "a?[2Jb?c");
    }

    #[test]
    fn names_are_shortened_in_the_middle() {
        assert_eq!(shortened("uplink-berlin-1", 9), "upli~in-1");
        assert_eq!(shortened("dsl", 9), "dsl");
        for width in 0..20 {
            assert!(shortened("uplink-berlin-1", width).chars().count() <= width);
        }
    }

    #[test]
    fn sentences_are_wrapped_at_words_and_long_words_are_split() {
        assert_eq!(wrapped("no path works today", 10, 2), ["no path", "  works", "  today"]);
        assert_eq!(wrapped("abcdefghij kl", 4, 1), ["abcd", " efg", " hij", " kl"]);
        for width in 0..30 {
            for line in wrapped("the peer does not answer: mpt.example.org", width, 4) {
                assert!(line.chars().count() <= width.max(1), "{width}: {line}");
            }
        }
        assert_eq!(wrapped("", 10, 2), [""]);
    }
}
