//! Manual pages that describe no command line, in the language of man(7).

use std::fmt::Write;

/// A page that is being written.
#[derive(Debug)]
pub struct Page(String);

impl Page {
    /// Begins the page of this name in a section (man-pages(7)); `source` is the program that it belongs to, with its version.
    #[must_use]
    pub fn new(name: &str, section: u8, source: &str) -> Self {
        Page(format!(".TH {} {section} \"\" \"{}\"\n", escaped(name), escaped(source)))
    }

    /// Begins a part of the page.
    pub fn heading(&mut self, text: &str) {
        self.line(".SH", &format!("\"{}\"", escaped(text).replace('"', "\\(dq")));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        // Programs that look for the name of a page expect it right below its heading.
        if !self.0.lines().next_back().is_some_and(|line| line.starts_with(".SH")) {
            self.line(".PP", "");
        }
        self.text(text);
    }

    /// Adds a term with what is to be said of it, in one or more paragraphs.
    pub fn entry(&mut self, term: &str, paragraphs: &[&str]) {
        self.line(".TP", "");
        self.line(".B", &escaped(term));
        for (index, text) in paragraphs.iter().enumerate() {
            if index > 0 {
                self.line(".IP", "");
            }
            self.text(text);
        }
    }

    /// Returns the page.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, request: &str, arguments: &str) {
        let line = format!("{request} {arguments}");
        let _ = writeln!(self.0, "{}", line.trim_end());
    }

    fn text(&mut self, text: &str) {
        let text = escaped(text);
        // A line that begins so would be a request.
        let sign = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
        let _ = writeln!(self.0, "{sign}{text}");
    }
}

/// A text in which nothing has a meaning but its characters, in one line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_taken_for_a_request() {
        let mut page = Page::new("mpt.toml", 5, "mptd 1");
        page.heading("[a \"b\"]");
        page.paragraph(".x is \\ a-b\nc");
        page.paragraph("d");
        page.entry("key", &["'one", "two"]);
        let expected = ".TH mpt.toml 5 \"\" \"mptd 1\"\n.SH \"[a \\(dqb\\(dq]\"\n\\&.x is \\e a\\-b c\n.PP\nd\n\
                        .TP\n.B key\n\\&'one\n.IP\ntwo\n";
        assert_eq!(page.finish(), expected);
    }
}
