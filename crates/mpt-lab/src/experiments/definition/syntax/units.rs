//! Quantities as users write them: `"10mbit"`, `"5ms"`, `"1%"`, `"100packets"`, `"20MB"`.
//!
//! Every text gives a value or a message that says what to write instead; nothing panics and nothing is rounded to 0.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use mpt_link::{Bitrate, ByteCount, Probability, QueueLimit};
use mpt_text::quantity::parse::split;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// The longest time in a file: longer ones are misspelt units.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The highest rate in a file, bits per second: far above the rate of any link of the laboratory.
const FASTEST: f64 = 1e12;

/// A quantity with a unit.
pub(crate) trait Quantity: Sized {
    /// Its name in messages, with its article.
    const NAME: &'static str;
    /// An example in messages.
    const EXAMPLE: &'static str;
    /// Units in small letters, each with its factor.
    const UNITS: &'static [(&'static str, f64)];

    /// Makes a quantity of base units; the index is that of the unit. An error says what is wrong.
    fn new(value: f64, unit: usize) -> Result<Self, String>;

    /// Parses a text.
    fn parse(text: &str) -> Result<Self, String> {
        let instead = |what: &str| format!("\"{text}\" {what}; write {}", Self::EXAMPLE);
        let (number, unit) = split(text.trim());
        let number: f64 = number.parse().map_err(|_| instead(&format!("is not {}", Self::NAME)))?;
        let unit = unit.trim().to_ascii_lowercase();
        let found = Self::UNITS.iter().position(|(name, _)| *name == unit);
        let index = found.ok_or_else(|| {
            let what = match unit.as_str() {
                "" => "has no unit".to_owned(),
                _ => format!("is not {}", Self::NAME),
            };
            instead(&what)
        })?;
        let value = number * Self::UNITS[index].1;
        Self::new(value, index).map_err(|what| instead(&what))
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) Bitrate);

impl Quantity for Rate {
    const NAME: &'static str = "a rate";
    const EXAMPLE: &'static str = "for example \"10mbit\" (bit, kbit, mbit, gbit)";
    const UNITS: &'static [(&'static str, f64)] = &[
        ("bit", 1.0),
        ("kbit", 1e3),
        ("mbit", 1e6),
        ("gbit", 1e9),
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("mbit/s", 1e6),
        ("gbit/s", 1e9),
    ];

    fn new(value: f64, _: usize) -> Result<Self, String> {
        if value > FASTEST {
            return Err("is more than any link carries".into());
        }
        let rate = Bitrate::new(value.round() as u64);
        rate.map(Self).ok_or_else(|| "is no rate at all".into())
    }
}

/// A time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl Quantity for Time {
    const NAME: &'static str = "a time";
    const EXAMPLE: &'static str = "for example \"5ms\" (us, ms, s, min)";
    const UNITS: &'static [(&'static str, f64)] =
        &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)];

    fn new(value: f64, _: usize) -> Result<Self, String> {
        match Duration::try_from_secs_f64(value) {
            Ok(time) if time <= LONGEST => Ok(Self(time)),
            _ => Err("is more than a day".into()),
        }
    }
}

/// A share of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share(pub(crate) Probability);

impl Quantity for Share {
    const NAME: &'static str = "a share";
    const EXAMPLE: &'static str = "for example \"0.1%\"";
    const UNITS: &'static [(&'static str, f64)] = &[("%", 0.01)];

    fn new(value: f64, _: usize) -> Result<Self, String> {
        Probability::new(value).map(Self).ok_or_else(|| "is more than everything".into())
    }
}

/// A limit of the queue of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) QueueLimit);

