//! A path as it is given on the command line: `rate=100Mbit,delay=50ms,jitter=5ms`.

use std::time::Duration;

use mpt_core::advise::Path;

/// The name of a path, if it is given, and its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(super) name: Option<String>,
    pub(super) path: Path,
}

/// Reads a path: keys in any order, each once; only the rate is needed.
pub(crate) fn given(text: &str) -> Result<Given, String> {
    let (mut name, mut rate, mut delay, mut jitter) = (None, None, None, None);
    for part in text.split(',') {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("\"{part}\" is no KEY=VALUE; write such as rate=100Mbit,delay=5ms")
        })?;
        let again = match key {
            "name" => name.replace(value.to_owned()).is_some(),
            "rate" => rate.replace(self::rate(value)?).is_some(),
            "delay" => delay.replace(time(value)?).is_some(),
            "jitter" => jitter.replace(time(value)?).is_some(),
            _ => return Err(format!("unknown key {key}; write rate, delay, jitter or name")),
        };
        if again {
            return Err(format!("{key} stands there twice"));
        }
    }
    let rate = rate.ok_or("the rate is missing; write such as rate=100Mbit,delay=5ms")?;
    let (delay, jitter) = (delay.unwrap_or_default(), jitter.unwrap_or_default());
    Ok(Given { name, path: Path { rate, delay, jitter } })
}

/// Bits per second: a whole or decimal number and a unit, with or without "/s".
fn rate(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 4] = [("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start_matches(' ').to_ascii_lowercase();
    let unit = unit.strip_suffix("/s").unwrap_or(&unit);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    match (number.parse::<f64>(), factor) {
        // The cast saturates, and what is too large is refused later.
        (Ok(number), Some(factor)) => Ok((number * factor).round() as u64),
        _ => Err(format!("{text} is not a rate; write such as 100Mbit")),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{text} is not a time: {error}; write such as 50ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_whatever_the_order() {
        let milliseconds = Duration::from_millis;
        for (text, name, rate, delay, jitter) in [
            ("rate=100Mbit,delay=50ms,jitter=5ms", None, 100_000_000, 50, 5),
            ("jitter=5ms,name=dsl,rate=1.5 Mbit/s", Some("dsl"), 1_500_000, 0, 5),
            ("rate=2gbit/s", None, 2_000_000_000, 0, 0),
            ("delay=1s,rate=64kbit", None, 64_000, 1000, 0),
        ] {
            let path = Path { rate, delay: milliseconds(delay), jitter: milliseconds(jitter) };
            let expected = Given { name: name.map(str::to_owned), path };
            assert_eq!(given(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, part) in [
            ("", "KEY=VALUE"),
            ("rate", "KEY=VALUE"),
            ("delay=5ms", "rate is missing"),
            ("rate=100", "is not a rate"),
            ("rate=Mbit", "is not a rate"),
            ("rate=-1Mbit", "is not a rate"),
            ("rate=1.2.3Mbit", "is not a rate"),
            ("rate=10Mbit,delay=5", "is not a time"),
            ("rate=10Mbit,rate=10Mbit", "twice"),
            ("rate=10Mbit,loss=1%", "unknown key loss"),
        ] {
            let error = given(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
