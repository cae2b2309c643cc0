//! Quantities as programs show them: three digits and a unit.

/// Returns bits per second as "94.1 Mbit/s".
#[must_use]
pub fn rate(bits_per_second: u64) -> String {
    scaled(bits_per_second, "bit/s")
}

/// Returns bytes as "12.3 GB".
#[must_use]
pub fn bytes(bytes: u64) -> String {
    scaled(bytes, "B")
}

/// Returns bytes with the largest unit in which they are a whole number, "50 GB": nothing is rounded.
#[must_use]
pub fn exact_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 8] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("kB", 1000),
        ("B", 1),
    ];
    let whole = UNITS.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match whole {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

/// Returns bytes of memory as "64 MiB": rounded up to whole KiB or MiB, since nobody counts single bytes there.
#[must_use]
pub fn memory(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes < MIB {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", bytes.div_ceil(MIB))
    }
}

/// Returns microseconds as "49.9 ms".
#[must_use]
pub fn microseconds(us: u64) -> String {
    match us {
        0..1000 => format!("{us} us"),
        1000..1_000_000 => format!("{} ms", three_digits(us as f64 / 1e3)),
        _ => format!("{} s", three_digits(us as f64 / 1e6)),
    }
}

/// Returns a number of things as "1 error" or "2 errors".
#[must_use]
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

fn scaled(value: u64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if value < 1000 {
        return format!("{value} {unit}");
    }
    let mut scaled = value as f64;
    let mut prefix = 0;
    // 999.5 would be shown as 1000.
    while scaled >= 999.5 {
        scaled /= 1e3;
        prefix += 1;
    }
    format!("{} {}{unit}", three_digits(scaled), PREFIXES[prefix])
}

/// `value` from 1 to 999.5.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_bytes_are_read_as_they_are_shown() {
        for text in ["50 GB", "1 TB", "1500 MB", "3 GiB", "1 B", "1001 B", "7 kB", "0 B"] {
            let bytes = super::super::parse::size(text).unwrap();
            assert_eq!(exact_bytes(bytes), text);
        }
    }

    #[test]
    fn quantities_have_three_digits() {
        for (value, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_995, "10.0 kB"),
            (99_949, "99.9 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(value), expected, "{value}");
        }
        assert_eq!(memory(0), "0 KiB");
        assert_eq!(memory(1), "1 KiB");
        assert_eq!(memory(64 << 20), "64 MiB");
        assert_eq!(microseconds(49_900), "49.9 ms");
        assert_eq!(microseconds(1_000_000), "1.00 s");
    }
}
