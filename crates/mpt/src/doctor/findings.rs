//! The findings of the doctor.

use std::fmt;

use mpt_text::quantity;
use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// All is as it should be.
    Ok,
    /// Works, but slower or with less than there could be; or could not be looked at.
    Note,
    /// Probably not meant.
    Warning,
    /// Something does not work.
    Error,
}

/// A finding at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The subject: "tun", "rp_filter", "mtu", ...
    pub(super) check: &'static str,
    pub(super) level: Level,
    /// The finding.
    pub(super) message: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

/// Everything that was found, in the order in which it was looked at.
#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    pub(super) findings: Vec<Finding>,
}

impl Findings {
    pub(super) fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        let message = message.into();
        self.findings.push(Finding { check, level: Level::Ok, message, advice: None });
    }

    pub(super) fn add(
        &mut self,
        level: Level,
        check: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (message, advice) = (message.into(), Some(advice.into()));
        self.findings.push(Finding { check, level, message, advice });
    }

    pub(super) fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { check, level, message, advice } in &self.findings {
            let word = match level {
                Level::Ok => "ok",
                Level::Note => "note",
                Level::Warning => "WARNING",
                Level::Error => "ERROR",
            };
            writeln!(f, "{word:<8}{check:<11}{message}")?;
            if let Some(advice) = advice {
                writeln!(f, "{:19}-> {advice}", "")?;
            }
        }
        let (errors, warnings) = (self.count(Level::Error), self.count(Level::Warning));
        writeln!(
            f,
            "{}, {}",
            quantity::count(errors, "error"),
            quantity::count(warnings, "warning")
        )
    }
}
