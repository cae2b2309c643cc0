//! Notes for the reader beside the figures: where and how they were measured, and what was not as it should be.

pub(super) mod accuracy;
pub(super) mod remarks;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use super::figure::{Grid, Outcome, Repetition};
use super::quantity::published;
use crate::experiments::case::{Backend, CaseResult, Flag};

/// A note on several measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) what: String,
    /// Row, cell and repetition of each measurement.
    places: Vec<String>,
}

impl Note {
    /// Returns how many measurements, and the first of them: `2 measurements: ours, delay 0ms; ours, delay 50ms`.
    pub(super) fn places(&self) -> String {
        /// Most places that are named; more would not be read.
        const NAMED: usize = 6;
        let named = self.places.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
        let more = if self.places.len() > NAMED { "; …" } else { "" };
        format!("{}: {named}{more}", count(self.places.len(), "measurement"))
    }
}

/// Returns `1 repetition`, `3 repetitions`.
pub(super) fn count(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

/// Numbers of measurements by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sound: usize,
    pub(super) limited: usize,
    pub(super) failed: usize,
    pub(super) missing: usize,
}

impl Tally {
    pub(super) fn of(grid: &Grid) -> Self {
        let mut tally = Self::default();
        for (_, _, repetition) in grid.every() {
            match repetition.outcome {
                Outcome::Sound(_) => tally.sound += 1,
                Outcome::Limited(_) => tally.limited += 1,
                Outcome::Failed(_) => tally.failed += 1,
                Outcome::Missing => tally.missing += 1,
            }
        }
        tally
    }

    /// Returns a sentence such as `24 sound, 1 failed`.
    pub(super) fn sentence(&self) -> String {
        let parts = [
            (self.sound, "sound"),
            (self.limited, "limited by the machine or the emulator"),
            (self.failed, "failed"),
            (self.missing, "not measured"),
        ];
        let parts = parts.iter().filter(|&&(count, word)| count > 0 || word == "sound");
        parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns what was done otherwise than the experiment asks.
pub(super) fn deviations(grid: &Grid) -> Vec<Note> {
    gather(grid.every().flat_map(|(cell, row, repetition)| {
        let flags = repetition.case.map_or(&[][..], |case| &case.flags);
        let said = flags.iter().filter_map(|flag| match flag {
            Flag::Deviation { what } => Some(what.clone()),
            _ => None,
        });
        said.map(move |what| (what, place(grid, cell, row, repetition)))
    }))
}

/// Returns the measurements without a figure, and the reasons.
pub(super) fn marked(grid: &Grid) -> Vec<Note> {
    gather(grid.every().filter_map(|(cell, row, repetition)| {
        let why = match &repetition.outcome {
            Outcome::Failed(why) => format!("failed: {why}"),
            Outcome::Limited(limit) => limit.sentence(),
            Outcome::Missing | Outcome::Sound(_) => return None,
        };
        Some((why, place(grid, cell, row, repetition)))
    }))
}

/// Returns what made the links.
pub(super) fn backends(grid: &Grid) -> String {
    let mut names = BTreeSet::new();
    for case in &grid.results.plan.cases {
        names.insert(match case.spec.backend {
            Backend::Emulator => "our emulator in user space",
            Backend::Kernel => "the kernel's tbf and netem",
        });
    }
    names.into_iter().collect::<Vec<_>>().join(" and ")
}

/// Returns the scale of the papers' rates, in words.
pub(super) fn scales(grid: &Grid) -> String {
    let mut scales: Vec<f64> = grid.results.plan.cases.iter().map(|case| case.spec.scale).collect();
    scales.sort_by(f64::total_cmp);
    scales.dedup();
    match scales.as_slice() {
        [] | [1.0] => "rates as in the paper".to_owned(),
        [one] => format!(
            "rates divided by {}, delays kept, windows scaled with the rate",
            published(*one)
        ),
        several => {
            let several = several.iter().map(|&scale| published(scale)).collect::<Vec<_>>();
            format!("rates divided by {} (see the cells), delays kept", several.join(" or "))
        }
    }
}

/// Returns the place, time and means of the measurements: one line per fact, with all values that it had.
pub(super) fn environment<'a>(
    cases: impl Iterator<Item = &'a CaseResult>,
) -> Vec<(String, BTreeSet<String>)> {
    let mut facts: BTreeMap<(u8, String), BTreeSet<String>> = BTreeMap::new();
    let mut began: Option<(u64, u64)> = None;
    for case in cases {
        let environment = &case.environment;
        let mut fact = |order: u8, name: &str, value: &str| {
            facts.entry((order, name.to_owned())).or_default().insert(value.to_owned());
        };
        fact(1, "mpt", &environment.mpt);
        fact(2, "machine", &environment.processors);
        fact(3, "kernel", &environment.kernel);
        fact(4, "emulator", &environment.emulator);
        for (program, version) in &environment.programs {
            fact(5, program, version);
        }
        let (first, last) = began.unwrap_or((case.began, case.began));
        began = Some((first.min(case.began), last.max(case.began)));
    }
    if let Some((first, last)) = began {
        let dates = [first, last].map(date).into_iter().collect::<Vec<_>>();
        let dates = if dates[0] == dates[1] { dates[0].clone() } else { dates.join(" to ") };
        facts.insert((0, "measured".to_owned()), BTreeSet::from([dates]));
    }
    facts.into_iter().map(|((_, name), values)| (name, values)).collect()
}

/// Returns the day (UTC) of a time in seconds since 1970.
pub(super) fn date(seconds: u64) -> String {
    /// The last second of the year 9999, the last that can be written with four digits.
    const LAST: u64 = 253_402_300_799;
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// Returns row, cell and repetition as a text.
fn place(grid: &Grid, cell: usize, row: &str, repetition: &Repetition) -> String {
    let mut parts = vec![row.to_owned()];
    parts.extend(Some(grid.name(cell)).filter(|name| !name.is_empty()));
    if grid.repetitions > 1 {
        parts.push(format!("repetition {}", u64::from(repetition.spec.repetition) + 1));
    }
    parts.join(", ")
}

/// Brings equal notes together, in the order in which they first came.
fn gather(said: impl Iterator<Item = (String, String)>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for (what, place) in said {
        match notes.iter_mut().find(|note| note.what == what) {
            Some(note) => note.places.push(place),
            None => notes.push(Note { what, places: vec![place] }),
        }
    }
    notes
}
