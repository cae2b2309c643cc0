//! Text as JSON, for programs that read what is written for people.

use std::io::{self, Write};

use serde_json::json;

/// Makes each line a JSON object with the key `text`.
pub(crate) struct JsonLines<'a, W> {
    out: &'a mut W,
    /// The line that is being written.
    line: Vec<u8>,
}

impl<'a, W: Write> JsonLines<'a, W> {
    /// Writes to `out`.
    pub(crate) fn new(out: &'a mut W) -> Self {
        Self { out, line: Vec::new() }
    }

    /// Writes what is left of a last line.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.out.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.line);
        writeln!(self.out, "{}", json!({ "text": text }))?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for JsonLines<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line()?,
                byte => self.line.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_object() {
        let mut out = Vec::new();
        let mut lines = JsonLines::new(&mut out);
        write!(lines, "a \"b\"\n\nlast").unwrap();
        lines.finish().unwrap();
        let expected = "{\"text\":\"a \\\"b\\\"\"}\n{\"text\":\"\"}\n{\"text\":\"last\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
