//! The path MTU, found by padded probes without the help of ICMP (RFC 8899, DPLPMTUD).
//!
//! [`Discovery`] says when to send a probe of which size, learns which were echoed, and says how
//! large the outer packets of the path may be. Terms and states are those of RFC 8899, section 5.2;
//! all sizes are those of outer IP packets, in bytes.
//!
//! ```text
//!              path up                    base echoed                 nothing left to test
//! DISABLED --------------> BASE --------------------> SEARCHING -----------------------> SEARCH_COMPLETE
//!                           |  ^                                                          |  |
//!      base is not echoed   |  |  the size in use is not echoed (black hole, 4.3)         |  | 600 s:
//!                           v  +----------------------------------------------------------+  | SEARCHING
//!                         ERROR (sizes below the base are searched)                          |
//! ```
//!
//! It differs from the RFC in one respect: a path starts with the size that its interface or the
//! configuration gives, not with the base, and keeps to it until probes of that size remain
//! without an echo. Most paths carry it, and every change of it would disturb the flows inside.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The largest size that is tested. A path with a larger MTU uses that once this one was echoed.
pub const LARGEST: u16 = 9216;
/// Probes of one size after which it counts as too large (MAX_PROBES of RFC 8899, section 5.1.2).
pub const MAX_PROBES: u32 = 3;
/// Probes after which the base, the largest size or the size in use counts as too large: on these much depends, and loss of
/// another cause must not look like a small MTU.
pub const MAX_PROBES_OF_USE: u32 = 8;
/// A search is repeated this long after it has ended below the largest size (PMTU_RAISE_TIMER of
/// RFC 8899, section 5.1.1).
pub const RAISE_AFTER: Duration = Duration::from_secs(600);
/// A search is repeated this long after it has ended without an echo of the base.
pub const RETRY_BASE_AFTER: Duration = Duration::from_secs(60);
/// While data flows, the size in use is confirmed this often (CONFIRMATION_TIMER of RFC 8899,
/// section 5.1.1).
pub const CONFIRM_EVERY: Duration = Duration::from_secs(3);
/// At most one ICMP message in this time causes a test.
pub const HINT_EVERY: Duration = Duration::from_secs(1);

/// The shortest and the longest time after the last probe of a size for which an echo is awaited.
const ECHO_WITHIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));
/// An echo is awaited for so much longer than the round-trip time and its variation suggest.
const ECHO_MARGIN: Duration = Duration::from_millis(50);
/// The wait for an echo while no round-trip time is known (RFC 8899, section 5.1.1).
const ECHO_WITHIN_UNKNOWN: Duration = Duration::from_secs(1);
/// The shortest and the longest time between two probes of one size.
const SPACING: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Size of the packet that asks whether the path works at all.
const SMALL: u16 = 256;
/// The shortest time for which a verdict is put off while nothing at all arrives on the path.
const PUT_OFF: Duration = Duration::from_millis(200);
/// While a search goes on, the size in use is raised in steps of at least this many bytes.
const RAISE_STEP: u16 = 32;
/// Probes whose echo is still recognised.
const REMEMBERED: usize = 32;

/// The states of RFC 8899, section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The path is down: nothing is probed.
    Disabled,
    /// It is tested whether the path carries the base.
    Base,
    /// Sizes above the base are tested.
    Searching,
    /// The size in use was echoed, and one byte more was not, or is not wanted.
    SearchComplete,
    /// The path does not carry the base.
    Error,
}

/// Between which sizes to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The size that every path carries (MIN_PLPMTU). It is not tested.
    pub min: u16,
    /// The size that nearly every path carries, and that the tunnel needs to carry IPv6
    /// (BASE_PLPMTU).
    pub base: u16,
    /// The size that interface or configuration give (MAX_PLPMTU).
    pub max: u16,
}

impl Bounds {
    fn ordered(self) -> Self {
        let min = self.min.min(self.max);
        Self { min, base: self.base.clamp(min, self.max), max: self.max }
    }
}

/// The path's liveness at the time at which a size is judged.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The time at which the peer last confirmed that it hears us on the path.
    pub confirmed: Instant,
    /// The longest round-trip time to be expected; `None` while it is not known.
    pub echo_within: Option<Duration>,
}

