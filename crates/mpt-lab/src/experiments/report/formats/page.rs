//! The page over all experiments: one file, which needs nothing else.

use maud::{Markup, PreEscaped, html};
use mpt_report::{charts, document};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::markdown::capital;
use super::plots;
use super::sheet::{Entry, Here, SUM, Sheet};
use crate::experiments::report::figure::Grid;
use crate::experiments::report::notes::accuracy::{Accuracy, COMMAND, sentence};
use crate::experiments::report::notes::{self, Note, Tally, count};
use crate::experiments::report::results::Results;
use crate::experiments::report::verdict::{Status, Verdict, judge};

/// Everything about one experiment.
struct Chapter<'a> {
    results: &'a Results,
    grid: Grid<'a>,
    verdicts: Vec<Verdict<'a>>,
    tally: Tally,
}

/// Writes the page.
pub(crate) fn page(all: &[Results], accuracy: Option<&Accuracy>) -> Markup {
    let chapters: Vec<_> = all.iter().map(Chapter::new).collect();
    let title = match all {
        [one] => format!("{}: MPT laboratory", one.plan.name),
        _ => "Measurements of the MPT laboratory".to_owned(),
    };
    let lead =
        "Real daemons and real traffic over emulated links; the papers' figures beside them.";
    document(
        &title,
        lead,
        &html! {
            (emulator(accuracy))
            (overview(&chapters))
            (how_to_read())
            @for chapter in &chapters { (chapter.section()) }
            (environment(all))
        },
    )
}

/// Returns the verdict on the emulator, which comes before anything that it had a part in.
fn emulator(accuracy: Option<&Accuracy>) -> Markup {
    let Some(accuracy) = accuracy else {
        return html! {
            section.banner.open aria-label="Accuracy of the emulator" {
                p { strong { "Accuracy of the emulator: not measured in this directory. " }
                    "The figures below are only as good as the emulated links. To measure them: "
                    code { (COMMAND) " --out " i { "this directory" } } "." }
            }
        };
    };
    let status = if accuracy.passed() { Status::Met } else { Status::Missed };
    html! {
        section class=(format!("banner {}", class(status))) aria-label="Accuracy of the emulator" {
            p { strong { (sentence(accuracy)) } }
            details {
                summary { "All figures of its accuracy" }
                div.scroll tabindex="0" { table.plain {
                    thead { tr { th scope="col" { "figure" } th scope="col" { "must" } th scope="col" { "measured" } th scope="col" { "verdict" } } }
                    tbody { @for row in &accuracy.rows { tr {
                        th scope="row" { (row.figure) } td { (row.must) } td { (row.measured) }
                        td { (chip(if row.pass { Status::Met } else { Status::Missed })) }
                    } } }
                } }
            }
        }
    }
}

fn overview(chapters: &[Chapter]) -> Markup {
    html! {
        nav aria-labelledby="overview" {
            h2 id="overview" { "Overview" }
            div.scroll tabindex="0" { table.plain {
                thead { tr {
                    th scope="col" { "experiment" } th scope="col" { "source" } th scope="col" { "verdicts" }
                    th scope="col" { "measurements" }
                } }
                tbody { @for chapter in chapters { tr {
                    th scope="row" {
                        a href=(format!("#{}", chapter.results.plan.name)) { (chapter.results.plan.name) }
                        div.small { (chapter.results.plan.title) }
                    }
                    td.source { (source(chapter.results)) }
                    td.chips { (chapter.counts()) }
                    td { (chapter.tally.sentence()) }
                } } }
            } }
        }
    }
}

fn how_to_read() -> Markup {
    html! {
        details.note {
            summary { "How to read the tables" }
            p { "Figures are medians over the repetitions, with the smallest and the largest below; the percentage is \
                 the efficiency: what was carried, divided by what all paths carry alone, measured in the same run." }
            p { "“In print” is what the paper published. Where rates were divided by a scale factor, the paper's figure \
                 is divided likewise, and both are shown." }
            p { "A measurement that was limited by this machine's processors or by the emulator says nothing about the \
                 network. It is marked instead of printed, and no expectation is judged by it." }
            p { (chip(Status::Met)) " every cell lies between the limits. " (chip(Status::Missed)) " a cell does not. "
                (chip(Status::GoalMissed)) " the same of a wish. "
                (chip(Status::Open)) " no cell missed it, but not all could be judged." }
        }
    }
}

