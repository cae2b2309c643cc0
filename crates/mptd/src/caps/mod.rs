//! Caps of paths: how much each has carried in its period, what follows from that, and where it is kept.
//!
//! The data thread counts ([`crate::data`]); the control side takes its counts twice a second, books them here, and does what is due
//! ([`crate::daemon`]).

mod account;
mod calendar;
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Zoned;
use jiff::tz::TimeZone;
use mpt_api::{AtCap, EventKind};
use mpt_config as config;

use crate::data::{Carried, Place};
use account::{Account, Level};
pub(crate) use file::{Entry, Store};

/// The time between two counts. A daemon that is killed loses the traffic that was carried since the last one: less than a second, also on a machine
/// that is late by half of one.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);

/// The number of writes of the counts for one that reaches the disk. Two are made every second, so that one in a minute does.
const WRITES_PER_SYNC: u32 = 120;

/// The accounts of all paths with a cap.
#[derive(Debug)]
pub(crate) struct Caps {
    zone: TimeZone,
    directory: PathBuf,
    accounts: BTreeMap<Place, Kept>,
    /// True if earlier counts are not known, so that a new account may lack something.
    lost: bool,
    /// Writes since the last one that reached the disk.
    writes: u32,
    /// The reason why the counts are not in their file; `None` while they are.
    failure: Option<String>,
    /// True if earlier counts have been read, as far as there are any.
    opened: bool,
}

/// The account of one path.
#[derive(Clone, Debug)]
struct Kept {
    account: Account,
    /// The level of which people were told.
    told: Level,
}

/// The consequences of what was booked.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The events for people.
    pub(crate) events: Vec<EventKind>,
    /// The paths that have reached their caps, and what becomes of them.
    pub(crate) reached: BTreeMap<Place, AtCap>,
}

/// A write of the accounts.
#[derive(Debug)]
pub(crate) struct Save {
    /// The accounts.
    pub(crate) entries: Vec<Entry>,
    /// True if it is to reach the disk.
    pub(crate) sync: bool,
}

impl Caps {
    /// Returns caps without accounts. Periods begin by the clock of `zone`; counts are kept in `directory`.
    #[must_use]
    pub(crate) fn new(zone: TimeZone, directory: &Path) -> Self {
        Self {
            zone,
            directory: directory.to_owned(),
            accounts: BTreeMap::new(),
            lost: false,
            writes: 0,
            failure: None,
            opened: false,
        }
    }

    /// The time by which periods begin and end.
    #[must_use]
    pub(crate) fn now(&self) -> Zoned {
        Zoned::now().with_time_zone(self.zone.clone())
    }

    /// True if there is anything to count or to keep.
    #[must_use]
    pub(crate) fn is_needed(&self, config: &config::Config) -> bool {
        !self.accounts.is_empty() || capped(config).next().is_some()
    }

    /// Opens the directory and takes over the accounts that are there, besides what was counted meanwhile. `None` when that cannot be done,
    /// which is logged.
    pub(crate) fn open(&mut self) -> Option<Store> {
        let (store, found) = match Store::open(&self.directory) {
            Ok(opened) => opened,
            Err(error) => {
                self.written(Err(error));
                return None;
            }
        };
        self.opened = true;
        for file in &found.damaged {
            tracing::error!(
                file = %file.display(),
                "a file of the counts of caps was damaged, and is kept under this name"
            );
        }
        if found.lost {
            tracing::error!(
                "how much the paths with a cap have carried before is not known; they are counted from now on"
            );
        }
        self.lost = found.lost;
        for Entry { connection, path, account } in found.entries {
            let mut kept = Kept { account, told: Level::Below };
            let place = (connection, path);
            if let Some(meanwhile) = self.accounts.remove(&place) {
                kept.account.join(&meanwhile.account);
                kept.told = meanwhile.told;
            }
            self.accounts.insert(place, kept);
        }
        Some(store)
    }

    /// Books what paths have carried until `now`.
    pub(crate) fn book(
        &mut self,
        now: &Zoned,
        config: &config::Config,
        carried: Vec<(Place, Carried)>,
    ) -> Outcome {
        let mut carried: BTreeMap<Place, Carried> = carried.into_iter().collect();
        let mut outcome = Outcome::default();
        for (place, path) in capped(config) {
            let lost = self.lost;
            let kept = self.accounts.entry(place.clone()).or_insert_with(|| Kept {
                account: match lost {
                    true => Account::uncertain(now, path),
                    false => Account::new(now, path),
                },
                told: Level::Below,
            });
            let new = carried.remove(&place).unwrap_or_default();
            kept.account.add(new.sent, new.received);
            if let Some(over) = kept.account.pass(now, path) {
                outcome.events.push(reset(&place, path, &over));
                kept.told = Level::Below;
            }
            let level = kept.account.level(path);
            if level > kept.told {
                outcome.events.push(risen(&place, path, level, &kept.account));
            }
            // A higher cap, or another count, may have brought it down.
            kept.told = level;
            outcome.reached.extend(kept.account.reached(path).map(|at_cap| (place, at_cap)));
        }
        // The counts of a path that is gone are kept for the rest of their period, since the path may come back.
        self.accounts.retain(|(connection, path), kept| {
            let config = config.connection(connection).and_then(|it| it.path(path));
            config.is_some_and(|path| path.cap.is_some()) || !kept.account.is_over(now)
        });
        outcome
    }