/// A size under test.
#[derive(Clone, Copy, Debug)]
struct Test {
    size: u16,
    /// Probes to be sent at most.
    probes: u32,
    sent: u32,
    last: Instant,
    /// The time at which the next probe, or after the last one the verdict, is due.
    due: Instant,
}

/// The search for the MTU of one path, in the direction in which this end sends.
#[derive(Clone, Debug)]
pub struct Discovery {
    bounds: Bounds,
    phase: Phase,
    /// Data flows.
    active: bool,
    /// The size that the path is used with.
    in_use: u16,
    /// The largest size echoed since the search began; 0 if none was.
    echoed: u16,
    /// The smallest size found too large; `max` + 1 if none was.
    too_large: u32,
    /// The smallest size found too large was tested a second time.
    tested_again: bool,
    /// The size that an ICMP message gave, tried first when the size in use is not echoed.
    hint: Option<u16>,
    next_hint: Instant,
    /// The time at which to ask whether the path works at all, and that of its last answer.
    ask_at: Option<Instant>,
    answered: Option<Instant>,
    test: Option<Test>,
    /// Tokens and sizes of the last probes.
    probes: VecDeque<(u64, u16)>,
    spacing: Duration,
    echo_within: Duration,
    confirm_at: Instant,
    raise_at: Option<Instant>,
}

impl Discovery {
    /// The search on a path that is down.
    #[must_use]
    pub fn new(now: Instant, bounds: Bounds) -> Self {
        let bounds = bounds.ordered();
        Self {
            bounds,
            phase: Phase::Disabled,
            active: true,
            in_use: bounds.max,
            echoed: 0,
            too_large: u32::from(bounds.max) + 1,
            tested_again: false,
            hint: None,
            next_hint: now,
            ask_at: None,
            answered: None,
            test: None,
            probes: VecDeque::new(),
            spacing: SPACING.1,
            echo_within: ECHO_WITHIN_UNKNOWN,
            confirm_at: now,
            raise_at: None,
        }
    }

