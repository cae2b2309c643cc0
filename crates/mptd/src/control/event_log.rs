//! The last events, for those that ask for them again and again: controllers in their sessions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mpt_api::{Event, EventKind, Events, now_ms};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::time::timeout;

/// The most events that are kept.
const MOST: usize = 1024;
/// The most events of one answer, which then is far from as long as a session carries.
const MOST_ANSWERED: usize = 256;
/// The most requests that wait for events at one time. A further request is answered at once.
const MOST_WAITING: usize = 32;
/// The most of them that one controller may have, so that its other requests have their turn.
const MOST_OF_ONE: usize = 2;
/// Bits of a cursor in which events are counted; those above are the second in which the log began, so that one of a daemon before is smaller.
const COUNTED: u32 = 20;

/// The log.
#[derive(Debug)]
pub(crate) struct EventLog {
    ring: Mutex<Ring>,
    /// The cursor behind the newest event.
    newest: watch::Sender<u64>,
    waiting: Semaphore,
    /// The number of requests that wait, by controller.
    of_one: Mutex<BTreeMap<String, usize>>,
}

#[derive(Debug)]
struct Ring {
    /// The cursor behind which the oldest kept event is.
    before: u64,
    events: VecDeque<Event>,
}

impl EventLog {
    /// A log that follows these events from now on. To be called within a tokio runtime.
    pub(crate) fn follow(mut events: broadcast::Receiver<Event>) -> Arc<Self> {
        let before = (now_ms() / 1000) << COUNTED;
        let log = Arc::new(Self {
            ring: Mutex::new(Ring { before, events: VecDeque::new() }),
            newest: watch::Sender::new(before),
            waiting: Semaphore::new(MOST_WAITING),
            of_one: Mutex::default(),
        });
        let written = Arc::downgrade(&log);
        tokio::spawn(async move {
            loop {
                let event = match events.recv().await {
                    Ok(event) => event,
                    Err(broadcast::error::RecvError::Lagged(count)) => {
                        Event::now(EventKind::Missed { count })
                    }
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                let Some(log) = written.upgrade() else { return };
                log.add(event);
            }
        });
        log
    }

    fn add(&self, event: Event) {
        let mut ring = lock(&self.ring);
        ring.events.push_back(event);
        if ring.events.len() > MOST {
            ring.events.pop_front();
            ring.before += 1;
        }
        let newest = ring.newest();
        drop(ring);
        self.newest.send_replace(newest);
    }

    /// Returns the events behind `after`, or without it only the cursor for those to come. If there are none yet, it waits for one for the given
    /// time, unless too many wait already.
    pub(crate) async fn since(
        &self,
        after: Option<u64>,
        wait: Duration,
        controller: Option<&str>,
    ) -> Events {
        let Some(after) = after else {
            let cursor = lock(&self.ring).newest();
            return Events { cursor, missed: 0, events: Vec::new() };
        };
        let mut newest = self.newest.subscribe();
        if *newest.borrow_and_update() == after
            && !wait.is_zero()
            && let Ok(_permit) = self.waiting.try_acquire()
            && let Some(_turn) = Turn::take(&self.of_one, controller)
        {
            // Whatever comes of it, the ring says what there is.
            let _ = timeout(wait, newest.changed()).await;
        }
        lock(&self.ring).behind(after)
    }
}

impl Ring {
    /// Returns the cursor behind the newest event.
    fn newest(&self) -> u64 {
        self.before + self.events.len() as u64
    }

    /// Returns the events behind the cursor `after`, as many as one answer carries.
    fn behind(&self, after: u64) -> Events {
        let newest = self.newest();
        // A cursor of another daemon, which ran before this one or whose clock was ahead, says nothing here. Its owner gets all events that are
        // known.
        let begins = (self.before >> COUNTED) << COUNTED;
        let is_ours = (begins..=newest).contains(&after);
        let from = if is_ours { after.max(self.before) } else { self.before };
        let missed = if is_ours { self.before.saturating_sub(after) } else { 0 };
        let skip = usize::try_from(from - self.before).unwrap_or(usize::MAX);
        let events: Vec<_> = self.events.iter().skip(skip).take(MOST_ANSWERED).cloned().collect();
        Events { cursor: from + events.len() as u64, missed, events }
    }
}

/// The turn of a controller to wait, given back when this is dropped.
struct Turn<'a> {
    of_one: &'a Mutex<BTreeMap<String, usize>>,
    controller: Option<String>,
}

