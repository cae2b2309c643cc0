//! The report as text for terminals.

use std::fmt;

use mpt_text::table as text;

use super::{Report, Table};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} ({} seeds)", self.name, self.title, self.seeds)?;
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        if !(self.findings.is_empty() && self.misses.is_empty()) {
            writeln!(f)?;
        }
        for finding in &self.findings {
            writeln!(f, "- {finding}")?;
        }
        for miss in &self.misses {
            writeln!(f, "- MISSED: {miss}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let mut text = text::Table::ruled(&self.heading);
        for row in &self.rows {
            text.row(row);
        }
        write!(f, "{text}")
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
