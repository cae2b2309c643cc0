//! Random sequences of all calls, at random times: the state changes only as docs/liveness.md draws
//! it, after handling a timeout there is always something later to wait for, and memory is bounded.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpt_core::liveness::{Change, Liveness, State, Timing};
use proptest::prelude::*;

use super::harness::{ms, origin};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Wait so long, handling timeouts when they are due.
    Wait(u64),
    /// Wait so long without handling any.
    Sleep(u64),
    Timing(Timing),
    Active(bool),
    Restart,
    Suspend,
    Moved,
    /// The n-th last probe is echoed.
    Echo(usize),
    WrongEcho(u64),
    /// The peer's count moves by that and is reported.
    Report(u32),
    Frame,
    Attach,
}

fn timing() -> impl Strategy<Value = Timing> {
    let keepalive = prop_oneof![Just(0), Just(1), Just(100), 1_u64..3000, Just(u64::MAX)];
    let idle = prop_oneof![Just(0), Just(15_000), 1_u64..60_000, Just(u64::MAX)];
    let dead = prop::option::of(prop_oneof![0_u64..2000, Just(u64::MAX)]);
    (keepalive, idle, dead).prop_map(|(keepalive, idle, dead)| Timing {
        keepalive: Duration::from_millis(keepalive),
        idle: Duration::from_millis(idle),
        dead: dead.map(Duration::from_millis),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u64..400).prop_map(Step::Wait),
        1 => (0_u64..20_000).prop_map(Step::Wait),
        1 => (0_u64..3000).prop_map(Step::Sleep),
        1 => timing().prop_map(Step::Timing),
        1 => any::<bool>().prop_map(Step::Active),
        1 => Just(Step::Restart),
        1 => Just(Step::Suspend),
        1 => Just(Step::Moved),
        8 => (0_usize..8).prop_map(Step::Echo),
        1 => any::<u64>().prop_map(Step::WrongEcho),
        3 => prop_oneof![Just(0), 1_u32..5, any::<u32>()].prop_map(Step::Report),
        2 => Just(Step::Frame),
        2 => Just(Step::Attach),
    ]
}

struct Checked {
    path: Liveness,
    timing: Timing,
    suspended: bool,
    now: Instant,
    /// Tokens since the last start, the latest first, and those that were echoed are gone.
    sent: VecDeque<(u64, Instant)>,
    next_token: u64,
    /// Since the last start.
    sent_in_all: u32,
    frames: u32,
    /// The last time anything happened that may count as evidence, or put off its absence.
    latest_evidence: Instant,
    told: Option<Change>,
    slept: Instant,
}

impl Checked {
    fn new(timing: Timing) -> Self {
        let now = origin();
        Self {
            path: Liveness::new(now, timing),
            timing,
            suspended: false,
            now,
            sent: VecDeque::new(),
            next_token: 0,
            sent_in_all: 0,
            frames: u32::MAX - 3,
            latest_evidence: now,
            told: None,
            slept: now,
        }
    }

    fn token(&mut self) -> u64 {
        self.next_token = self.next_token.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.next_token
    }

    fn forget(&mut self) {
        self.sent.clear();
        self.sent_in_all = 0;
    }

    fn is_off(&self) -> bool {
        self.timing.keepalive.is_zero()
    }

