//! The times at which datagrams arrived, by the clock of this process.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time that a datagram waits to be read. An arrival that seems to be earlier is the
/// mistake of a clock. Delays of a second are beyond anything that a tunnel is measured for.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The difference between what passed by the two clocks from which on the system's clock was set.
/// Otherwise they run at the same rate, since the kernel corrects the rate of both.
const STEP: Duration = Duration::from_millis(1);

/// Converts the kernel's stamps of arrivals, which are of the system's clock (`CLOCK_REALTIME`), to
/// [`Instant`]s.
///
/// It holds what both clocks showed at one moment. One per round of reading is enough, so no datagram
/// costs a look at a clock.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalClock {
    system: SystemTime,
    instant: Instant,
    /// False if the system's clock was set since the moment before.
    steady: bool,
}

impl ArrivalClock {
    /// Takes what both clocks show now.
    #[must_use]
    pub const fn new((system, instant): (SystemTime, Instant)) -> Self {
        Self { system, instant, steady: true }
    }

    /// Returns what both clocks show now. If the process loses the processor between the two, arrivals
    /// seem later than they were, and never earlier.
    #[must_use]
    pub fn read() -> (SystemTime, Instant) {
        let system = SystemTime::now();
        (system, Instant::now())
    }

    /// Takes what both clocks show at the beginning of a round. If the system's clock was set since the
    /// round before, the stamps of what waits to be read are worth nothing, and it counts as arrived
    /// when it is read.
    pub fn update(&mut self, (system, instant): (SystemTime, Instant)) {
        let passed = instant.saturating_duration_since(self.instant);
        let by_system = system.duration_since(self.system);
        let steady = by_system.is_ok_and(|by_system| by_system.abs_diff(passed) < STEP);
        *self = Self { system, instant, steady };
    }

    /// Returns when a datagram arrived that is read at `now`. It is `now` if that is not known: there
    /// is no stamp, the system's clock was set, or the stamp is of the future or more than a second
    /// old.
    #[must_use]
    #[inline]
    pub fn arrival(&self, stamp: Option<SystemTime>, now: Instant) -> Instant {
        let Some(stamp) = stamp.filter(|_| self.steady) else { return now };
        let arrival = match self.system.duration_since(stamp) {
            Ok(age) => self.instant.checked_sub(age),
            Err(later) => self.instant.checked_add(later.duration()),
        };
        let is_likely = |arrival: &Instant| {
            now.checked_duration_since(*arrival).is_some_and(|wait| wait <= LONGEST_WAIT)
        };
        arrival.filter(is_likely).unwrap_or(now)
    }
}

/// Returns the time in a control message `SCM_TIMESTAMPNS`: two C longs, seconds and nanoseconds.
pub(super) fn stamp(data: &[u8]) -> Option<SystemTime> {
    const LONG: usize = size_of::<libc::c_long>();
    let (seconds, rest) = data.split_first_chunk::<LONG>()?;
    let nanoseconds = rest.first_chunk::<LONG>()?;
    let seconds = u64::try_from(libc::c_long::from_ne_bytes(*seconds)).ok()?;
    let nanoseconds = u32::try_from(libc::c_long::from_ne_bytes(*nanoseconds)).ok()?;
    let since = Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds.into());
    UNIX_EPOCH.checked_add(since)
}