impl<'a> Turn<'a> {
    fn take(
        of_one: &'a Mutex<BTreeMap<String, usize>>,
        controller: Option<&str>,
    ) -> Option<Turn<'a>> {
        let controller = controller.map(str::to_owned);
        if let Some(name) = &controller {
            let mut all = lock(of_one);
            let count = all.entry(name.clone()).or_default();
            if *count >= MOST_OF_ONE {
                return None;
            }
            *count += 1;
        }
        Some(Turn { of_one, controller })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(name) = &self.controller else { return };
        let mut all = lock(self.of_one);
        if let Some(count) = all.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                all.remove(name);
            }
        }
    }
}

/// A task that panicked while it held the lock has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn event(changes: u32) -> Event {
        Event { time_ms: 0, kind: EventKind::Reloaded { changes } }
    }

    fn numbers(events: &Events) -> Vec<u32> {
        let number = |event: &Event| match event.kind {
            EventKind::Reloaded { changes } => changes,
            _ => panic!("{event:?}"),
        };
        events.events.iter().map(number).collect()
    }

    async fn log() -> (broadcast::Sender<Event>, Arc<EventLog>) {
        let (sender, receiver) = broadcast::channel(16);
        (sender, EventLog::follow(receiver))
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_told_and_goes_on_from_there() {
        let (sender, log) = log().await;
        let start = log.since(None, LONG, None).await;
        let waiting = {
            let (log, cursor) = (Arc::clone(&log), start.cursor);
            tokio::spawn(async move { log.since(Some(cursor), LONG, Some("noc")).await })
        };
        tokio::time::sleep(Duration::from_secs(1)).await;
        sender.send(event(1)).unwrap();
        let told = waiting.await.unwrap();
        assert_eq!((numbers(&told), told.missed), (vec![1], 0));
        let nothing = log.since(Some(told.cursor), LONG, Some("noc")).await;
        assert_eq!((nothing.cursor, nothing.events.len()), (told.cursor, 0));
        sender.send(event(2)).unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let both = log.since(Some(start.cursor), Duration::ZERO, None).await;
        assert_eq!(numbers(&both), [1, 2], "an answer that was lost is given again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_out_is_counted() {
        let (_, log) = log().await;
        let start = log.since(None, LONG, None).await.cursor;
        (0..2000).for_each(|number| log.add(event(number)));
        let mut told = log.since(Some(start), LONG, None).await;
        assert_eq!(told.missed, 2000 - MOST as u64);
        let mut all = numbers(&told);
        while !told.events.is_empty() {
            assert!(told.events.len() <= MOST_ANSWERED);
            told = log.since(Some(told.cursor), Duration::ZERO, None).await;
            all.extend(numbers(&told));
        }
        assert!(all.iter().copied().eq(2000 - MOST as u32..2000));
        // These cursors come from another run of the daemon.
        for after in [0, start - (5 << COUNTED), start + (5 << COUNTED)] {
            let told = log.since(Some(after), Duration::ZERO, None).await;
            assert_eq!((told.missed, numbers(&told)[0]), (0, 2000 - MOST as u32), "{after}");
        }
    }

    /// Other requests of a controller have their turn, however many of it wait.
    #[tokio::test(start_paused = true)]
    async fn only_two_of_one_controller_wait() {
        let (_, log) = log().await;
        let cursor = log.since(None, LONG, None).await.cursor;
        let wait = |name: &'static str| {
            let log = Arc::clone(&log);
            tokio::spawn(async move { log.since(Some(cursor), LONG, Some(name)).await })
        };
        let waiting = [wait("noc"), wait("noc")];
        tokio::time::sleep(Duration::from_secs(1)).await;
        let third = timeout(Duration::from_millis(10), wait("noc")).await;
        assert!(third.unwrap().unwrap().events.is_empty(), "answered at once");
        assert!(timeout(Duration::from_secs(1), wait("other")).await.is_err(), "it may wait");
        for waiting in waiting {
            assert!(waiting.await.unwrap().events.is_empty());
        }
        assert!(lock(&log.of_one).keys().all(|name| name == "other"));
    }
}