impl Quantity for Limit {
    const NAME: &'static str = "a queue limit";
    const EXAMPLE: &'static str = "for example \"100packets\", \"64KiB\" or \"400ms\"";
    const UNITS: &'static [(&'static str, f64)] = &[
        ("packet", 1.0),
        ("packets", 1.0),
        ("b", 1.0),
        ("kb", 1e3),
        ("kib", 1024.0),
        ("mb", 1e6),
        ("mib", 1024.0 * 1024.0),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
    ];

    fn new(value: f64, unit: usize) -> Result<Self, String> {
        Ok(Self(match unit {
            0 | 1 => QueueLimit::Packets(value.round() as usize),
            2..=6 => QueueLimit::Bytes(ByteCount(value.round() as u64)),
            _ => QueueLimit::Time(Time::new(value, 0)?.0),
        }))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl Quantity for Size {
    const NAME: &'static str = "a size";
    const EXAMPLE: &'static str = "for example \"20MB\" (B, kB, MB, GB, KiB, MiB, GiB)";
    const UNITS: &'static [(&'static str, f64)] = &[
        ("b", 1.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("kib", 1024.0),
        ("mib", 1024.0 * 1024.0),
        ("gib", 1024.0 * 1024.0 * 1024.0),
    ];

    fn new(value: f64, _: usize) -> Result<Self, String> {
        // 1 TB: more than any experiment sends.
        if value > 1e12 {
            return Err("is more than anybody waits for".into());
        }
        Ok(Self(value.round() as u64))
    }
}

struct QuantityVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with its unit; write {}", T::NAME, T::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(format!("{number} has no unit; write {}", T::EXAMPLE)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(format!("{number} has no unit; write {}", T::EXAMPLE)))
    }
}

macro_rules! deserialize {
    ($($quantity:ty),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(PhantomData))
            }
        }
    )*};
}
deserialize!(Rate, Time, Share, Limit, Size);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(Rate::parse("10mbit").unwrap().0.bits_per_second(), 10_000_000);
        assert_eq!(Rate::parse("2.5 Gbit/s").unwrap().0.bits_per_second(), 2_500_000_000);
        assert_eq!(Time::parse("0.4s").unwrap().0, Duration::from_millis(400));
        assert_eq!(Time::parse("0ms").unwrap().0, Duration::ZERO);
        assert_eq!(Share::parse("0.1%").unwrap().0.value(), 0.001);
        assert_eq!(Limit::parse("100packets").unwrap().0, QueueLimit::Packets(100));
        assert_eq!(Limit::parse("64KiB").unwrap().0, QueueLimit::Bytes(ByteCount(65536)));
        let time = QueueLimit::Time(Duration::from_millis(400));
        assert_eq!(Limit::parse("400ms").unwrap().0, time);
        assert_eq!(Size::parse("1GB").unwrap().0, 1_000_000_000);
    }

    #[test]
    fn messages_say_what_to_write() {
        let message = |result: Result<Rate, String>| result.unwrap_err();
        let instead = "write for example \"10mbit\" (bit, kbit, mbit, gbit)";
        assert_eq!(message(Rate::parse("10")), format!("\"10\" has no unit; {instead}"));
        assert_eq!(message(Rate::parse("10ms")), format!("\"10ms\" is not a rate; {instead}"));
        assert_eq!(
            message(Rate::parse("0mbit")),
            format!("\"0mbit\" is no rate at all; {instead}")
        );
        assert_eq!(message(Rate::parse("")), format!("\"\" is not a rate; {instead}"));
        assert!(message(Rate::parse("1e9gbit")).contains("is not a rate"));
        assert!(message(Rate::parse("99999999gbit")).contains("more than any link carries"));
        assert!(Share::parse("101%").unwrap_err().contains("more than everything"));
        assert!(Time::parse("-5ms").unwrap_err().contains("is not a time"));
        assert!(Time::parse("5000min").unwrap_err().contains("more than a day"));
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused(text in ".*") {
            let _ = (Rate::parse(&text).is_ok(), Time::parse(&text).is_ok());
            let _ = (Share::parse(&text).is_ok(), Limit::parse(&text).is_ok());
            let _ = Size::parse(&text).is_ok();
        }

        #[test]
        fn any_number_is_understood_or_refused(number in "[0-9.]{0,40}", unit in "[a-zA-Z%]{0,4}") {
            let text = format!("{number}{unit}");
            let _ = (Rate::parse(&text).is_ok(), Time::parse(&text).is_ok());
            let _ = (Share::parse(&text).is_ok(), Limit::parse(&text).is_ok());
            let _ = Size::parse(&text).is_ok();
        }
    }
}