impl<'a> Chapter<'a> {
    fn new(results: &'a Results) -> Self {
        let grid = Grid::new(results);
        let (verdicts, tally) = (judge(&grid), Tally::of(&grid));
        Self { results, grid, verdicts, tally }
    }

    /// Returns how many expectations came to what.
    fn counts(&self) -> Markup {
        let all = [Status::Missed, Status::GoalMissed, Status::Open, Status::Met];
        let number =
            |status| self.verdicts.iter().filter(|verdict| verdict.status == status).count();
        html! {
            @for (status, number) in all.map(|status| (status, number(status))) {
                @if number > 0 { span class=(format!("chip {}", class(status))) { (number) " " (status.word()) } " " }
            }
            @if self.verdicts.is_empty() { span.small { "nothing expected" } }
        }
    }

    fn section(&self) -> Markup {
        let plan = &self.results.plan;
        let grid = &self.grid;
        html! {
            section.experiment id=(plan.name) aria-labelledby=(format!("{}-title", plan.name)) {
                h2 id=(format!("{}-title", plan.name)) { (plan.title) }
                p.small { code { (plan.name) } " · " (source(self.results)) }
                @if !plan.about.is_empty() {
                    details.about open[plan.about.len() < 700] { summary { "About this experiment" } (markdown(&plan.about)) }
                }
                dl.facts {
                    div { dt { "links by" } dd { (notes::backends(grid)) } }
                    div { dt { "scale" } dd { (notes::scales(grid)) } }
                    div { dt { "repetitions" } dd { (grid.repetitions) } }
                    div { dt { "measurements" } dd { (self.tally.sentence()) } }
                }
                (self.judged())
                @if let Some(sheet) = Sheet::new(grid, &plan.metric) {
                    h3 { (capital(&sheet.quantity.heading())) }
                    (charts(&plots::over_axis(grid)))
                    (table(&sheet, plan.name.as_str()))
                }
                @for metric in &plan.also {
                    @if let Some(sheet) = Sheet::new(grid, metric) {
                        details { summary { (capital(&sheet.quantity.heading())) } (table(&sheet, &plan.name)) }
                    }
                }
                @for series in &plan.plots { (self.over_time(series)) }
                (list("Not shown as results", &notes::marked(grid)))
                (list("Deviations", &notes::deviations(grid)))
                p.small {
                    "Data: " a href=(format!("{}/results.json", plan.name)) { "results.json" } ", "
                    a href=(format!("{}/cases.csv", plan.name)) { "cases.csv" } ", "
                    a href=(format!("{}/series.csv", plan.name)) { "series.csv" }
                }
            }
        }
    }

    fn judged(&self) -> Markup {
        html! { @if !self.verdicts.is_empty() {
            div.scroll tabindex="0" { table.plain.verdicts {
                caption { "What was expected" }
                thead { tr {
                    th scope="col" { "verdict" } th scope="col" { "expectation" } th scope="col" { "found" }
                } }
                tbody { @for verdict in &self.verdicts { tr {
                    td { (chip(verdict.status)) }
                    th scope="row" {
                        (verdict.expectation.what) @if verdict.expectation.goal { " (goal)" }
                        div.small { (verdict.demand()) }
                    }
                    td { (verdict.finding(&self.grid)) }
                } } }
            } }
        } }
    }

    fn over_time(&self, series: &str) -> Markup {
        let drawn = plots::over_time(&self.grid, series);
        html! { @if !drawn.is_empty() {
            details {
                summary { (capital(series)) " over time" }
                p.small {
                    "The first sound repetition of each row"
                    @if drawn.len() < self.grid.cells.len() { ", in " (count(drawn.len(), "chart")) " of " (count(self.grid.cells.len(), "cell")) }
                    "; series.csv has everything."
                }
                (charts(&drawn))
            }
        } }
    }
}

