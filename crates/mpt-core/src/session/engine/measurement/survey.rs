//! A survey of a path: some hundred probes in quick succession, which show before there is any data whether the
//! path loses packets, what its delays differ by, and what it carries.
//!
//! A flow of TCP is held from its first packet on for as long as repairs take, or it is not; what changes in its
//! slow start ends that. Without a survey a tunnel that has just begun would have to hold every flow.
//!
//! Probes in such numbers cost the peer, so it is asked. Both ends bound the surveys that they ask for and permit.

use std::time::{Duration, Instant};

use super::train::{MOST_PROBES, Spacing, TRAINS, Train};
use crate::session::bucket::Bucket;

/// The most probes of a survey, for which the peer is asked.
pub(crate) const PROBES: u16 = 400;
/// The single probes of a survey: a path that loses half a per cent in each direction answers all
/// of them once in thirty times.
pub(crate) const SINGLE: u16 = PROBES - MOST_PROBES;
/// The most data packets since the train before, or since the beginning of a survey, with which it sends a train. A call
/// with pictures sends 40 in these 0.3 s.
const LITTLE_DATA: u64 = 64;
/// The single probes before each train.
const EACH: usize = SINGLE as usize / (TRAINS + 1);
/// Time after which a path that was out of use is surveyed again.
const OLD: Duration = Duration::from_secs(60);
/// All sessions together ask for or permit one survey in this time.
const EVERY: Duration = Duration::from_millis(100);
/// All sessions together ask for or permit so many surveys at once.
const BURST: u32 = 10;
/// The place in a token that tells which probe it is.
pub(crate) const INDEX: u64 = 0xffff;
/// The bit in a token that a probe of a train has.
const IN_TRAIN: u64 = 0x8000;
/// The bits in the token of a probe of a train that have its place in the train.
const PLACE: usize = 0xff;
/// The number of bits before those that say which train it is.
const TURN: u32 = 8;

/// Bounds the surveys of all sessions.
#[derive(Debug, Default)]
pub(crate) struct SurveyBudget(Bucket);

impl SurveyBudget {
    /// Takes one more survey; false if there may be no more at present.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.0.take(now, EVERY, BURST)
    }

    /// Returns true if the peer may send so many probes.
    pub(crate) fn permits(&mut self, now: Instant, probes: u16) -> bool {
        probes <= PROBES && self.take(now)
    }
}

/// The survey of one path.
#[derive(Debug)]
pub(crate) enum Survey {
    /// It is wanted, from a time on.
    Wanted(Instant),
    /// The peer was asked at a time, by a probe with this token.
    Asked { at: Instant, token: u64, again: Option<Again> },
    /// The probes are on their way.
    Running(Box<Running>),
    /// It ended at a time, and showed how soon answers come.
    Done { at: Instant, answers: Option<Answers> },
}

/// The round-trip times of a path without load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    /// Half of them do not exceed it.
    pub(crate) usual: Duration,
    /// Their mean deviation from their mean.
    pub(crate) deviation: Duration,
}

/// The next time that the peer is asked, unless the echo of the question comes before: an echo without the peer's
/// permission is a refusal, and none at all is a loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub(crate) at: Instant,
    /// How often it may be asked from then on.
    pub(crate) left: u8,
}

/// The probes of a survey.
#[derive(Debug)]
pub(crate) struct Running {
    /// The token that all probes share, without the bits of [`INDEX`].
    token: u64,
    /// For each single probe, the time at which it left, and the time until its echo came.
    single: Vec<(Instant, Option<Duration>)>,
    trains: Vec<Train>,
    /// The data packets that were sent over the path until the last train was due, or until the survey began.
    data: u64,
    pub(crate) next: Instant,
}

/// The next thing that a survey sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Single,
    Train,
    Nothing,
}

impl Running {
    /// Returns what is sent next.
    pub(crate) fn due(&self) -> Due {
        let (single, trains) = (self.single.len(), self.trains.len());
        if trains < TRAINS && single >= (trains + 1) * EACH {
            Due::Train
        } else if single < usize::from(SINGLE) {
            Due::Single
        } else {
            Due::Nothing
        }
    }

    /// Notes a single probe that leaves, and returns its token.
    pub(crate) fn begin_single(&mut self, now: Instant) -> u64 {
        let token = self.token | self.single.len() as u64;
        self.single.push((now, None));
        token
    }