    /// Returns what is to be written now. `last`: the daemon ends.
    #[must_use]
    pub(crate) fn save(&mut self, last: bool) -> Save {
        self.writes += 1;
        let sync = last || self.writes >= WRITES_PER_SYNC || self.writes == 1;
        let entry = |((connection, path), kept): (&Place, &Kept)| Entry {
            connection: connection.clone(),
            path: path.clone(),
            account: kept.account.clone(),
        };
        if self.writes >= WRITES_PER_SYNC {
            self.writes = 1;
        }
        Save { entries: self.accounts.iter().map(entry).collect(), sync }
    }

    /// Notes how a write went, and says so when that has changed.
    pub(crate) fn written(&mut self, result: std::io::Result<()>) {
        let failure = result.err().map(|error| error.to_string());
        if failure != self.failure {
            let directory = self.directory.display();
            match &failure {
                Some(error) => tracing::error!(
                    %directory,
                    error,
                    "the counts of caps cannot be written; what is not written would be lost with mptd"
                ),
                None => tracing::info!(%directory, "the counts of caps are written again"),
            }
        }
        self.failure = failure;
    }

    /// The cap of a path, as it is shown; `None` without one.
    #[must_use]
    pub(crate) fn show(&self, connection: &str, path: &config::Path) -> Option<mpt_api::Cap> {
        let place = (connection.to_owned(), path.name.clone());
        let saved = self.opened && self.failure.is_none();
        self.accounts.get(&place)?.account.show(path, saved)
    }
}

/// The paths that have a cap.
fn capped(config: &config::Config) -> impl Iterator<Item = (Place, &config::Path)> {
    let of = |connection: &config::Connection, path: &config::Path| {
        (connection.name.clone(), path.name.clone())
    };
    config.connections.iter().flat_map(move |connection| {
        let paths = connection.paths.iter().filter(|path| path.cap.is_some());
        paths.map(move |path| (of(connection, path), path))
    })
}

fn reset((connection, path): &Place, config: &config::Path, over: &Account) -> EventKind {
    EventKind::CapReset {
        connection: connection.clone(),
        path: path.clone(),
        used: over.used(config.cap_counts),
        limit: config.cap.map_or(0, |cap| cap.bytes),
    }
}

