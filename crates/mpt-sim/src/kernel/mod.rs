//! The event kernel: events in virtual time, with random numbers that are the same in each run.

pub mod random;
pub mod time;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::kernel::time::Time;

/// An event of a simulation.
pub trait Event {
    /// Returns a number that distinguishes this event from others, for the hash of the trace. It must not depend on the machine.
    fn digest(&self) -> u64;
}

/// Future events, ordered by time; events of equal times keep the order in which they were scheduled.
#[derive(Clone, Debug)]
pub struct Events<E> {
    heap: BinaryHeap<Scheduled<E>>,
    now: Time,
    scheduled: u64,
    handled: u64,
    trace: u64,
}

#[derive(Clone, Debug)]
struct Scheduled<E> {
    at: Time,
    order: u64,
    event: E,
}

impl<E: Event> Events<E> {
    /// Returns an empty queue at time zero.
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), now: Time::ZERO, scheduled: 0, handled: 0, trace: OFFSET }
    }

    /// Adds an event.
    ///
    /// # Panics
    ///
    /// Panics if `at` is in the past: then the model is wrong, and so would be everything after it.
    pub fn schedule(&mut self, at: Time, event: E) {
        assert!(at >= self.now, "an event at {at:?}, which was before {:?}", self.now);
        self.heap.push(Scheduled { at, order: self.scheduled, event });
        self.scheduled += 1;
    }

    /// Returns the next event and advances the time to it; `None` if there is none.
    pub fn pop(&mut self) -> Option<E> {
        let Scheduled { at, event, .. } = self.heap.pop()?;
        self.now = at;
        self.handled += 1;
        self.trace = fold(fold(self.trace, at.as_nanos()), event.digest());
        Some(event)
    }

    /// Returns the time at which the next event comes.
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|next| next.at)
    }

    /// Returns the time of the latest event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of events so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Returns the hash of all events so far and their times: equal for equal runs, on every machine.
    pub fn trace(&self) -> u64 {
        self.trace
    }
}

impl<E: Event> Default for Events<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Offset basis of FNV-1a. The hash has words for bytes and a multiplier that spreads them.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fold(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

// The heap gives the largest first: the earliest event has to be it.
impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Scheduled<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    impl Event for u64 {
        fn digest(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn events_come_by_time_and_then_as_scheduled() {
        let mut events = Events::new();
        for (at, event) in [(20, 1), (10, 2), (20, 3), (10, 4), (0, 5)] {
            events.schedule(Time::from_nanos(at), event);
        }
        let order: Vec<u64> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!(order, [5, 2, 4, 1, 3]);
        assert_eq!((events.now(), events.handled()), (Time::from_nanos(20), 5));
    }

    #[test]
    #[should_panic(expected = "an event at")]
    fn an_event_in_the_past_is_refused() {
        let mut events = Events::new();
        events.schedule(Time::from_nanos(10), 1);
        events.pop();
        events.schedule(Time::from_nanos(9), 2);
    }

    #[test]
    fn the_trace_tells_order_time_and_event() {
        let trace = |list: &[(u64, u64)]| {
            let mut events = Events::new();
            for &(at, event) in list {
                events.schedule(Time::from_nanos(at), event);
            }
            while events.pop().is_some() {}
            events.trace()
        };
        let all = [trace(&[(1, 1), (1, 2)]), trace(&[(1, 2), (1, 1)]), trace(&[(1, 1), (2, 2)])];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        assert_eq!(all[0], trace(&[(1, 1), (1, 2)]));
    }
}
