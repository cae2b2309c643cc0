//! Quantities as users write them; `None` for what is none.

use std::time::Duration;

/// Reads bytes: a bare number, or one with a decimal or binary unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB).
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("B", 1),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    quantity(text, UNITS)
}

/// Reads a time (us, ms, s, min), to the nanosecond.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    const UNITS: &[(&str, u64)] =
        &[("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];
    quantity(text, UNITS).map(Duration::from_nanos)
}

/// Reads bits per second (bit/s, kbit/s, Mbit/s, Gbit/s).
#[must_use]
pub fn rate(text: &str) -> Option<u64> {
    const UNITS: &[(&str, u64)] =
        &[("bit/s", 1), ("kbit/s", 1000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
    quantity(text, UNITS)
}

/// Splits a text into its digits with their decimal points, and the unit behind them without the spaces in between.
#[must_use]
pub fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start_matches(' '))
}

/// Reads a decimal number and a unit in any case, as a number of base units; what lies below one of them is cut off.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = split(text);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    // Nine digits after the point, so that the product below fits 128 bits.
    let scale =
        10u128.checked_pow(u32::try_from(fraction.len()).ok()?).filter(|&s| s <= 1_000_000_000)?;
    let digits = whole.parse::<u64>().ok()?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    let scaled = u128::from(digits) * scale + u128::from(fraction);
    u64::try_from(scaled.checked_mul(u128::from(*factor))? / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(size("64 MiB"), Some(64 << 20));
        assert_eq!(size("64mib"), Some(64 << 20));
        assert_eq!(size("1.5 kB"), Some(1500));
        assert_eq!(size("4096"), Some(4096));
        assert_eq!(size("2 TB"), Some(2_000_000_000_000));
        for bad in
            ["", " ", "MiB", "1.MiB", ".5 MiB", "1.2.3 kB", "-1", "99999999999 GB", "1 parsec"]
        {
            assert!(size(bad).is_none(), "{bad}");
        }
        assert!(size("0.0000000001 GB").is_none(), "more digits than anyone needs");
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(duration("300 ms"), Some(Duration::from_millis(300)));
        assert_eq!(duration("0.3s"), Some(Duration::from_millis(300)));
        assert!(duration("300").is_none());
    }

    #[test]
    fn rates_are_bits_per_second() {
        assert_eq!(rate("100 Mbit/s"), Some(100_000_000));
        assert_eq!(rate("2.5 Gbit/s"), Some(2_500_000_000));
        assert!(rate("100 MB/s").is_none());
    }
}