fn table(sheet: &Sheet, experiment: &str) -> Markup {
    html! {
        div.scroll tabindex="0" { table.figures {
            caption { (capital(&sheet.quantity.heading())) span.small { " · " (experiment) } }
            thead {
                tr {
                    @for label in &sheet.axes { th.axis scope="col" rowspan="2" { (label) } }
                    @for column in &sheet.columns {
                        @if column.published { th.group scope="colgroup" colspan="2" { (column.label) } }
                        @else { th.group scope="col" rowspan="2" { (column.label) } }
                    }
                }
                tr {
                    @for column in sheet.columns.iter().filter(|column| column.published) {
                        th.first scope="col" { span.small { "in print" } } th scope="col" { span.small { "here" } }
                        @let _ = column;
                    }
                }
            }
            tbody { @for (number, line) in sheet.lines.iter().enumerate() {
                tr {
                    @for axis in 0..line.values.len() { (axis_value(sheet, number, axis)) }
                    @for (column, entry) in sheet.columns.iter().zip(&line.entries) {
                        @if column.published { td.printed.first { (entry.published) } }
                        (figure(entry, &column.row, !column.published))
                    }
                }
            } }
        } }
    }
}

/// Returns the heading of a line, which spans all lines of the same value, unless it is the last
/// axis.
fn axis_value(sheet: &Sheet, number: usize, axis: usize) -> Markup {
    let start = |number: usize| &sheet.lines[number].values[..=axis];
    let value = &sheet.lines[number].values[axis];
    let last = axis + 1 == sheet.axes.len();
    if last {
        return html! { th scope="row" { (value) } };
    }
    if number > 0 && start(number - 1) == start(number) {
        return html! {};
    }
    let span =
        (number..sheet.lines.len()).take_while(|&other| start(other) == start(number)).count();
    html! { th scope="rowgroup" rowspan=(span) { (value) } }
}

fn figure(entry: &Entry, row: &str, first: bool) -> Markup {
    let class = match (row, first) {
        ("ours" | plots::ADAPTIVE, true) => "ours-column first",
        ("ours" | plots::ADAPTIVE, false) => "ours-column",
        (SUM, _) => "sum-column first",
        (_, true) => "first",
        (_, false) => "",
    };
    html! { td class=(class) {
        @match &entry.here {
            Here::Nothing => { span.none aria-label="none" { "–" } }
            Here::Mark(mark) => { span.mark title=(mark.sentence()) { (mark.word()) } }
            Here::Figure { median, spread, sound } => {
                span.median { (median) }
                @if let Some(efficiency) = &entry.efficiency { span.efficiency { (efficiency) } }
                @if let Some(spread) = spread { span.spread { (spread) } }
                @if let Some(sound) = sound { span.mark title="only these repetitions were sound" { (sound) } }
            }
        }
    } }
}

fn list(title: &str, list: &[Note]) -> Markup {
    html! { @if !list.is_empty() {
        h3 { (title) }
        ul.notes { @for note in list { li {
            (note.what)
            span.small { " (" (note.places()) ")" }
        } } }
    } }
}

fn environment(all: &[Results]) -> Markup {
    let facts = notes::environment(all.iter().flat_map(|results| results.cases.values()));
    html! { @if !facts.is_empty() {
        section aria-labelledby="environment" {
            h2 id="environment" { "Where and by what" }
            dl.facts.wide { @for (name, values) in &facts {
                div { dt { (name) } @for value in values { dd { (value) } } }
            } }
        }
    } }
}

fn source(results: &Results) -> &str {
    match results.plan.source.as_str() {
        "" => "an experiment of our own",
        source => source,
    }
}

fn chip(status: Status) -> Markup {
    html! { span class=(format!("chip {}", class(status))) { (status.word()) } }
}

fn class(status: Status) -> &'static str {
    match status {
        Status::Met => "met",
        Status::Missed => "missed",
        Status::GoalMissed => "goal-missed",
        Status::Open => "open",
    }
}

