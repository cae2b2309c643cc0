//! When a path is taken out of service, and when back. One look per second; nothing here asks or tells anybody.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use mpt_api::{DownReason, Path, PathChange, PathState};
use serde::Deserialize;

/// Seconds over which loss is measured. The peer's count is late by some tenths of a second, which then matter little.
const WINDOW: usize = 5;
/// With fewer packets in any of these seconds there is no saying.
const FEWEST: u64 = 20;
/// A path that is bad again within so many seconds was taken back too early: the next pause is twice as long,
const RELAPSE: u32 = 60;
/// but not longer than this.
const LONGEST_PAUSE: u32 = 3600;
/// Tier of a path in standby: the last that has its turn.
const LAST_TIER: u8 = 255;

/// The limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Smoothed round-trip time, in milliseconds.
    pub max_rtt_ms: u64,
    /// Packets lost of those sent in the last 5 s.
    pub max_loss_percent: f64,
    /// Seconds in a row beyond a limit before a path is taken out.
    pub bad_for_s: u32,
    /// Seconds in a row well within the limits before it is taken back.
    pub good_for_s: u32,
    /// Seconds it stays out at least.
    pub pause_s: u32,
    /// What is done.
    pub action: Action,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_rtt_ms: 200,
            max_loss_percent: 5.0,
            bad_for_s: 3,
            good_for_s: 10,
            pause_s: 30,
            action: Action::Down,
        }
    }
}

/// How a path is taken out of service.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Neither end uses it, and it is not measured.
    Down,
    /// This end uses it only when all others are down.
    Standby,
    /// This end sends as little there as weights allow.
    Weight,
}

impl Action {
    /// What takes a path out.
    pub(crate) fn out(self) -> PathChange {
        match self {
            Action::Down => PathChange { up: Some(false), ..PathChange::default() },
            Action::Standby => PathChange { tier: Some(LAST_TIER), ..PathChange::default() },
            Action::Weight => PathChange { weight: Some(NonZeroU16::MIN), ..PathChange::default() },
        }
    }

    /// What takes it back to how it was.
    pub(crate) fn back(self, before: &Path) -> PathChange {
        match self {
            Action::Down => PathChange { up: Some(true), ..PathChange::default() },
            Action::Standby => PathChange { tier: Some(before.tier), ..PathChange::default() },
            Action::Weight => {
                PathChange { weight: NonZeroU16::new(before.weight), ..PathChange::default() }
            }
        }
    }

    /// Whether a path is out; if it is not although we took it out, somebody else has decided.
    fn is_out(self, path: &Path) -> bool {
        match self {
            Action::Down => path.down == Some(DownReason::Administrative),
            Action::Standby => path.tier == LAST_TIER,
            Action::Weight => path.weight == 1,
        }
    }
}

/// What should happen with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    /// Take it out, for this reason.
    Out(String),
    /// Take it back.
    Back,
}

/// What a look at a path says.
enum Quality {
    Good,
    Bad(String),
    /// It is not up, or not measured.
    Unknown,
}

/// What is remembered of a path.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Packets sent, and received by the peer's count, at the last looks.
    counts: VecDeque<(u64, u64)>,
    /// Looks in a row that speak for a change.
    row: u32,
    /// The path as it was when we took it out.
    out: Option<Box<Path>>,
    /// Looks since it was taken out, or back.
    since: u32,
    /// Looks for which it stays out, once it was out.
    pause: Option<u32>,
}

impl Watch {
    /// A second has passed.
    pub(crate) fn look(&mut self, rules: &Rules, path: &Path) -> Wish {
        self.since = self.since.saturating_add(1);
        let quality = self.judge(rules, path);
        if self.out.is_some() {
            if !rules.action.is_out(path) {
                self.taken_back();
                return Wish::Nothing;
            }
            match quality {
                Quality::Good => self.row += 1,
                Quality::Bad(_) => self.row = 0,
                Quality::Unknown => {}
            }
            let rested = self.since >= self.pause.unwrap_or(rules.pause_s);
            // What is down cannot be measured: it is given a try.
            let good = rules.action == Action::Down || self.row >= rules.good_for_s;
            return if rested && good { Wish::Back } else { Wish::Nothing };
        }
        match quality {
            Quality::Bad(why) => {
                self.row += 1;
                if self.row >= rules.bad_for_s && !rules.action.is_out(path) {
                    return Wish::Out(why);
                }
            }
            Quality::Good | Quality::Unknown => self.row = 0,
        }
        Wish::Nothing
    }

    /// The path was taken out; `before`: as it was.
    pub(crate) fn taken_out(&mut self, rules: &Rules, before: &Path) {
        let again = self.since < RELAPSE;
        self.pause = Some(match self.pause {
            Some(pause) if again => (pause * 2).min(LONGEST_PAUSE),
            _ => rules.pause_s,
        });
        self.out = Some(Box::new(before.clone()));
        (self.row, self.since) = (0, 0);
    }

    /// The path was taken back.
    pub(crate) fn taken_back(&mut self) {
        self.out = None;
        (self.row, self.since) = (0, 0);
        self.counts.clear();
    }

    /// It is not the time: wait as long again.
    pub(crate) fn not_now(&mut self) {
        self.row = 0;
    }

    /// The path as it was before we took it out, if we did.
    pub(crate) fn before(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    fn judge(&mut self, rules: &Rules, path: &Path) -> Quality {
        let measured = path.liveness.filter(|_| path.state == PathState::Up);
        let Some(liveness) = measured else {
            self.counts.clear();
            return Quality::Unknown;
        };
        // What is out has to be clearly better than what would be taken out.
        let (rtt_share, loss_share) = if self.out.is_some() { (0.8, 0.5) } else { (1.0, 1.0) };
        let loss = liveness.peer_received.and_then(|received| {
            self.counts.push_back((path.sent.packets, received));
            self.loss_percent()
        });
        let Some(rtt) = liveness.rtt_us else { return Quality::Unknown };
        let rtt = rtt as f64 / 1000.0;
        if rtt > rules.max_rtt_ms as f64 * rtt_share {
            return Quality::Bad(format!(
                "round-trip time {rtt:.0} ms, limit {} ms",
                rules.max_rtt_ms
            ));
        }
        match loss {
            Some(loss) if loss > rules.max_loss_percent * loss_share => {
                Quality::Bad(format!("loss {loss:.1} %, limit {:.1} %", rules.max_loss_percent))
            }
            _ => Quality::Good,
        }
    }

    /// Loss over the window, if there was traffic all the time.
    fn loss_percent(&mut self) -> Option<f64> {
        while self.counts.len() > WINDOW + 1 {
            self.counts.pop_front();
        }
        let steady = self.counts.iter().zip(self.counts.iter().skip(1));
        let mut steady = steady.map(|(before, after)| after.0.saturating_sub(before.0));
        if self.counts.len() <= WINDOW || steady.any(|sent| sent < FEWEST) {
            return None;
        }
        let (first, last) = (self.counts.front()?, self.counts.back()?);
        let (sent, received) = (last.0 - first.0, last.1.saturating_sub(first.1));
        Some(100.0 * sent.saturating_sub(received) as f64 / sent as f64)
    }
}

#[cfg(test)]
mod tests;
