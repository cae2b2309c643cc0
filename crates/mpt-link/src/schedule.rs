//! Changes at given times.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Bitrate, Jitter, Loss, Params, Probability, QueueLimit};

/// A change of one of the [`Params`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Change {
    /// See [`Params::rate`].
    Rate(Option<Bitrate>),
    /// See [`Params::queue`]. A lower limit drops nothing that already waits.
    Queue(QueueLimit),
    /// See [`Params::delay`].
    Delay(Duration),
    /// See [`Params::jitter`].
    Jitter(Option<Jitter>),
    /// See [`Params::keep_order`].
    KeepOrder(bool),
    /// See [`Params::loss`].
    Loss(Loss),
    /// See [`Params::duplication`].
    Duplication(Probability),
}

impl Change {
    pub(crate) fn apply(self, params: &mut Params) {
        match self {
            Self::Rate(rate) => params.rate = rate,
            Self::Queue(queue) => params.queue = queue,
            Self::Delay(delay) => params.delay = delay,
            Self::Jitter(jitter) => params.jitter = jitter,
            Self::KeepOrder(keep_order) => params.keep_order = keep_order,
            Self::Loss(loss) => params.loss = loss,
            Self::Duplication(duplication) => params.duplication = duplication,
        }
    }
}

/// Changes to come, by time in nanoseconds since the start of the link; of equal times, the one given first comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    changes: VecDeque<(u64, Change)>,
}

impl Schedule {
    pub(crate) fn insert(&mut self, at: u64, change: Change) {
        let index = self.changes.partition_point(|&(other, _)| other <= at);
        self.changes.insert(index, (at, change));
    }

    /// Returns the time at which the next change is due.
    pub(crate) fn next(&self) -> Option<u64> {
        self.changes.front().map(|&(at, _)| at)
    }

    /// Applies everything due at `time` or before.
    pub(crate) fn apply(&mut self, time: u64, params: &mut Params) {
        while let Some(&(at, change)) = self.changes.front()
            && at <= time
        {
            change.apply(params);
            self.changes.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_applied_by_time_then_as_given() {
        let mut schedule = Schedule::default();
        let delay = |ms| Change::Delay(Duration::from_millis(ms));
        schedule.insert(20, delay(3));
        schedule.insert(10, delay(1));
        schedule.insert(10, delay(2));
        schedule.insert(10, Change::KeepOrder(true));

        let mut params = Params::default();
        schedule.apply(9, &mut params);
        assert_eq!(params, Params::default());
        assert_eq!(schedule.next(), Some(10));
        schedule.apply(10, &mut params);
        assert_eq!((params.delay, params.keep_order), (Duration::from_millis(2), true));
        schedule.apply(1000, &mut params);
        assert_eq!(params.delay, Duration::from_millis(3));
        assert_eq!(schedule.next(), None);
    }
}
