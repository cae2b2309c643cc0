//! Two ends, some paths between them, in virtual time: a discrete event simulation, deterministic
//! for a given seed. The ends put into their frames what docs/protocol.md says.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_core::liveness::{Change, Liveness, State, Timing};

/// Some instant: the origin of a test's time.
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
pub(crate) fn origin() -> Instant {
    Instant::now()
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// xorshift64*, seeded.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// One direction of one path. Keeps the order of what it carries.
pub(crate) struct Link {
    /// By time since the origin.
    pub(crate) delay: Box<dyn Fn(Duration) -> Duration>,
    pub(crate) loss: f64,
    pub(crate) broken: bool,
    last_arrival: Instant,
}

#[derive(Clone, Debug)]
struct Frame {
    probe: Option<u64>,
    echo: Option<u64>,
    /// Path and frames received on it.
    reports: Vec<(usize, u32)>,
}

impl Frame {
    /// Bytes of the IPv4 packet: 20 IPv4, 8 UDP, 8 GRE with key, 14 + 16 sealed frame, then the
    /// messages, each with 3 bytes of type and length; a probe comes with a clock. One that answers
    /// nothing is padded to 75 bytes of messages, so that there is room for all that may answer it.
    fn bytes(&self) -> u64 {
        let messages = 22 * usize::from(self.probe.is_some())
            + 11 * usize::from(self.echo.is_some())
            + if self.reports.is_empty() { 0 } else { 3 + 22 * self.reports.len() };
        let asks = self.probe.is_some() && self.echo.is_none();
        let padded = if asks { messages.max(75) } else { messages };
        (20 + 8 + 8 + 14 + 16 + padded) as u64
    }
}

pub(crate) struct End {
    pub(crate) liveness: Vec<Liveness>,
    received: Vec<u32>,
    pub(crate) frames_sent: u64,
    pub(crate) bytes_sent: u64,
    /// Neither reads nor handles timeouts until then.
    standing_still: Instant,
}

/// A message to an end about one of its paths, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) end: usize,
    pub(crate) path: usize,
    pub(crate) change: Change,
}

pub(crate) struct World {
    pub(crate) origin: Instant,
    pub(crate) now: Instant,
    pub(crate) random: Random,
    /// By sending end and path.
    pub(crate) links: [Vec<Link>; 2],
    pub(crate) ends: [End; 2],
    pub(crate) log: Vec<Entry>,
    arrivals: BTreeMap<(Instant, u64), (usize, usize, Frame)>,
    frames: u64,
}

impl World {
    /// Paths with these delays in each direction, started now, with traffic.
    pub(crate) fn new(seed: u64, timing: Timing, delays: &[Duration]) -> Self {
        let origin = origin();
        let link = |&delay: &Duration| Link {
            delay: Box::new(move |_| delay),
            loss: 0.0,
            broken: false,
            last_arrival: origin,
        };
        let end = || End {
            liveness: delays.iter().map(|_| Liveness::new(origin, timing)).collect(),
            received: vec![0; delays.len()],
            frames_sent: 0,
            bytes_sent: 0,
            standing_still: origin,
        };
        Self {
            origin,
            now: origin,
            random: Random::new(seed),
            links: [delays.iter().map(link).collect(), delays.iter().map(link).collect()],
            ends: [end(), end()],
            log: Vec::new(),
            arrivals: BTreeMap::new(),
            frames: 0,
        }
    }

    pub(crate) fn time(&self) -> Duration {
        self.now - self.origin
    }

    pub(crate) fn state(&self, end: usize, path: usize) -> State {
        self.ends[end].liveness[path].state()
    }

    pub(crate) fn all_up(&self) -> bool {
        let mut all = self.ends.iter().flat_map(|end| &end.liveness);
        all.all(|l| l.state() == State::Up && !l.is_silent())
    }

    /// Both directions of a path.
    pub(crate) fn set_broken(&mut self, path: usize, broken: bool) {
        for links in &mut self.links {
            links[path].broken = broken;
        }
    }

    pub(crate) fn set_active(&mut self, active: bool) {
        for end in 0..2 {
            for path in 0..self.links[0].len() {
                self.ends[end].liveness[path].set_active(self.now, active);
                self.service(end, path);
            }
        }
    }

    pub(crate) fn stand_still(&mut self, end: usize, duration: Duration) {
        self.ends[end].standing_still = self.now + duration;
    }

    /// Changes of one path at one end in a part of the run.
    pub(crate) fn changes(&self, end: usize, path: usize, during: Range<Duration>) -> Vec<Entry> {
        let of = |e: &&Entry| e.end == end && e.path == path && during.contains(&e.at);
        self.log.iter().filter(of).copied().collect()
    }

