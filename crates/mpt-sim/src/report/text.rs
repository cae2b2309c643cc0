//! For terminals.

use std::fmt;

use super::{Report, Table};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} ({} seeds)", self.name, self.title, self.seeds)?;
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        if !self.findings.is_empty() {
            writeln!(f)?;
        }
        for finding in &self.findings {
            writeln!(f, "- {finding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        for (number, line) in lines().enumerate() {
            let mut text = String::new();
            for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                text += &match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("  {cell:>width$}"),
                };
            }
            writeln!(f, "{}", text.trim_end())?;
            if number == 0 {
                let rule = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
                writeln!(f, "{}", "-".repeat(rule))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new("Throughput", ["", "Mbit/s", "RBD"]);
        table.rows.push(vec!["NoPR".into(), "0.50".into(), "0".into()]);
        table.rows.push(vec!["TCP-DOOR".into(), "10.90".into()]);
        let expected = "Throughput\n          Mbit/s  RBD\n---------------------\nNoPR        0.50    0\nTCP-DOOR   10.90\n";
        assert_eq!(table.to_string(), expected);
    }
}