    fn handle_timeout(&mut self) {
        let before = (self.path.state(), self.path.is_silent());
        let change = self.path.handle_timeout(self.now);
        let after = (self.path.state(), self.path.is_silent());
        match (before.0, after.0) {
            (a, b) if a == b => {}
            (State::Up, State::Dead) => {
                let since = self.now - self.latest_evidence;
                assert!(since >= self.path.dead_after().min(self.timing.keepalive * 2));
            }
            // Proofs have ceased.
            (State::Probing, State::Dead) => assert!(self.path.flaps() > 0),
            wrong => panic!("{wrong:?} by time alone"),
        }
        assert!(after.1 || !before.1, "heard without a frame");
        let state = Change { state: after.0, silent: after.1 };
        assert_eq!(change, (self.told != Some(state)).then_some(state));
        self.told = Some(state);

        let token = self.token();
        let due = self.path.poll_probe(self.now, token);
        if due {
            self.sent.push_front((token, self.now));
            self.sent_in_all += 1;
            assert!(!self.suspended && !self.is_off());
        }
        assert!(!self.path.poll_probe(self.now, 0), "one at a time");
        let next = self.path.next_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} at {:?}", self.now);
        assert_eq!(next.is_none(), self.is_off() || (self.suspended && after.1));
    }

    fn wait(&mut self, duration: Duration) {
        let until = self.now + duration;
        let mut handled = 0_u32;
        while let Some(time) = self.path.next_timeout().filter(|&time| time <= until) {
            self.now = self.now.max(time);
            self.handle_timeout();
            handled += 1;
        }
        self.now = until;
        // A probe each quarter of a keepalive or at 20 ms, and a few deadlines.
        let keepalive = self.timing.keepalive.max(ms(1));
        let most = duration.as_micros() / (keepalive / 4).min(ms(20)).as_micros() + 8;
        assert!(u128::from(handled) <= most, "{handled} timeouts in {duration:?}");
    }

    fn take(&mut self, step: Step) {
        let before = self.path.state();
        let now = self.now;
        let evidence = match step {
            Step::Wait(millis) => return self.wait(ms(millis)),
            Step::Sleep(millis) => {
                self.now += ms(millis);
                self.slept = self.now;
                return self.handle_timeout();
            }
            Step::Timing(timing) => {
                self.path.set_timing(now, timing);
                self.timing = timing;
                if self.is_off() {
                    self.forget();
                }
                false
            }
            Step::Active(active) => {
                self.path.set_active(now, active);
                false
            }
            Step::Restart => {
                self.path.restart(now);
                self.forget();
                self.suspended = false;
                false
            }
            Step::Suspend => {
                self.path.suspend(now);
                self.forget();
                self.suspended = true;
                false
            }
            Step::Moved => {
                self.path.moved(now);
                if !self.is_off() && !self.suspended {
                    self.forget();
                }
                !self.suspended
            }
            Step::Echo(back) if back < self.sent.len() => {
                let (token, sent) = self.sent.remove(back).unwrap();
                let known = self.path.handle_echo(now, token);
                let in_time = now - sent <= Duration::from_secs(10);
                assert!(known || !in_time || self.sent_in_all > 128, "forgotten without need");
                assert!(in_time || !known);
                assert!(!self.path.handle_echo(now, token));
                if known {
                    // The time of an echo that may have lain unread is no round-trip time.
                    let measured = self.path.rtt().latest() == Some(now - sent);
                    assert!(measured || sent < self.slept);
                    assert!(!self.path.is_silent());
                }
                known
            }
            Step::Echo(_) => false,
            Step::WrongEcho(token) => {
                let known = self.sent.iter().any(|&(sent, _)| sent == token);
                assert!(known || !self.path.handle_echo(now, token));
                false
            }
            Step::Report(growth) => {
                self.frames = self.frames.wrapping_add(growth);
                self.path.handle_report(now, self.frames);
                growth > 0
            }
            Step::Frame => {
                self.path.handle_frame(now);
                assert!(!self.path.is_silent());
                false
            }
            Step::Attach => {
                let token = self.token();
                if self.path.may_attach_probe(now) {
                    assert!(!self.suspended && !self.is_off());
                    self.path.attach_probe(now, token);
                    self.sent.push_front((token, now));
                    self.sent_in_all += 1;
                    assert!(!self.path.may_attach_probe(now));
                }
                false
            }
        };
        let after = self.path.state();
        let trusted = self.is_off() && !self.suspended;
        let allowed = match (before, after) {
            (a, b) if a == b => true,
            (_, State::Up) => evidence || trusted,
            (_, State::Probing) => evidence || matches!(step, Step::Restart | Step::Suspend),
            (_, State::Dead) => false,
        };
        assert!(allowed, "{before:?} to {after:?} by {step:?}");
        assert!(!trusted || (after == State::Up && !self.path.is_silent()));
        assert!(!self.suspended || after == State::Probing);
        if evidence || before != after {
            // A report speaks of the time before it, too: it is no more than a bound from below.
            self.latest_evidence = if evidence && matches!(step, Step::Report(_)) && before == after
            {
                self.latest_evidence
            } else {
                now
            };
        }
        assert!(self.path.outstanding() <= 128 && self.path.confirmations_needed() <= 24);
        assert!(self.path.since() == now || before == after);
        self.handle_timeout();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn of_the_state_diagram(
        timing in timing(),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut checked = Checked::new(timing);
        checked.handle_timeout();
        for step in steps {
            checked.take(step);
        }
    }
}
