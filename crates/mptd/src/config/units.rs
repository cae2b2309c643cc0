//! Quantities with units: "64 MiB", "300 ms", "100 Mbit/s".

use std::time::Duration;

use super::values::Fault;

/// Bytes: a bare number, or one with a decimal or binary unit.
pub(super) fn size(text: &str) -> Result<u64, Fault> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("B", 1),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    quantity(text, UNITS).ok_or_else(|| "is not a size".into())
}

/// Time, to the nanosecond.
pub(super) fn duration(text: &str) -> Result<Duration, Fault> {
    const UNITS: &[(&str, u64)] =
        &[("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];
    quantity(text, UNITS)
        .map(Duration::from_nanos)
        .ok_or_else(|| "is not a time with its unit".into())
}

/// Bits per second.
pub(super) fn rate(text: &str) -> Result<u64, Fault> {
    const UNITS: &[(&str, u64)] =
        &[("bit/s", 1), ("kbit/s", 1000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
    quantity(text, UNITS).ok_or_else(|| "is not a rate with its unit".into())
}

/// A decimal number, spaces, a unit (in any case). What lies below one base unit is cut off.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start_matches(' ');
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
        assert_eq!(size("64 MiB"), Ok(64 << 20));
        assert_eq!(size("64mib"), Ok(64 << 20));
        assert_eq!(size("1.5 kB"), Ok(1500));
        assert_eq!(size("4096"), Ok(4096));
        for bad in
            ["", " ", "MiB", "1.MiB", ".5 MiB", "1.2.3 kB", "-1", "99999999999 GB", "1 parsec"]
        {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(size("0.0000000001 GB").is_err(), "more digits than anyone needs");
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(duration("300 ms"), Ok(Duration::from_millis(300)));
        assert_eq!(duration("0.3s"), Ok(Duration::from_millis(300)));
        assert!(duration("300").is_err());
    }

    #[test]
    fn rates_are_bits_per_second() {
        assert_eq!(rate("100 Mbit/s"), Ok(100_000_000));
        assert_eq!(rate("2.5 Gbit/s"), Ok(2_500_000_000));
        assert!(rate("100 MB/s").is_err());
    }
}
