//! The figures of an event, and their limits.

use mpt_report::statistics;

/// Factor on the times of the table in a quick run, whose machine may be busy with anything.
const WIDE: f64 = 4.0;

/// One figure of an event, of which every repetition gives a value.
#[derive(Debug)]
pub(super) struct Figure {
    /// Its name.
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) limit: Limit,
    /// True if only ends with a control session can keep the limit.
    pub(super) session: bool,
}

/// Units of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// A number of things or events.
    Count,
    /// A share; 1 is all.
    Share,
}

impl Unit {
    /// Returns its word in reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Unit::Milliseconds => "milliseconds",
            Unit::Count => "count",
            Unit::Share => "share",
        }
    }
}

/// The limit of the values of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// No limit: the figure is only shown.
    Told,
    /// Upper limits.
    AtMost {
        /// Limit of the median.
        median: f64,
        /// Limit of every value.
        worst: f64,
    },
    /// Lower limit of every value.
    AtLeast(f64),
}

/// Median and worst value of all repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Summary {
    pub(super) median: f64,
    pub(super) worst: f64,
}

impl Figure {
    /// Returns a time without a limit.
    pub(super) const fn told(name: &'static str) -> Self {
        Self { name, unit: Unit::Milliseconds, limit: Limit::Told, session: false }
    }

    /// Returns a time with the limits of its median and of every value, in milliseconds.
    pub(super) const fn time(name: &'static str, median: f64, worst: f64) -> Self {
        let limit = Limit::AtMost { median, worst };
        Self { name, unit: Unit::Milliseconds, limit, session: false }
    }

    /// Returns a count of something that must not happen.
    pub(super) const fn none(name: &'static str) -> Self {
        let limit = Limit::AtMost { median: 0.0, worst: 0.0 };
        Self { name, unit: Unit::Count, limit, session: false }
    }

    /// Returns a share that has to be reached; 0 means that it is only shown.
    pub(super) const fn share(name: &'static str, least: f64) -> Self {
        let limit = if least > 0.0 { Limit::AtLeast(least) } else { Limit::Told };
        Self { name, unit: Unit::Share, limit, session: false }
    }

    /// Limits the figure only for ends with a session, which alone can keep the limit.
    pub(super) const fn by_session(self) -> Self {
        Self { session: true, ..self }
    }

    /// Returns the limit for one run: times are wide in a quick one, and without a session some figures have none.
    pub(super) fn limit(&self, quick: bool, session: bool) -> Limit {
        match (self.limit, self.unit) {
            _ if self.session && !session => Limit::Told,
            (Limit::AtMost { median, worst }, Unit::Milliseconds) if quick => {
                Limit::AtMost { median: median * WIDE, worst: worst * WIDE }
            }
            (Limit::AtLeast(least), _) if quick => Limit::AtLeast(least / WIDE),
            (limit, _) => limit,
        }
    }

    /// Returns median and worst of `values`; `None` without any.
    pub(super) fn summary(&self, values: &[f64]) -> Option<Summary> {
        let median = statistics::median(values)?;
        let ascending = |a: &f64, b: &f64| a.total_cmp(b);
        let values = values.iter().copied();
        let worst = match (self.limit, self.unit) {
            (Limit::AtLeast(_), _) | (_, Unit::Share) => values.min_by(ascending),
            _ => values.max_by(ascending),
        };
        Some(Summary { median, worst: worst? })
    }
}

impl Limit {
    /// True if it is kept.
    pub(super) fn is_kept(self, summary: Summary) -> bool {
        match self {
            Self::Told => true,
            Self::AtMost { median, worst } => summary.median <= median && summary.worst <= worst,
            Self::AtLeast(least) => summary.worst >= least,
        }
    }
}

impl Unit {
    /// Returns a value as a text.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            _ if value.is_infinite() => "never".into(),
            Self::Milliseconds => format!("{value:.0} ms"),
            Self::Count => format!("{value:.0}"),
            Self::Share => format!("{:.0} %", value * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_limits_have_to_be_kept() {
        let figure = Figure::time("local end", 50.0, 150.0);
        let limit = figure.limit(false, true);
        let kept = |values: &[f64]| limit.is_kept(figure.summary(values).unwrap());
        assert!(kept(&[10.0, 50.0, 150.0]));
        assert!(!kept(&[10.0, 51.0, 60.0]), "median");
        assert!(!kept(&[10.0, 20.0, 151.0]), "worst");
        assert!(!kept(&[10.0, 20.0, f64::INFINITY]), "never");
        assert!(figure.summary(&[]).is_none());
    }

    #[test]
    fn a_quick_run_is_patient_but_forgives_no_loss() {
        let summary = Summary { median: 200.0, worst: 600.0 };
        assert!(Figure::time("", 50.0, 150.0).limit(true, true).is_kept(summary));
        let lost = Summary { median: 0.0, worst: 1.0 };
        assert!(!Figure::none("").limit(true, true).is_kept(lost));
    }

    #[test]
    fn without_a_session_some_limits_are_out_of_reach() {
        let figure = Figure::time("peer", 50.0, 150.0).by_session();
        assert_eq!(figure.limit(false, false), Limit::Told);
        assert_ne!(figure.limit(false, true), Limit::Told);
    }

    #[test]
    fn the_worst_share_is_the_smallest() {
        let figure = Figure::share("TCP", 0.5);
        let summary = figure.summary(&[0.9, 0.4, 0.7]).unwrap();
        assert_eq!((summary.median, summary.worst), (0.7, 0.4));
        assert!(!figure.limit(false, true).is_kept(summary));
        assert_eq!(Unit::Share.show(0.4), "40 %");
        assert_eq!(Unit::Milliseconds.show(f64::INFINITY), "never");
    }
}