/// Converts paragraphs of Markdown to HTML. HTML in them stays text, and links lead to the web or
/// nowhere.
fn markdown(text: &str) -> Markup {
    let web = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    let events = Parser::new(text).filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        // Pictures are left out, since they would be loaded from elsewhere.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if web(&dest_url) { dest_url } else { "#".into() };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        other => Some(other),
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    PreEscaped(html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::case::Flag;
    use crate::experiments::report::samples::{Sample, delays, expectation};

    fn shown(results: &Results) -> String {
        page(std::slice::from_ref(results), None).into_string()
    }

    #[test]
    fn figures_stand_beside_the_papers() {
        let html = shown(&delays().results);
        for part in ["52.65", "50.10", "49.00 to 55.50", "102.6", "98.1 %", "imareen2023, Table I"]
        {
            assert!(html.contains(part), "{part} is missing");
        }
        assert!(
            html.contains("rates as in the paper") && html.contains("our emulator in user space")
        );
    }

    #[test]
    fn a_limited_measurement_is_marked_and_nowhere_a_figure() {
        let html = shown(&delays().results);
        assert!(html.contains("CPU-limited") && html.contains("1 limited by the machine"));
        assert!(!html.contains("77.77"), "what was measured there is no result");
    }

    #[test]
    fn everything_from_files_is_escaped() {
        const EVIL: &str = "<script>alert(\"x\")</script>&'";
        let flag = || Flag::Deviation { what: EVIL.into() };
        let failed = Flag::Failed { why: EVIL.into() };
        let at = [(EVIL, EVIL)];
        let mut sample = Sample::new(EVIL)
            .axis(EVIL, &[EVIL, "2"])
            .rows(&[EVIL, "ours"])
            .published(&at, EVIL, 5.0)
            .flagged(&at, EVIL, 5.0, flag())
            .flagged(&at, "ours", 5.0, failed)
            .expects(expectation(EVIL, &["ours"], 1.0));
        let plan = &mut sample.results.plan;
        plan.title = EVIL.into();
        plan.source = EVIL.into();
        plan.about =
            format!("{EVIL}\n\n{EVIL}\n\n[x](javascript:alert(1)) ![y](http://example.org/y.png)");
        plan.expectations[0].what = EVIL.into();
        for case in sample.results.cases.values_mut() {
            case.environment.kernel = EVIL.into();
            case.environment.programs.insert(EVIL.into(), EVIL.into());
            for series in case.series.values_mut() {
                series.unit = EVIL.into();
            }
        }
        let html = shown(&sample.results);
        assert!(html.contains("&lt;script&gt;"));
        for evil in ["<script", "javascript:", "<img", "=\"<"] {
            assert!(!html.contains(evil), "{evil} got through");
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let html = shown(&delays().results);
        for elsewhere in ["src=", "<link", "<script", "@import", "url(", "http://", "https://"] {
            assert!(!html.contains(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn tables_have_headings_and_pictures_have_words() {
        let html = shown(&delays().results);
        assert_eq!(
            html.matches("<svg").count(),
            html.matches("role=\"img\"").count() + html.matches("aria-hidden=\"true\"").count()
        );
        for table in html.split("<table").skip(1) {
            let table = table.split("</table>").next().unwrap();
            assert!(
                table.contains("<thead>")
                    && table.contains("scope=\"col\"")
                    && table.contains("scope=\"row\"")
            );
        }
    }

    #[test]
    fn the_emulator_comes_first() {
        let html = shown(&delays().results);
        let emulator = html.find("Accuracy of the emulator: not measured").unwrap();
        assert!(emulator < html.find("Overview").unwrap());
        assert!(html.contains(COMMAND));
        let accuracy = r#"{"quick": false, "rows": [
            {"figure": "delay <error>", "must": "p50", "measured": "90 us", "pass": false}]}"#;
        let accuracy: Accuracy = serde_json::from_str(accuracy).unwrap();
        let html = page(&[delays().results], Some(&accuracy)).into_string();
        assert!(html.contains("banner missed") && html.contains("delay &lt;error&gt;"));
        assert!(!html.contains(COMMAND));
    }

    #[test]
    fn an_empty_experiment_has_a_page() {
        shown(&Sample::new("x").results);
        shown(&Sample::new("x").axis("delay", &[]).rows(&["ours"]).results);
        page(&[], None);
    }
}