fn risen(
    (connection, path): &Place,
    config: &config::Path,
    level: Level,
    account: &Account,
) -> EventKind {
    let (connection, path) = (connection.clone(), path.clone());
    let used = account.used(config.cap_counts);
    let limit = config.cap.map_or(0, |cap| cap.bytes);
    match level {
        Level::Reached => {
            EventKind::CapReached { connection, path, used, limit, at_cap: config.at_cap }
        }
        level => EventKind::CapNear { connection, path, percent: level.percent(), used, limit },
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// A path with these keys.
    pub(super) fn path(keys: &str) -> config::Path {
        config(keys).connections[0].paths[0].clone()
    }

    fn config(keys: &str) -> config::Config {
        let text = format!(
            "[[device]]\nname = \"mpt0\"\naddresses = [\"10.9.0.1/30\"]\n[[connection]]\nname = \"office\"\n\
             networks = [\"10.9.0.2\"]\n[[connection.path]]\nname = \"lte\"\nlocal = \"192.0.2.1\"\n\
             remote = \"198.51.100.1\"\n{keys}\n"
        );
        config::check_text("test", &text).unwrap().config
    }

    fn place() -> Place {
        ("office".to_owned(), "lte".to_owned())
    }

    fn at(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    #[test]
    fn people_are_told_of_each_level_once_and_the_path_is_left_at_its_cap() {
        let config = config("cap = \"1 GB/month\"\nat_cap = \"stop\"");
        let directory = tempfile::tempdir().unwrap();
        let mut caps = Caps::new(TimeZone::UTC, directory.path());
        let mut told = Vec::new();
        for second in 0..200 {
            let now =
                at("2026-06-20T00:00[UTC]").checked_add(jiff::SignedDuration::from_secs(second));
            let carried = Carried { sent: 1_000_000, received: 9_000_000 };
            let outcome = caps.book(&now.unwrap(), &config, vec![(place(), carried)]);
            told.extend(outcome.events.into_iter().map(|event| (second, event)));
            assert_eq!(outcome.reached.contains_key(&place()), second >= 99, "{second}");
        }
        let near = |percent: u8, used: u64| EventKind::CapNear {
            connection: "office".into(),
            path: "lte".into(),
            percent,
            used,
            limit: 1_000_000_000,
        };
        let reached = EventKind::CapReached {
            connection: "office".into(),
            path: "lte".into(),
            used: 1_000_000_000,
            limit: 1_000_000_000,
            at_cap: AtCap::Stop,
        };
        let expected = [(79, near(80, 800_000_000)), (94, near(95, 950_000_000)), (99, reached)];
        assert_eq!(told, expected);
        let outcome = caps.book(&at("2026-07-01T00:00[UTC]"), &config, Vec::new());
        assert!(matches!(outcome.events[..], [EventKind::CapReset { used: 2_000_000_000, .. }]));
        assert!(outcome.reached.is_empty());
    }

    #[test]
    fn a_higher_cap_lets_the_path_go_on() {
        let low = config("cap = \"1 GB/month\"");
        let mut caps = Caps::new(TimeZone::UTC, Path::new("/nonexistent"));
        let now = at("2026-06-20T00:00[UTC]");
        let carried = Carried { sent: 1_500_000_000, received: 0 };
        let outcome = caps.book(&now, &low, vec![(place(), carried)]);
        assert_eq!(outcome.reached.get(&place()), Some(&AtCap::Backup));
        let high = config("cap = \"2 GB/month\"");
        let outcome = caps.book(&now, &high, Vec::new());
        assert!(outcome.events.is_empty() && outcome.reached.is_empty(), "{outcome:?}");
        let back = caps.book(&now, &low, Vec::new());
        assert_eq!(back.events.len(), 1, "and is told again");
    }

    /// A path that is taken out of the file and comes back in the same month goes on from where it was.
    #[test]
    fn a_path_that_comes_back_has_its_count() {
        let with = config("cap = \"1 GB/month\"");
        let without = config("");
        let directory = tempfile::tempdir().unwrap();
        let mut caps = Caps::new(TimeZone::UTC, directory.path());
        let now = at("2026-06-20T00:00[UTC]");
        let mut store = caps.open().unwrap();
        caps.book(&now, &with, vec![(place(), Carried { sent: 5, received: 6 })]);
        caps.book(&now, &without, Vec::new());
        store.write(&caps.save(false).entries, true).unwrap();
        drop(store);

        let mut again = Caps::new(TimeZone::UTC, directory.path());
        // Counted before the directory could be opened.
        again.book(&now, &with, vec![(place(), Carried { sent: 100, received: 0 })]);
        let store = again.open();
        assert!(store.is_some());
        again.book(&now, &with, Vec::new());
        let shown = again.show("office", with.connections[0].path("lte").unwrap()).unwrap();
        assert_eq!((shown.sent, shown.received, shown.used), (105, 6, 111));
        again.book(&at("2026-07-01T00:00[UTC]"), &without, Vec::new());
        assert!(again.accounts.is_empty(), "its month is over");
    }

    /// A host that loses its power is left with the file that had reached the disk: at any time it lacks a minute at most.
    #[test]
    fn a_host_that_loses_its_power_has_lost_a_minute_at_most() {
        let config = config("cap = \"1 GB/month\"");
        let (running, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut caps = Caps::new(TimeZone::UTC, running.path());
        let mut store = caps.open().unwrap();
        let now = at("2026-06-20T00:00[UTC]");
        let mut most = 0;
        for half in 1..=600 {
            caps.book(&now, &config, vec![(place(), Carried { sent: 500, received: 0 })]);
            let save = caps.save(false);
            store.write(&save.entries, save.sync).unwrap();
            // A loss of power tears the file that was not reported to be on the disk.
            std::fs::copy(running.path().join("caps.json"), after.path().join("caps.json"))
                .unwrap();
            std::fs::write(after.path().join("caps.now"), "torn").unwrap();
            let mut again = Caps::new(TimeZone::UTC, after.path());
            drop(again.open().unwrap());
            again.book(&now, &config, Vec::new());
            let path = config.connections[0].path("lte").unwrap();
            let kept = again.show("office", path).unwrap();
            assert!(!kept.uncertain, "{half}");
            most = most.max(half * 500 - kept.sent);
        }
        assert!((1..=60_000).contains(&most), "{most}");
    }

    #[test]
    fn what_cannot_be_kept_is_counted_and_said() {
        let config = config("cap = \"1 GB/month\"");
        let mut caps = Caps::new(TimeZone::UTC, Path::new("/nonexistent/mpt"));
        assert!(caps.open().is_none());
        let now = at("2026-06-20T00:00[UTC]");
        caps.book(&now, &config, vec![(place(), Carried { sent: 5, received: 6 })]);
        let shown = caps.show("office", config.connections[0].path("lte").unwrap()).unwrap();
        assert_eq!((shown.used, shown.saved, shown.uncertain), (11, false, false));
    }
}
