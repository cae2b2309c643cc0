//! The reports as one page that needs nothing else.

use maud::{Markup, html};
use mpt_report::{charts, document, plain_table};

use super::Report;

/// Returns all reports on one page, their figures inside.
pub fn page(title: &str, reports: &[Report]) -> String {
    let lead = "Everything in virtual time, on links of the laboratory's model.";
    let content = html! {
        nav { ul { @for Report { name, title, .. } in reports {
            li { a href=(format!("#{name}")) { (name) } ": " (title) }
        } } }
        @for report in reports { (section(report)) }
    };
    document(title, lead, &content).into_string()
}

fn section(report: &Report) -> Markup {
    let Report { name, title, seeds, findings, tables, figures, misses, .. } = report;
    html! {
        section.experiment id=(name) {
            h2 { (name) ": " (title) }
            p.small { (seeds) @if *seeds == 1 { " seed." } @else { " seeds." } }
            @if !(findings.is_empty() && misses.is_empty()) {
                ul {
                    @for finding in findings { li { (finding) } }
                    @for miss in misses { li { span class="chip missed" { "missed" } " " (miss) } }
                }
            }
            @for table in tables { (plain_table(&table.title, &table.heading, &table.rows)) }
            @for figure in figures { h3 { (figure.title) } (charts(&[figure.chart()])) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut report = Report::new("a<b", "x & y", 3);
        report.findings.push("<script>".to_owned());
        let page = page("all", &[report]);
        assert!(
            page.contains("a&lt;b") && page.contains("x &amp; y") && !page.contains("<script>")
        );
    }
}
