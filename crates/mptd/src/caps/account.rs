//! The account of a path: how much it has carried in the present period. It has no clock and no file; time is an argument.

use jiff::{Timestamp, Zoned};
use mpt_api::{AtCap, CapCounts};
use mpt_config as config;
use serde::{Deserialize, Serialize};

use super::calendar::next_period;

/// Clocks that show an earlier time have not been set yet since the host was switched on: 2026-01-01.
const PLAUSIBLE: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// A clock is not put back by more, unless it was wrong before.
const CORRECTION_S: i64 = 86_400;

/// The account of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The time at which it began to count.
    since: Timestamp,
    /// The time at which the period ends.
    resets: Timestamp,
    /// Bytes sent since it began.
    sent: u64,
    /// Bytes received since it began.
    received: u64,
    /// True if more may have been carried.
    uncertain: bool,
}

/// The level that the traffic of a path has reached on the way to its cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Below 80 percent.
    #[default]
    Below,
    /// 80 percent.
    Near,
    /// 95 percent.
    Close,
    /// The cap.
    Reached,
}

impl Level {
    /// The percentage from which on it is warned.
    #[must_use]
    pub(crate) fn percent(self) -> u8 {
        match self {
            Level::Below => 0,
            Level::Near => 80,
            Level::Close => 95,
            Level::Reached => 100,
        }
    }
}

impl Account {
    /// An account that begins now.
    #[must_use]
    pub(crate) fn new(now: &Zoned, path: &config::Path) -> Self {
        Self {
            since: now.timestamp(),
            resets: next_period(now, path),
            sent: 0,
            received: 0,
            uncertain: false,
        }
    }

    /// An account that begins now, where the bytes carried before are not known.
    #[must_use]
    pub(crate) fn uncertain(now: &Zoned, path: &config::Path) -> Self {
        Self { uncertain: true, ..Self::new(now, path) }
    }

    /// Lets time pass. When the period has ended, begins the next one, and returns the account of the former.
    pub(crate) fn pass(&mut self, now: &Zoned, path: &config::Path) -> Option<Account> {
        let time = now.timestamp();
        if time < PLAUSIBLE {
            // No period ends by a clock that has not been set.
            return None;
        }
        let had_no_clock = self.since < PLAUSIBLE;
        let was_ahead = self.since.as_second() - time.as_second() > CORRECTION_S;
        if had_no_clock || was_ahead {
            (self.since, self.resets) = (time, next_period(now, path));
            return None;
        }
        if time < self.since {
            return None;
        }
        if time >= self.resets {
            return Some(std::mem::replace(self, Self::new(now, path)));
        }
        // The file may say another day by now. The count stays.
        self.resets = next_period(now, path);
        None
    }

    /// Adds what the path has carried.
    pub(crate) fn add(&mut self, sent: u64, received: u64) {
        self.sent = self.sent.saturating_add(sent);
        self.received = self.received.saturating_add(received);
    }

    /// Adds what another account of the same path has counted.
    pub(crate) fn join(&mut self, other: &Account) {
        self.add(other.sent, other.received);
    }

    /// Returns the bytes that count.
    #[must_use]
    pub(crate) fn used(&self, counts: CapCounts) -> u64 {
        match counts {
            CapCounts::Both | CapCounts::Unknown => self.sent.saturating_add(self.received),
            CapCounts::Sent => self.sent,
            CapCounts::Received => self.received,
        }
    }

    /// Returns how far it has come on the way to the cap of the path.
    #[must_use]
    pub(crate) fn level(&self, path: &config::Path) -> Level {
        let Some(cap) = path.cap else { return Level::Below };
        let used = u128::from(self.used(path.cap_counts)) * 100;
        let of_cap = |level: Level| u128::from(cap.bytes) * u128::from(level.percent());
        let levels = [Level::Reached, Level::Close, Level::Near];
        levels.into_iter().find(|&level| used >= of_cap(level)).unwrap_or_default()
    }

    /// Returns what becomes of the path, if it has reached its cap.
    #[must_use]
    pub(crate) fn reached(&self, path: &config::Path) -> Option<AtCap> {
        (self.level(path) == Level::Reached).then_some(path.at_cap)
    }

    /// Returns the cap as it is shown; `None` without a cap. `saved` says that the present count is in its file.
    #[must_use]
    pub(crate) fn show(&self, path: &config::Path, saved: bool) -> Option<mpt_api::Cap> {
        let cap = path.cap?;
        Some(mpt_api::Cap {
            limit: cap.bytes,
            used: self.used(path.cap_counts),
            sent: self.sent,
            received: self.received,
            period: cap.period,
            counts: path.cap_counts,
            at_cap: path.at_cap,
            resets_ms: u64::try_from(self.resets.as_millisecond()).unwrap_or(0),
            uncertain: self.uncertain,
            saved,
        })
    }

