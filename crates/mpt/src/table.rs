//! Columns of text.

use std::fmt;

/// Rows under a heading. Numbers are right-aligned, words left-aligned.
pub(crate) struct Table<const N: usize> {
    headings: [Column; N],
    rows: Vec<[String; N]>,
}

/// One column.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    /// Left-aligned.
    Word(&'static str),
    /// Right-aligned.
    Number(&'static str),
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(headings: [Column; N]) -> Self {
        Table { headings, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.headings.map(|column| match column {
            Column::Word(text) | Column::Number(text) => text.to_owned(),
        });
        let rows = || std::iter::once(&headings).chain(&self.rows);
        let mut widths = [0; N];
        for row in rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in rows() {
            let mut line = String::new();
            for ((column, width), cell) in self.headings.iter().zip(widths).zip(row) {
                line += match column {
                    Column::Word(_) => format!("  {cell:<width$}"),
                    Column::Number(_) => format!("  {cell:>width$}"),
                }
                .as_str();
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([Column::Word("NAME"), Column::Number("N")]);
        table.push(["büro".into(), "1".into()]);
        table.push(["a".into(), "1000".into()]);
        assert_eq!(table.to_string(), "  NAME     N\n  büro     1\n  a     1000\n");
    }
}