    /// When the state of a path changed to this one, from a time on.
    pub(crate) fn when(
        &self,
        end: usize,
        path: usize,
        state: State,
        from: Duration,
    ) -> Option<Duration> {
        let changes = self.changes(end, path, from..Duration::MAX);
        changes.iter().find(|e| e.change.state == state).map(|e| e.at)
    }

    pub(crate) fn run(&mut self, duration: Duration) {
        let until = self.now + duration;
        while let Some(time) = self.next_event().filter(|&time| time <= until) {
            assert!(time >= self.now);
            self.now = time;
            self.step();
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Instant> {
        let timers = self.ends.iter().filter_map(|end| {
            let earliest = end.liveness.iter().filter_map(Liveness::next_timeout).min();
            earliest.map(|time| time.max(end.standing_still).max(self.now))
        });
        let arrival = self.arrivals.keys().next().map(|&(time, _)| time);
        timers.chain(arrival).min()
    }

    /// Timeouts come before arrivals: an end that stood still judges before it reads.
    fn step(&mut self) {
        for end in 0..2 {
            if self.ends[end].standing_still > self.now {
                continue;
            }
            for path in 0..self.ends[end].liveness.len() {
                if self.ends[end].liveness[path].next_timeout().is_some_and(|t| t <= self.now) {
                    self.service(end, path);
                }
            }
        }
        while let Some(first) = self.arrivals.first_entry() {
            let &(time, number) = first.key();
            if time > self.now {
                break;
            }
            let (end, path, frame) = first.remove();
            let ready = self.ends[end].standing_still;
            if ready > self.now {
                self.arrivals.insert((ready, number), (end, path, frame));
            } else {
                self.receive(end, path, &frame);
            }
        }
    }

    pub(crate) fn service(&mut self, end: usize, path: usize) {
        let liveness = &mut self.ends[end].liveness[path];
        if let Some(change) = liveness.handle_timeout(self.now) {
            let at = self.now - self.origin;
            self.log.push(Entry { at, end, path, change });
        }
        let token = self.random.next();
        let liveness = &mut self.ends[end].liveness[path];
        if liveness.poll_probe(self.now, token) {
            let reports = self.reports(end, path);
            self.send(end, path, Frame { probe: Some(token), echo: None, reports });
        }
        let next = self.ends[end].liveness[path].next_timeout();
        assert!(next.is_none_or(|next| next > self.now), "nothing is left to do now");
    }

    /// At most 8 paths, this one first.
    fn reports(&self, end: usize, path: usize) -> Vec<(usize, u32)> {
        let received = &self.ends[end].received;
        let others = (0..received.len()).filter(|&other| other != path);
        std::iter::once(path).chain(others).take(8).map(|p| (p, received[p])).collect()
    }

    fn receive(&mut self, end: usize, path: usize, frame: &Frame) {
        let now = self.now;
        let this = &mut self.ends[end];
        this.received[path] = this.received[path].wrapping_add(1);
        this.liveness[path].handle_frame(now);
        for &(reported, frames) in &frame.reports {
            this.liveness[reported].handle_report(now, frames);
        }
        if let Some(token) = frame.echo {
            this.liveness[path].handle_echo(now, token);
        }
        if let Some(token) = frame.probe {
            let own = self.random.next();
            let this = &mut self.ends[end];
            let attached = this.liveness[path].may_attach_probe(now);
            if attached {
                this.liveness[path].attach_probe(now, own);
            }
            let report = (path, this.received[path]);
            let doubtful = this.liveness[path].is_doubtful(now);
            let mut others = (0..this.liveness.len()).filter(|&other| other != path);
            let other = others.find(|&other| this.liveness[other].state() == State::Up);
            let probe = attached.then_some(own);
            let reports = if attached { self.reports(end, path) } else { vec![report] };
            self.send(end, path, Frame { probe, echo: Some(token), reports });
            if let Some(other) = other.filter(|_| doubtful) {
                self.send(end, other, Frame { probe: None, echo: None, reports: vec![report] });
            }
        }
        for path in 0..self.ends[end].liveness.len() {
            self.service(end, path);
        }
    }

    fn send(&mut self, end: usize, path: usize, frame: Frame) {
        self.ends[end].frames_sent += 1;
        self.ends[end].bytes_sent += frame.bytes();
        let lost = self.random.unit();
        let time = self.time();
        let link = &mut self.links[end][path];
        if link.broken || lost < link.loss {
            return;
        }
        let arrival = (self.now + (link.delay)(time)).max(link.last_arrival);
        link.last_arrival = arrival;
        self.frames += 1;
        self.arrivals.insert((arrival, self.frames), (1 - end, path, frame));
    }
}