    /// Returns how large outer packets may be.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.in_use
    }

    /// Returns the phase of the search.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True if a probe of the size in use was echoed since the search began.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.echoed >= self.in_use.min(LARGEST)
    }

    /// Sets the bounds. When they have changed, the search begins anew; the size in use stays, except
    /// that it follows a new largest size if it was the largest before.
    pub fn set_bounds(&mut self, now: Instant, bounds: Bounds) {
        let bounds = bounds.ordered();
        if bounds == self.bounds {
            return;
        }
        let was_largest = self.in_use == self.bounds.max;
        self.bounds = bounds;
        self.in_use = if was_largest { bounds.max } else { self.in_use.min(bounds.max) };
        self.restart(now);
    }

    /// The path leads through another network now, perhaps: the search begins anew. The size in use
    /// stays until its probes remain without an echo.
    pub fn restart(&mut self, now: Instant) {
        self.echoed = 0;
        self.forget_limit();
        (self.hint, self.raise_at, self.confirm_at) = (None, None, now);
        (self.test, self.ask_at) = (None, None);
        self.probes.clear();
        if self.phase != Phase::Disabled {
            self.phase = Phase::Base;
            self.advance(now);
        }
    }

    /// The path carries small frames, or it does not any more. The size that was found before it
    /// went down holds when it returns, and is confirmed first.
    pub fn set_up(&mut self, now: Instant, up: bool) {
        match (up, self.phase) {
            (true, Phase::Disabled) => {
                self.phase = Phase::Base;
                self.advance(now);
                self.confirm_at = now;
            }
            (true, _) | (false, Phase::Disabled) => {}
            (false, _) => {
                self.phase = Phase::Disabled;
                (self.test, self.ask_at) = (None, None);
                self.probes.clear();
            }
        }
    }

    /// Data flows, or it does not. When it begins to, the size in use is confirmed at once.
    pub fn set_active(&mut self, now: Instant, active: bool) {
        if active && !self.active {
            self.confirm_at = now;
        }
        self.active = active;
    }

    /// An ICMP message says that the path carries at most `size`. It has the size in use tested, at
    /// most once in [`HINT_EVERY`]; only if that is not echoed, `size` is tried. Returns whether the
    /// message causes a test.
    pub fn hint(&mut self, now: Instant, size: u16) -> bool {
        let news = size < self.in_use && size >= self.bounds.min;
        if self.phase == Phase::Disabled || !news || now < self.next_hint {
            return false;
        }
        self.next_hint = now + HINT_EVERY;
        self.hint = Some(size);
        let in_use = self.in_use.min(LARGEST);
        match &mut self.test {
            Some(test) if test.size == in_use => test.probes = test.sent.max(MAX_PROBES),
            _ => self.begin(now, in_use, MAX_PROBES),
        }
        true
    }

    /// The size of the probe to be sent now, if one is due; it counts as sent with `token`, 64 random
    /// bits.
    pub fn poll_probe(&mut self, now: Instant, token: u64) -> Option<u16> {
        if self.ask_at.take_if(|at| *at <= now).is_some() {
            self.remember(token, SMALL);
            return Some(SMALL);
        }
        let test = self.test.as_mut().filter(|test| test.due <= now && test.sent < test.probes)?;
        test.sent += 1;
        // Most sizes pass: the first probe is given its time before it is repeated.
        let pause = if test.sent == 1 { self.echo_within } else { self.spacing };
        (test.last, test.due) = (now, now + pause);
        let size = test.size;
        self.remember(token, size);
        Some(size)
    }

    fn remember(&mut self, token: u64, size: u16) {
        if self.probes.len() == REMEMBERED {
            self.probes.pop_front();
        }
        self.probes.push_back((token, size));
    }

    /// An echo has come on the path. Returns whether it is that of a probe of this search.
    pub fn handle_echo(&mut self, now: Instant, token: u64) -> bool {
        let Some(at) = self.probes.iter().position(|&(sent, _)| sent == token) else {
            return false;
        };
        let Some((_, size)) = self.probes.remove(at) else { return false };
        self.answered = Some(now);
        if size == SMALL {
            return true;
        }
        self.echoed = self.echoed.max(size);
        if u32::from(size) >= self.too_large {
            // It was late, not lost.
            self.forget_limit();
        }
        let in_use = self.in_use.min(LARGEST);
        let as_reported = self.hint == Some(size);
        if size >= in_use {
            // The ICMP message was not true, or not about this path.
            self.hint = self.hint.filter(|&hint| hint > size);
        }
        if size >= in_use.saturating_add(RAISE_STEP) || (size > in_use && as_reported) {
            self.in_use = size;
        }
        match self.test {
            Some(test) if size >= test.size => self.advance(now),
            None if size > in_use => self.advance(now),
            _ => {}
        }
        true
    }

    /// Judges what is due. A size counts as too large if none of its probes was echoed, while the
    /// peer has confirmed since that it hears small frames: a path that loses everything says nothing
    /// about sizes.
    pub fn handle_timeout(&mut self, now: Instant, heard: Heard) {
        if self.phase == Phase::Disabled {
            return;
        }
        let expected = heard.echo_within;
        self.spacing = expected.map_or(SPACING.1, |it| (it / 4).clamp(SPACING.0, SPACING.1));
        self.echo_within = expected.map_or(ECHO_WITHIN_UNKNOWN, |it| {
            (it + ECHO_MARGIN).clamp(ECHO_WITHIN.0, ECHO_WITHIN.1)
        });
        let Some(test) = &mut self.test else {
            self.begin_what_is_due(now);
            return;
        };
        if test.sent < test.probes || now < test.due {
            return;
        }
        let patience = test.last + self.echo_within;
        if now < patience {
            test.due = patience;
        } else if heard.confirmed.max(self.answered.unwrap_or(test.last)) <= test.last {
            // While nothing flows, small frames are rare: the path is asked.
            test.due = now + self.echo_within.max(PUT_OFF);
            self.ask_at = Some(now);
        } else {
            let size = test.size;
            self.rule_out(now, size);
        }
    }

    /// Returns the time at which [`Self::handle_timeout`] and [`Self::poll_probe`] are to be called next.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.phase == Phase::Disabled {
            return None;
        }
        if let Some(test) = &self.test {
            return Some(self.ask_at.map_or(test.due, |at| at.min(test.due)));
        }
        let confirm = (self.active && self.echoed > 0).then_some(self.confirm_at);
        [confirm, self.raise_at].into_iter().flatten().min()
    }

    fn begin_what_is_due(&mut self, now: Instant) {
        if self.raise_at.is_some_and(|at| at <= now) {
            self.raise_at = None;
            self.forget_limit();
            self.advance(now);
        } else if self.active && self.echoed > 0 && self.confirm_at <= now {
            self.begin(now, self.in_use.min(LARGEST), MAX_PROBES_OF_USE);
        }
    }

    /// No size is known to be too large any more.
    fn forget_limit(&mut self) {
        self.too_large = u32::from(self.bounds.max) + 1;
        self.tested_again = false;
    }

    /// Rules out a size of which no probe was echoed.
    fn rule_out(&mut self, now: Instant, size: u16) {
        if u32::from(size) < self.too_large {
            self.tested_again = false;
        }
        self.too_large = self.too_large.min(u32::from(size));
        // It may have been echoed earlier: then the path has changed (black hole, section 4.3).
        if self.echoed >= size {
            self.echoed = 0;
        }
        if self.in_use >= size {
            self.in_use = self.echoed.max(self.floor());
        }
        self.advance(now);
    }

    /// Returns the size that the path presumably carries if nothing was echoed.
    fn floor(&self) -> u16 {
        let Bounds { min, base, .. } = self.bounds;
        if u32::from(base) < self.too_large { base } else { min }
    }

    fn begin(&mut self, now: Instant, size: u16, probes: u32) {
        self.test = Some(Test { size, probes, sent: 0, last: now, due: now });
    }

    /// Goes on with the next size, or ends the search.
    fn advance(&mut self, now: Instant) {
        (self.test, self.ask_at) = (None, None);
        let Bounds { min, base, max } = self.bounds;
        let largest = max.min(LARGEST);
        let has_base = u32::from(base) < self.too_large;
        if has_base && self.echoed < base.min(largest) {
            self.phase = Phase::Base;
            return self.begin(now, base.min(largest), MAX_PROBES_OF_USE);
        }
        let low = self.echoed.max(min);
        if low < largest && u32::from(low) + 1 < self.too_large {
            self.phase = if has_base { Phase::Searching } else { Phase::Error };
            let (size, probes) = self.next_size(low, largest);
            return self.begin(now, size, probes);
        }
        if self.too_large <= u32::from(largest) && !self.tested_again {
            // Three probes may have been lost by chance.
            self.tested_again = true;
            self.phase = if has_base { Phase::Searching } else { Phase::Error };
            return self.begin(now, self.too_large as u16, MAX_PROBES);
        }
        self.complete(now, low, has_base);
    }

    /// The size to be tested next, above `low` and below the smallest that is too large.
    fn next_size(&mut self, low: u16, largest: u16) -> (u16, u32) {
        let between = |size: &u16| *size > low && u32::from(*size) < self.too_large;
        if between(&largest) {
            return (largest, MAX_PROBES_OF_USE);
        }
        if let Some(hint) = self.hint.filter(between) {
            return (hint, MAX_PROBES);
        }
        if between(&self.in_use) {
            return (self.in_use, MAX_PROBES_OF_USE);
        }
        (((u32::from(low) + self.too_large) / 2) as u16, MAX_PROBES)
    }

    fn complete(&mut self, now: Instant, found: u16, has_base: bool) {
        let max = self.bounds.max;
        let all = found >= max.min(LARGEST);
        self.in_use = if all { max } else { found };
        self.phase = if has_base { Phase::SearchComplete } else { Phase::Error };
        self.hint = None;
        self.confirm_at = now + CONFIRM_EVERY;
        let again = if has_base { RAISE_AFTER } else { RETRY_BASE_AFTER };
        self.raise_at = match self.raise_at {
            _ if all => None,
            Some(at) if at > now => Some(at),
            _ => Some(now + again),
        };
    }
}
