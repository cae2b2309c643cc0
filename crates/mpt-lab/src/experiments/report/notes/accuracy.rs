//! The verdict on the emulator of links: the result of its own experiment, at the top of every report.

use std::path::Path;

use anyhow::Result;

pub(crate) use crate::emulator::accuracy::Accuracy;
use crate::experiments::report::results::{ACCURACY, read as read_json};

/// The command that measures it.
pub(crate) const COMMAND: &str = "mpt-lab run emulator-accuracy";

/// Reads the result of the experiment; `None` when it was not run into this directory.
pub(crate) fn read(out: &Path) -> Result<Option<Accuracy>> {
    let path = out.join(ACCURACY).join("results.json");
    if path.exists() { read_json(&path).map(Some) } else { Ok(None) }
}

/// Returns the verdict in one sentence.
pub(crate) fn sentence(accuracy: &Accuracy) -> String {
    let missed = accuracy.rows.iter().filter(|row| !row.pass).count();
    let all = accuracy.rows.len();
    let how = if accuracy.quick { " (measured in a shorter time)" } else { "" };
    match missed {
        0 => format!("The emulator is as exact as it must be in all {all} figures{how}."),
        _ => {
            format!("The emulator is not as exact as it must be in {missed} of {all} figures{how}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::accuracy::Row;

    #[test]
    fn the_verdict_is_read_and_told() {
        let row = |pass| Row {
            figure: "rate error".into(),
            must: "<= 0.2 %".into(),
            measured: "0.05 %".into(),
            pass,
        };
        let out = tempfile::tempdir().unwrap();
        assert!(read(out.path()).unwrap().is_none());
        let accuracy = Accuracy { quick: true, rows: vec![row(true), row(false)] };
        let file = out.path().join(ACCURACY).join("results.json");
        let json = serde_json::to_vec(&accuracy).unwrap();
        crate::results::files::replace(&file, &json).unwrap();
        let found = read(out.path()).unwrap().unwrap();
        assert_eq!(found, accuracy);
        let expected = "The emulator is not as exact as it must be in 1 of 2 figures (measured in a shorter time).";
        assert_eq!(sentence(&found), expected);
        let good = Accuracy { quick: false, rows: vec![row(true)] };
        assert_eq!(sentence(&good), "The emulator is as exact as it must be in all 1 figures.");
        std::fs::write(&file, "{}").unwrap();
        let error = format!("{:#}", read(out.path()).unwrap_err());
        assert!(error.contains("emulator-accuracy/results.json"), "{error}");
    }
}
