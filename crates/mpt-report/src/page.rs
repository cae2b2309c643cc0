//! The page around a report, and what stands on it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Chart, STYLE};

/// A page: one file, which needs nothing else. `lead` is a sentence below the title.
pub fn document(title: &str, lead: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the results" }
                header {
                    h1 { (title) }
                    p.lead { (lead) }
                }
                main id="content" { (content) }
            }
        }
    }
}

/// Charts beside each other, with one legend for all of them.
pub fn charts(charts: &[Chart]) -> Markup {
    // Each line once, though the charts may have different ones.
    let mut lines: Vec<(&str, &str, bool)> = Vec::new();
    for line in charts.iter().flat_map(|chart| &chart.lines) {
        let entry = (line.class.as_str(), line.label.as_str(), line.printed);
        if !lines.contains(&entry) {
            lines.push(entry);
        }
    }
    html! { @if !charts.is_empty() {
        ul.legend {
            @for (class, label, printed) in lines {
                li {
                    svg viewBox="0 0 28 10" aria-hidden="true" {
                        g class=(format!("{class}{}", if printed { " printed" } else { "" })) {
                            path.line d="M1 5L27 5" {}
                            @if printed { rect.marker x="10.8" y="1.8" width="6.4" height="6.4" transform="rotate(45 14 5)" {} }
                            @else { circle.marker cx="14" cy="5" r="3.4" {} }
                        }
                    }
                    (label)
                }
            }
        }
        div class=(if charts.iter().any(|chart| chart.panel) { "charts panels" } else { "charts" }) {
            @for chart in charts { figure { figcaption { (chart.title) } (chart.svg()) } }
        }
    } }
}

/// A table of text, whose first column names the rows.
pub fn plain_table(caption: &str, heading: &[String], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.plain {
            caption { (caption) }
            thead { tr { @for name in heading { th scope="col" { (name) } } } }
            tbody { @for row in rows { tr {
                @for (column, cell) in row.iter().enumerate() {
                    @if column == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let row = vec!["<b>".to_owned(), "x & y".to_owned()];
        let table = plain_table("a<b", &["<i>".to_owned(), "y".to_owned()], &[row]);
        let page = document("<script>", "one & two", &table).into_string();
        for escaped in ["&lt;script&gt;", "one &amp; two", "a&lt;b", "&lt;i&gt;", "x &amp; y"] {
            assert!(page.contains(escaped), "{escaped}");
        }
        assert!(!page.contains("<script>") && !page.contains("<b>"));
    }
}
