//! One page that needs nothing else.

use std::error::Error;
use std::fmt::Write as _;

use super::{Report, Table, draw};

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}\
caption{text-align:left;font-weight:bold;padding:.3rem 0}\
th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child{text-align:left}h2{margin-top:3rem}svg{max-width:100%;height:auto}";

/// All reports on one page, their figures inside.
///
/// # Errors
///
/// What cannot be drawn.
pub fn page(title: &str, reports: &[Report]) -> Result<String, Box<dyn Error>> {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\
         <style>{STYLE}</style></head>\n<body><h1>{0}</h1>\n<ul>\n",
        escape(title)
    );
    for Report { name, title, .. } in reports {
        writeln!(page, "<li><a href=\"#{0}\">{0}</a>: {1}</li>", escape(name), escape(title))?;
    }
    page += "</ul>\n";
    for report in reports {
        let (name, title) = (escape(&report.name), escape(&report.title));
        writeln!(page, "<h2 id=\"{name}\">{name}: {title}</h2>\n<p>{} seeds.</p>", report.seeds)?;
        if !report.findings.is_empty() {
            page += "<ul>\n";
            for finding in &report.findings {
                writeln!(page, "<li>{}</li>", escape(finding))?;
            }
            page += "</ul>\n";
        }
        for table in &report.tables {
            write_table(&mut page, table)?;
        }
        for figure in &report.figures {
            writeln!(page, "<figure>{}</figure>", draw(figure)?)?;
        }
    }
    page += "</body></html>\n";
    Ok(page)
}

fn write_table(page: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(page, "<table><caption>{}</caption>", escape(&table.title))?;
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    writeln!(page, "<tr>{}</tr>", cells(&table.heading, "th"))?;
    for row in &table.rows {
        writeln!(page, "<tr>{}</tr>", cells(row, "td"))?;
    }
    writeln!(page, "</table>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut report = Report::new("a<b", "x & y", 3);
        report.findings.push("<script>".to_owned());
        let page = page("all", &[report]).unwrap();
        assert!(
            page.contains("a&lt;b") && page.contains("x &amp; y") && !page.contains("<script>")
        );
    }
}
