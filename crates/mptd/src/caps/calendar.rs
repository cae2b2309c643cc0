//! The beginnings of the periods of caps, by the calendar of this host.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use mpt_api::CapPeriod;
use mpt_config as config;

/// Returns the time at which the period of a cap that runs at `now` ends and the next one begins: a midnight.
#[must_use]
pub(crate) fn next_period(now: &Zoned, path: &config::Path) -> Timestamp {
    let today = now.date();
    let period = path.cap.map_or(CapPeriod::Month, |cap| cap.period);
    let next = match period {
        CapPeriod::Day => today.checked_add(1.day()).unwrap_or(Date::MAX),
        CapPeriod::Month | CapPeriod::Unknown => {
            let this_month = in_month(today, path.cap_day);
            if this_month > today {
                this_month
            } else {
                let next = today.first_of_month().checked_add(1.month()).unwrap_or(Date::MAX);
                in_month(next, path.cap_day)
            }
        }
    };
    midnight(next, now.time_zone())
}

/// The day of this number in the month of `date`, or the last one where there are fewer.
fn in_month(date: Date, day: u8) -> Date {
    let last = date.days_in_month();
    let day = i8::try_from(day).unwrap_or(last).clamp(1, last);
    date.with().day(day).build().unwrap_or(date)
}

/// The first moment of a day: where clocks are put forward at midnight, that is later.
fn midnight(date: Date, zone: &TimeZone) -> Timestamp {
    zone.to_zoned(date.at(0, 0, 0, 0))
        .and_then(|zoned| zoned.start_of_day())
        .map_or(Timestamp::MAX, |zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::test::path;

    fn next(now: &str, cap: &str) -> String {
        let now: Zoned = now.parse().unwrap();
        let next = next_period(&now, &path(cap));
        next.to_zoned(now.time_zone().clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    #[test]
    fn a_month_ends_on_its_day_or_on_its_last() {
        let utc = |date: &str| format!("{date}T12:00[UTC]");
        for (now, day, expected) in [
            ("2026-01-01", 1, "2026-02-01 00:00"),
            ("2026-01-31", 1, "2026-02-01 00:00"),
            ("2026-01-14", 15, "2026-01-15 00:00"),
            ("2026-01-15", 15, "2026-02-15 00:00"),
            ("2026-01-31", 31, "2026-02-28 00:00"),
            ("2026-02-27", 31, "2026-02-28 00:00"),
            ("2026-02-28", 31, "2026-03-31 00:00"),
            ("2028-02-28", 30, "2028-02-29 00:00"),
            ("2026-12-31", 15, "2027-01-15 00:00"),
        ] {
            let cap = format!("cap = \"1 GB/month\"\ncap_day = {day}");
            assert_eq!(next(&utc(now), &cap), expected, "{now}, day {day}");
        }
    }

    #[test]
    fn a_day_ends_at_midnight_whatever_the_clocks_do() {
        let cap = "cap = \"1 GB/day\"";
        assert_eq!(next("2026-03-29T01:30[Europe/Budapest]", cap), "2026-03-30 00:00");
        assert_eq!(next("2026-10-25T23:59[Europe/Budapest]", cap), "2026-10-26 00:00");
        // There is no midnight on that day.
        assert_eq!(next("2018-11-03T12:00[America/Sao_Paulo]", cap), "2018-11-04 01:00");
        assert_eq!(next("2026-12-31T12:00[UTC]", cap), "2027-01-01 00:00");
    }
}
