//! Columns of text.

use std::fmt;

/// Rows under a heading, every column as wide as its widest cell.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    look: Look,
    rows: Vec<Vec<String>>,
}

/// One column: how its cells are aligned, and its heading.
#[derive(Clone, Debug)]
pub enum Column {
    /// A left-aligned column.
    Word(String),
    /// A right-aligned column.
    Number(String),
}

/// The style that distinguishes the heading from the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// The heading is not marked; every line is indented by two spaces.
    Indented,
    /// A line of dashes follows the heading.
    Ruled,
}

impl Column {
    /// A left-aligned column.
    #[must_use]
    pub fn word(heading: impl Into<String>) -> Self {
        Self::Word(heading.into())
    }

    /// A right-aligned column.
    #[must_use]
    pub fn number(heading: impl Into<String>) -> Self {
        Self::Number(heading.into())
    }

    fn heading(&self) -> &str {
        match self {
            Self::Word(heading) | Self::Number(heading) => heading,
        }
    }

    fn aligned(&self, cell: &str, width: usize) -> String {
        match self {
            Self::Word(_) => format!("{cell:<width$}"),
            Self::Number(_) => format!("{cell:>width$}"),
        }
    }
}

impl Table {
    /// Returns a table without rows, whose lines are all indented by two spaces.
    #[must_use]
    pub fn indented(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), look: Look::Indented, rows: Vec::new() }
    }

    /// Returns a table without rows, whose heading is underlined. The first column is left-aligned, the others right-aligned.
    #[must_use]
    pub fn ruled(heading: impl IntoIterator<Item: Into<String>>) -> Self {
        let column = |(number, heading)| match number {
            0 => Column::word(heading),
            _ => Column::number(heading),
        };
        Self {
            columns: heading.into_iter().enumerate().map(column).collect(),
            look: Look::Ruled,
            rows: Vec::new(),
        }
    }

    /// Adds a row. Missing cells stay empty, those beyond the last column are not shown.
    pub fn row(&mut self, cells: impl IntoIterator<Item: Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |(number, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(number)).map(String::as_str);
            let cells = cells.chain([column.heading()]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(width).collect();
        let write = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
            let indent = if self.look == Look::Indented { "  " } else { "" };
            let aligned = self.columns.iter().zip(&widths).zip(cells);
            let cells: Vec<_> =
                aligned.map(|((column, &width), cell)| column.aligned(cell, width)).collect();
            writeln!(f, "{}", format!("{indent}{}", cells.join("  ")).trim_end())
        };
        write(f, &mut self.columns.iter().map(Column::heading))?;
        if self.look == Look::Ruled {
            let rule = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            writeln!(f, "{}", "-".repeat(rule))?;
        }
        for row in &self.rows {
            write(f, &mut row.iter().map(String::as_str))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::indented([Column::word("NAME"), Column::number("N")]);
        table.row(["büro", "1"]);
        table.row(["a", "1000"]);
        assert_eq!(table.to_string(), "  NAME     N\n  büro     1\n  a     1000\n");
    }

    #[test]
    fn a_heading_can_be_underlined() {
        let mut table = Table::ruled(["", "Mbit/s", "pass"]);
        table.row(["path 1", "95.6", "yes"]);
        table.row(["efficiency, all", "97.2 %"]);
        let expected = "                 Mbit/s  pass\n\
                        -----------------------------\n\
                        path 1             95.6   yes\n\
                        efficiency, all  97.2 %\n";
        assert_eq!(table.to_string(), expected);
    }
}