    /// Notes a train that leaves, and returns the tokens of its probes: none if the path carries
    /// much data, which would delay the train, and be delayed by it. `data` is the number of data packets
    /// that were sent over the path so far.
    pub(crate) fn begin_train(&mut self, data: u64) -> impl Iterator<Item = u64> + use<> {
        let first = self.token | IN_TRAIN | (self.trains.len() as u64) << TURN;
        let before = std::mem::replace(&mut self.data, data);
        let is_free = data.saturating_sub(before) <= LITTLE_DATA;
        let train = if is_free { Train::after(self.trains.last()) } else { Train::none() };
        let tokens = (0..train.len() as u64).map(move |place| first | place);
        self.trains.push(train);
        tokens
    }

    /// Returns the times that the echoes of the single probes took.
    pub(crate) fn rtts(&self) -> Vec<Duration> {
        self.single.iter().filter_map(|&(_, rtt)| rtt).collect()
    }

    /// Returns the time that the path takes for a probe of a train.
    pub(crate) fn spacing(&self) -> Option<Spacing> {
        Spacing::of(&self.trains)
    }
}

impl Survey {
    /// A path that has just begun.
    pub(crate) const fn new(now: Instant) -> Self {
        Self::Wanted(now)
    }

    /// The path may be used again after a pause.
    pub(crate) fn resume(&mut self, now: Instant) {
        if !matches!(self, Self::Done { at, .. } if now.saturating_duration_since(*at) < OLD) {
            *self = Self::Wanted(now);
        }
    }

    /// An echo arrived at this time. Returns how long it took if it answers a single probe of the
    /// survey.
    pub(crate) fn handle_echo(&mut self, arrived: Instant, token: u64) -> Option<Duration> {
        match self {
            Self::Asked { at, token: asked, again } if *asked == token => {
                *again = None;
                Some(arrived.saturating_duration_since(*at))
            }
            Self::Running(running) if running.token == token & !INDEX => {
                let (sent, came) = running.single.get_mut((token & INDEX) as usize)?;
                let rtt = arrived.saturating_duration_since(*sent);
                came.replace(rtt).is_none().then_some(rtt)
            }
            _ => None,
        }
    }

    /// Takes the peer's permission for the survey that it was asked for last. `data` is the number of
    /// data packets that were sent over the path so far.
    pub(crate) fn handle_permission(&mut self, now: Instant, probes: u16, data: u64) {
        if let Self::Asked { token, .. } = *self
            && probes >= PROBES
        {
            let (token, single) = (token & !INDEX, Vec::with_capacity(SINGLE.into()));
            let trains = Vec::with_capacity(TRAINS);
            *self = Self::Running(Box::new(Running { token, single, trains, data, next: now }));
        }
    }

    /// Notes the time at which a probe arrived by the peer's clock, in microseconds modulo 2^32.
    pub(crate) fn handle_came(&mut self, token: u64, time: u32) {
        if let Self::Running(running) = self
            && running.token == token & !INDEX
            && token & IN_TRAIN != 0
        {
            let index = (token & INDEX & !IN_TRAIN) as usize;
            if let Some(train) = running.trains.get_mut(index >> TURN) {
                train.note_came(index & PLACE, time);
            }
        }
    }

    /// Returns what the survey has shown of round-trip times, once it has ended.
    pub(crate) const fn answers(&self) -> Option<Answers> {
        match *self {
            Self::Done { answers, .. } => answers,
            _ => None,
        }
    }

    /// Returns the time at which the survey has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Running(running) => Some(running.next),
            Self::Asked { again, .. } => again.map(|again| again.at),
            _ => None,
        }
    }
}

/// Returns the mean deviation of round-trip times from their mean, in microseconds, or 0 without
/// any.
pub(crate) fn variation(rtts: &[Duration]) -> f64 {
    let micros = || rtts.iter().map(|rtt| 1e6 * rtt.as_secs_f64());
    let count = rtts.len().max(1) as f64;
    let mean = micros().sum::<f64>() / count;
    micros().map(|rtt| (rtt - mean).abs()).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_changes_seldom_varies_as_much_as_one_that_changes_often() {
        for period in [1, 25, 150] {
            let of = |place: u64| if (place / period).is_multiple_of(2) { 20 } else { 40 };
            let rtts: Vec<Duration> = (0..300).map(of).map(Duration::from_millis).collect();
            assert!((variation(&rtts) - 10_000.0).abs() < 1e-3, "{period}");
        }
        assert_eq!(variation(&[]), 0.0);
    }
}
