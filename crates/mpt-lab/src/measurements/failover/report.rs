//! The table and the JSON file.

use std::fmt;

use mpt_text::table::Table;
use serde::Serialize;

use super::event::Event;
use super::figure::{Figure, Limit, Summary};

/// The results of all events that happened.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) quick: bool,
    pub(super) session: bool,
    pub(super) results: Vec<Results>,
}

/// The results of one event.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) event: &'static Event,
    /// Values of all repetitions, figure by figure.
    pub(super) values: Vec<Vec<f64>>,
    /// Reasons for which repetitions failed altogether.
    pub(super) failures: Vec<String>,
}

impl Report {
    /// Returns the names of figures that missed their limit: "event: figure".
    pub(super) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for results in &self.results {
            let name = results.event.name;
            if !results.failures.is_empty() {
                missed.push(format!("{name}: failed {} times", results.failures.len()));
            }
            for (figure, summary, limit) in self.lines(results) {
                if summary.is_some_and(|summary| !limit.is_kept(summary)) {
                    missed.push(format!("{name}: {}", figure.name));
                }
            }
        }
        missed
    }

    fn lines<'a>(
        &'a self,
        results: &'a Results,
    ) -> impl Iterator<Item = (&'a Figure, Option<Summary>, Limit)> {
        results.event.figures.iter().zip(&results.values).map(|(figure, values)| {
            (figure, figure.summary(values), figure.limit(self.quick, self.session))
        })
    }

    /// Returns the report as JSON.
    pub(super) fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct File<'a> {
            quick: bool,
            session: bool,
            missed: Vec<String>,
            events: Vec<EventResults<'a>>,
        }
        #[derive(Serialize)]
        struct EventResults<'a> {
            name: &'a str,
            what: &'a str,
            failures: &'a [String],
            figures: Vec<FigureResults<'a>>,
        }
        #[derive(Serialize)]
        struct FigureResults<'a> {
            name: &'a str,
            unit: String,
            median: Option<f64>,
            worst: Option<f64>,
            limit: Option<String>,
            /// The values; `null` is never.
            values: Vec<Option<f64>>,
        }
        let finite = |value: f64| value.is_finite().then_some(value);
        let figures = |results: &Results| {
            let lines = self.lines(results).zip(&results.values);
            let lines = lines.map(|((figure, summary, limit), values)| FigureResults {
                name: figure.name,
                unit: figure.unit.word().to_owned(),
                median: summary.and_then(|summary| finite(summary.median)),
                worst: summary.and_then(|summary| finite(summary.worst)),
                limit: show_limit(figure, limit),
                values: values.iter().map(|&value| finite(value)).collect(),
            });
            lines.collect::<Vec<_>>()
        };
        let events = self.results.iter().map(|results| EventResults {
            name: results.event.name,
            what: results.event.what,
            failures: &results.failures,
            figures: figures(results),
        });
        let (quick, session) = (self.quick, self.session);
        let file = File { quick, session, missed: self.missed(), events: events.collect() };
        serde_json::to_string_pretty(&file)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::ruled(["event", "median", "worst", "limit", ""]);
        for results in &self.results {
            let heading = format!("{} ({})", results.event.what, results.event.name);
            let failures = match results.failures.len() {
                0 => String::new(),
                failures => format!("{failures} FAILED"),
            };
            table.row([heading, String::new(), String::new(), String::new(), failures]);
            for (figure, summary, limit) in self.lines(results) {
                let Some(summary) = summary else { continue };
                let verdict = match (limit, limit.is_kept(summary)) {
                    (Limit::Told, _) => "",
                    (_, true) => "ok",
                    (_, false) => "MISSED",
                };
                table.row([
                    format!("  {}", figure.name),
                    figure.unit.show(summary.median),
                    figure.unit.show(summary.worst),
                    show_limit(figure, limit).unwrap_or_default(),
                    verdict.into(),
                ]);
            }
        }
        table.fmt(f)
    }
}

fn show_limit(figure: &Figure, limit: Limit) -> Option<String> {
    match limit {
        Limit::Told => None,
        Limit::AtMost { median, worst } if median == worst => Some(figure.unit.show(worst)),
        Limit::AtMost { median, worst } => {
            Some(format!("{} / {}", figure.unit.show(median), figure.unit.show(worst)))
        }
        Limit::AtLeast(least) => Some(format!(">= {}", figure.unit.show(least))),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;
    use std::time::Duration;

    use super::*;

    static EVENT: Event = Event {
        name: "carrier",
        what: "carrier lost",
        session: false,
        figures: &[
            Figure::time("local end", 50.0, 150.0),
            Figure::none("lost"),
            Figure::told("TCP below 50 %"),
            Figure::share("TCP", 0.5),
        ],
        run: |_, _| bail!("never run"),
        takes: Duration::ZERO,
    };

    fn report() -> Report {
        let values = vec![
            vec![10.0, 20.0, 200.0],
            vec![0.0, 0.0, 0.0],
            vec![5.0, f64::INFINITY, 7.0],
            vec![0.8, 0.9, 1.0],
        ];
        let failures = vec!["no TCP".to_owned()];
        let results = vec![Results { event: &EVENT, values, failures }];
        Report { quick: false, session: true, results }
    }

    #[test]
    fn the_table_shows_limits_and_what_misses_them() {
        insta::assert_snapshot!(report().to_string(), @"
        event                   median   worst           limit
        ----------------------------------------------------------------
        carrier lost (carrier)                                  1 FAILED
          local end              20 ms  200 ms  50 ms / 150 ms    MISSED
          lost                       0       0               0        ok
          TCP below 50 %          7 ms   never
          TCP                     90 %    80 %         >= 50 %        ok
        ");
    }

    #[test]
    fn a_missed_limit_and_a_failure_are_named() {
        let missed = report().missed();
        assert_eq!(missed, ["carrier: failed 1 times", "carrier: local end"]);
    }

    #[test]
    fn the_file_holds_every_value() {
        let file: serde_json::Value = serde_json::from_str(&report().json().unwrap()).unwrap();
        let figures = &file["events"][0]["figures"];
        assert_eq!(figures[0]["values"][2], 200.0);
        assert_eq!(figures[0]["limit"], "50 ms / 150 ms");
        assert!(figures[2]["values"][1].is_null(), "never");
        assert_eq!(figures[3]["unit"], "share");
    }
}
