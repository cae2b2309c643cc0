//! A survey of a path: some hundred probes in quick succession, which show before there is any data whether the
//! path loses packets, and what its delays differ by.
//!
//! A flow of TCP is held from its first packet on for as long as repairs take, or it is not; what changes in its
//! slow start ends that. Without a survey a tunnel that has just begun would have to hold every flow.
//!
//! Probes in such numbers cost the peer, so it is asked. Both ends bound the surveys that they ask for and permit.

use std::time::{Duration, Instant};

use crate::session::bucket::Bucket;

/// Probes of a survey: a path that loses half a per cent in each direction answers all of them once in fifty times.
pub(crate) const PROBES: u16 = 400;
/// Time after which a path that was out of use is surveyed again.
const OLD: Duration = Duration::from_secs(60);
/// All sessions together ask for or permit one survey in this time.
const EVERY: Duration = Duration::from_millis(100);
/// All sessions together ask for or permit so many surveys at once.
const BURST: u32 = 10;
/// The place in a token that tells which probe it is.
pub(crate) const INDEX: u64 = 0xffff;

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
    Asked { at: Instant, token: u64 },
    /// The probes are on their way.
    Running(Box<Running>),
    /// It ended at a time, and showed what half of the round-trip times did not exceed.
    Done { at: Instant, usual: Option<Duration> },
}

/// The probes of a survey.
#[derive(Debug)]
pub(crate) struct Running {
    /// The token that all probes share, without the bits of [`INDEX`].
    pub(crate) token: u64,
    /// For each probe, the time at which it left, and the time until its echo came.
    pub(crate) sent: Vec<(Instant, Option<Duration>)>,
    pub(crate) next: Instant,
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

    /// An echo arrived at this time: how long it took, if it belongs to the survey.
    pub(crate) fn handle_echo(&mut self, arrived: Instant, token: u64) -> Option<Duration> {
        match self {
            Self::Asked { at, token: asked } if *asked == token => {
                Some(arrived.saturating_duration_since(*at))
            }
            Self::Running(running) if running.token == token & !INDEX => {
                let (sent, came) = running.sent.get_mut((token & INDEX) as usize)?;
                let rtt = arrived.saturating_duration_since(*sent);
                came.replace(rtt).is_none().then_some(rtt)
            }
            _ => None,
        }
    }

    /// The peer permits the survey that it was asked for last.
    pub(crate) fn handle_permission(&mut self, now: Instant, probes: u16) {
        if let Self::Asked { token, .. } = *self
            && probes >= PROBES
        {
            let sent = Vec::with_capacity(PROBES.into());
            *self = Self::Running(Box::new(Running { token: token & !INDEX, sent, next: now }));
        }
    }

    /// The usual round-trip time of a path without load, once it is known.
    pub(crate) fn usual_rtt(&self) -> Option<Duration> {
        match *self {
            Self::Done { usual, .. } => usual,
            _ => None,
        }
    }

    /// Returns the time at which the survey has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Running(running) => Some(running.next),
            _ => None,
        }
    }
}
