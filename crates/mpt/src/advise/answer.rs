//! The advice as text and as JSON.

use std::fmt;
use std::time::Duration;

use mpt_api::Mapping;
use mpt_core::advise::{self, Advice, Path};
use mpt_text::quantity;
use mpt_text::table::{Column, Table};
use serde::Serialize;

use super::Named;
use crate::command_line::args;

/// The advice, as JSON or as text.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    paths: Vec<PathAnswer>,
    /// The time by which the slowest packet comes after the fastest, in microseconds.
    spread_us: u64,
    /// Receive window in packets.
    window: u16,
    /// The longest time that a packet is held, in microseconds.
    max_delay_us: u64,
    /// Predicted rate of one TCP flow, in bits per second of payload.
    throughput: u64,
    /// TCP payload that all paths together carry.
    capacity: u64,
    papers: Papers,
    /// The mapping of the connection, where one was asked about.
    #[serde(skip)]
    mapping: Option<Mapping>,
}

/// A path with its weight.
#[derive(Debug, Serialize)]
struct PathAnswer {
    name: String,
    bits_per_second: u64,
    delay_us: u64,
    jitter_us: u64,
    weight: u16,
}

/// The values of the papers' rules of thumb.
#[derive(Debug, Serialize)]
struct Papers {
    /// Three round-trip times of the slowest path (almasi2017, section 4.3).
    max_delay_us: u64,
    /// Window in packets: those that arrive at the full rate of all paths within that time (imareen2025, section 2.2).
    window: u64,
}

impl Answer {
    pub(super) fn new(
        named: &[Named],
        mapping: Option<Mapping>,
        paths: &[Path],
        advice: &Advice,
    ) -> Self {
        let answer = |(named, &weight): (&Named, &u16)| PathAnswer {
            name: named.name.clone(),
            bits_per_second: named.path.rate,
            delay_us: microseconds(named.path.delay),
            jitter_us: microseconds(named.path.jitter),
            weight,
        };
        let rule = advise::round_trip_rule(paths);
        Self {
            paths: named.iter().zip(&advice.weights).map(answer).collect(),
            spread_us: microseconds(advice.spread),
            window: advice.window,
            max_delay_us: microseconds(advice.max_delay),
            throughput: advice.throughput as u64,
            capacity: advise::capacity(paths) as u64,
            papers: Papers {
                max_delay_us: microseconds(rule),
                window: advise::line_rate_rule(paths, rule),
            },
            mapping,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::indented([
            Column::word("PATH"),
            Column::number("RATE"),
            Column::number("DELAY"),
            Column::number("JITTER"),
        ]);
        for path in &self.paths {
            table.row([
                path.name.clone(),
                quantity::rate(path.bits_per_second),
                quantity::microseconds(path.delay_us),
                quantity::microseconds(path.jitter_us),
            ]);
        }
        writeln!(f, "{table}")?;
        writeln!(f, "# in [[connection]], at the end that receives")?;
        writeln!(f, "window = {}", self.window)?;
        // Whole milliseconds: what is left over is nothing to write down.
        writeln!(f, "max_delay = \"{} ms\"", self.max_delay_us.div_ceil(1000))?;
        writeln!(f, "\n# in [[connection.path]], at the end that sends")?;
        for path in &self.paths {
            writeln!(f, "weight = {:<6} # {}", path.weight, args::quoted(&path.name))?;
        }
        writeln!(
            f,
            "\nthe slowest packets come {} after the fastest; one TCP flow will carry {} of the {} that fit",
            quantity::microseconds(self.spread_us),
            quantity::rate(self.throughput),
            quantity::rate(self.capacity)
        )?;
        writeln!(
            f,
            "the papers' rules: max_delay = \"{} ms\", three round-trip times of the slowest path; window = {}, what \
             arrives within that",
            self.papers.max_delay_us.div_ceil(1000),
            self.papers.window
        )?;
        writeln!(f, "{}", what_is_learnt(self.mapping))
    }
}

/// Returns the sentence that says which part of the advice a connection with this mapping needs.
fn what_is_learnt(mapping: Option<Mapping>) -> String {
    const LEARNT: &str = "rates, shares, the hold and repairs are learnt, weights are not used, and window and max_delay \
                          bound the hold where they are set";
    match mapping {
        None => format!(
            "with mapping = \"adaptive\" {LEARNT}; with other mappings they stay as configured"
        ),
        Some(Mapping::Adaptive) => format!("the connection has mapping = \"adaptive\": {LEARNT}"),
        Some(mapping) => format!(
            "the connection has mapping = \"{mapping}\": weights, window and max_delay stay as configured"
        ),
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