    /// True if its period is over, by a clock that is right.
    #[must_use]
    pub(crate) fn is_over(&self, now: &Zoned) -> bool {
        now.timestamp() >= PLAUSIBLE && now.timestamp() >= self.resets
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;
    use crate::caps::test::path;

    fn at(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    /// A year in steps of an hour and a half, over both changes of the clocks: each month counts what was carried in it, and nothing is
    /// lost between them.
    #[test]
    fn a_year_of_traffic_is_counted_month_by_month() {
        for day in [1, 15, 31] {
            let path = path(&format!("cap = \"100 GB/month\"\ncap_day = {day}"));
            let mut now = at("2026-01-01T00:00[Europe/Budapest]");
            let end = at("2027-01-01T00:00[Europe/Budapest]");
            let mut account = Account::new(&now, &path);
            let (mut carried, mut counted, mut periods) = (0, 0, Vec::new());
            let mut in_period = 0;
            while now < end {
                if let Some(over) = account.pass(&now, &path) {
                    assert_eq!(over.used(CapCounts::Both), in_period, "day {day}, {now}");
                    counted += in_period;
                    periods.push((now.date(), in_period));
                    in_period = 0;
                }
                let bytes = 1_000_000 + now.timestamp().as_second().unsigned_abs() % 1000;
                account.add(bytes, 2 * bytes);
                carried += 3 * bytes;
                in_period += 3 * bytes;
                now = now.checked_add(90.minutes()).unwrap();
            }
            counted += account.used(CapCounts::Both);
            assert_eq!(counted, carried);
            assert_eq!(periods.len(), if day == 1 { 11 } else { 12 }, "day {day}: {periods:?}");
            let days = periods.iter().map(|(date, _)| date.day());
            let last = |date: &jiff::civil::Date| date.days_in_month();
            for ((date, _), on) in periods.iter().zip(days) {
                assert_eq!(on, i8::try_from(day).unwrap().min(last(date)), "{periods:?}");
            }
        }
    }

    /// The level is one of the four at any time, rises with the traffic, and falls only when a period ends.
    #[test]
    fn each_level_is_passed_once_in_a_period() {
        let path = path("cap = \"1 GB/day\"\ncap_counts = \"received\"\nat_cap = \"stop\"");
        let mut now = at("2026-06-01T00:00[UTC]");
        let mut account = Account::new(&now, &path);
        let mut seen = Vec::new();
        for _ in 0..3 * 24 * 60 {
            if account.pass(&now, &path).is_some() {
                seen.push((now.date().day(), Level::Below));
            }
            account.add(5_000_000, 1_000_000);
            let level = account.level(&path);
            if seen.last().map(|it| it.1) != Some(level) {
                seen.push((now.date().day(), level));
            }
            assert_eq!(
                account.reached(&path).is_some(),
                account.used(CapCounts::Received) >= 1_000_000_000
            );
            now = now.checked_add(1.minute()).unwrap();
        }
        let of_a_day = [Level::Below, Level::Near, Level::Close, Level::Reached];
        let expected: Vec<_> =
            (1..=3).flat_map(|day| of_a_day.into_iter().map(move |level| (day, level))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn another_day_of_the_month_takes_nothing_away() {
        let first = path("cap = \"1 GB/month\"");
        let mut now = at("2026-06-20T00:00[UTC]");
        let mut account = Account::new(&now, &first);
        account.add(7, 0);
        let middle = path("cap = \"1 GB/month\"\ncap_day = 15");
        now = now.checked_add(1.day()).unwrap();
        assert_eq!(account.pass(&now, &middle), None);
        assert_eq!(account.used(CapCounts::Both), 7);
        let over = account.pass(&at("2026-07-15T00:00[UTC]"), &middle).unwrap();
        assert_eq!(over.used(CapCounts::Both), 7);
    }

    /// A host without a clock of its own begins in 1970 and learns the time later.
    #[test]
    fn a_clock_that_is_not_set_ends_no_period() {
        let path = path("cap = \"1 GB/month\"");
        let mut account = Account::new(&at("2026-06-20T00:00[UTC]"), &path);
        account.add(7, 0);
        let kept = account.clone();
        assert_eq!(account.pass(&at("1970-01-01T00:00[UTC]"), &path), None);
        assert_eq!(account, kept);
        assert_eq!(account.pass(&at("2026-06-20T00:05[UTC]"), &path), None);
        assert_eq!(account, kept);
        assert!(account.pass(&at("2026-07-01T00:00[UTC]"), &path).is_some());

        let mut new = Account::new(&at("1970-01-01T00:00[UTC]"), &path);
        new.add(5, 0);
        assert_eq!(new.pass(&at("2026-06-20T00:00[UTC]"), &path), None);
        assert_eq!(new.used(CapCounts::Both), 5);
        assert!(new.pass(&at("2026-07-01T00:00[UTC]"), &path).is_some());
    }

    /// A clock that is put back a little at the turn of a period does not end it twice; one that was years ahead does not stop the calendar.
    #[test]
    fn a_clock_that_is_put_back_loses_nothing() {
        let path = path("cap = \"1 GB/month\"");
        let mut account = Account::new(&at("2026-06-20T00:00[UTC]"), &path);
        assert!(account.pass(&at("2026-07-01T00:00:01[UTC]"), &path).is_some());
        account.add(5, 0);
        assert_eq!(account.pass(&at("2026-06-30T23:59[UTC]"), &path), None);
        assert_eq!(account.pass(&at("2026-07-01T00:00:02[UTC]"), &path), None);
        assert_eq!(account.used(CapCounts::Both), 5);

        assert!(account.pass(&at("2041-03-01T00:00[UTC]"), &path).is_some());
        account.add(3, 0);
        assert_eq!(account.pass(&at("2026-07-02T00:00[UTC]"), &path), None);
        assert_eq!(account.used(CapCounts::Both), 3);
        assert!(account.pass(&at("2026-08-01T00:00[UTC]"), &path).is_some());
    }
}
