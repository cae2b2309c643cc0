//! The speed test of one path in our sending direction.
//!
//! [`SpeedTest`] says when to send frames of the largest size, and learns from the peer's reports how
//! many have arrived. It doubles the rate until the peer receives clearly less than is sent, then goes
//! on a little above what got through, so that something always waits before the bottleneck, and
//! counts. Compared are the frames between two probes: how fast they left, and how fast they arrived.
//! So it does not matter whether the bottleneck drops what is too much or lets it wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::Times;

/// The rate at the beginning, in bits per second of outer IP packets: hardly noticed on any line.
const FIRST_RATE: f64 = 1e6;
/// The largest rate, in bits per second.
pub const MAX_RATE: u64 = 10_000_000_000;
/// The longest test at full rate.
pub const MAX_DURATION: Duration = Duration::from_secs(10);
/// A rate is tried for so long at least before it is doubled.
const STEP: Duration = Duration::from_millis(50);
/// While it is measured, the rate is judged so often.
const STEP_OF_HOLD: Duration = Duration::from_millis(100);
/// The search for the rate ends after this.
const LONGEST_SEARCH: Duration = Duration::from_secs(5);
/// Below this share of what is sent, the path does not keep up,
const KEEPS_UP: f64 = 0.85;
/// provided that so many frames are missing: fewer can be lost by chance, or late.
const MISSING: f64 = 4.0;
/// The factor by which more is sent than arrives during the measurement.
const EXCESS: f64 = 1.1;
/// Above this share of what is sent, the path would have carried more.
const WITH_EASE: f64 = 0.95;
/// By how much is raised then.
const RAISE: f64 = 1.5;
/// Below this share less would do.
const TOO_MUCH: f64 = 0.75;
/// Time between two frames that ask for a report.
const BETWEEN_PROBES: Duration = Duration::from_millis(10);
/// Probes remembered: many more than are on their way on the slowest path.
const MAX_PROBES: usize = 1024;
/// Frames are sent in bursts at this distance, or one by one where they are rarer.
const TICK: Duration = Duration::from_micros(500);
/// The longest burst, in time at the present rate.
const LONGEST_BURST: Duration = Duration::from_millis(2);
/// The longest wait of this process whose data is made up for, in several bursts.
const LONGEST_LAG: Duration = Duration::from_millis(20);
/// Frames in one burst, so that data has its turn.
const MAX_BURST: u32 = 128;
/// Probes at the end, of which one should arrive.
const LAST_PROBES: u32 = 3;
/// After the end, reports are waited for until there was none for so long,
const QUIET: Duration = Duration::from_millis(500);
/// or it has lasted so long.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);
/// A path without any report for so long is broken.
const BROKEN: Duration = Duration::from_secs(3);

/// The data that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Bytes of outer IP packets.
    pub bytes: u64,
    /// The time in which it has arrived.
    pub duration: Duration,
}

/// All that was sent on the path, at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    frames: u64,
    bytes: u64,
}

/// A frame that asks for a report, and what had been sent with it.
#[derive(Clone, Copy, Debug)]
struct Probe {
    token: u64,
    at: Instant,
    sent: Sent,
}

/// A probe and the report that it caused.
#[derive(Clone, Copy, Debug)]
struct Sample {
    probe: Probe,
    at: Instant,
    /// Frames received since the first report.
    received: u64,
}

/// The difference of two samples.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Frames per second that left,
    sending: f64,
    /// and that arrived.
    arriving: f64,
    /// Frames that would have arrived had the path kept up, and did not.
    missing: f64,
    /// Mean length of the frames, in bytes of their outer IP packets.
    len: f64,
    /// Frames that arrived.
    received: u64,
    duration: Duration,
}

impl Flow {
    /// Returns the difference of two samples, or `None` if they are too close to each other.
    fn between(first: &Sample, last: &Sample) -> Option<Self> {
        let left = last.probe.at.saturating_duration_since(first.probe.at);
        let arrived = last.at.saturating_duration_since(first.at);
        let frames = last.probe.sent.frames.saturating_sub(first.probe.sent.frames);
        let bytes = last.probe.sent.bytes.saturating_sub(first.probe.sent.bytes);
        if left.is_zero() || frames == 0 {
            return None;
        }
        // Reports that were held up and come at once would show more than was sent.
        let duration = left.max(arrived);
        let received = last.received.saturating_sub(first.received);
        let sending = frames as f64 / left.as_secs_f64();
        Some(Self {
            sending,
            arriving: received as f64 / duration.as_secs_f64(),
            missing: sending * duration.as_secs_f64() - received as f64,
            len: bytes as f64 / frames as f64,
            received,
            duration,
        })
    }

    fn share(&self) -> f64 {
        self.arriving / self.sending
    }

    /// Bits per second that arrived.
    fn rate(&self) -> f64 {
        self.arriving * self.len * 8.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The test searches for the rate that the path takes.
    Search,
    /// It is measured.
    Hold {
        until: Instant,
    },
    /// No more is sent, but some is on its way.
    Drain {
        since: Instant,
    },
    Over,
}

/// A test of one path.
#[derive(Clone, Debug)]
pub struct SpeedTest {
    duration: Duration,
    /// The largest rate that may be used, and the present one, in bits per second.
    limit: f64,
    rate: f64,
    /// Bytes of the outer IP packet of a full frame.
    len: u64,
    phase: Phase,
    began: Instant,
    /// The time at which the next frame is due by the rate, and the burst before was sent.
    next: Instant,
    burst: Instant,
    in_burst: u32,
    next_probe: Instant,
    last_probes: u32,
    sent: Sent,
    probes: VecDeque<Probe>,
    /// The probe whose echo has come, and whose report is to follow.
    echoed: Option<Probe>,
    /// The peer's count in its last report, and what it amounts to since the first one.
    counted: Option<u32>,
    received: u64,
    /// Only samples of probes sent later say something of the present rate.
    since: Instant,
    /// The first of the present step, the first that is measured, and the last one.
    step: Option<Sample>,
    first: Option<Sample>,
    last: Option<Sample>,
}

impl SpeedTest {
    /// A test that begins now. `len`: length of the outer IP packet of a frame of the largest size, in
    /// bytes. It is measured for `duration` (at most [`MAX_DURATION`]) when the rate is found, with at
    /// most `limit` (and [`MAX_RATE`]) bits per second.
    #[must_use]
    pub fn new(now: Instant, duration: Duration, limit: Option<u64>, len: usize) -> Self {
        let limit = limit.unwrap_or(MAX_RATE).clamp(1, MAX_RATE) as f64;
        Self {
            duration: duration.min(MAX_DURATION),
            limit,
            rate: FIRST_RATE.min(limit),
            len: len.max(1) as u64,
            phase: Phase::Search,
            began: now,
            next: now,
            burst: now,
            in_burst: 0,
            next_probe: now,
            last_probes: 0,
            sent: Sent::default(),
            probes: VecDeque::new(),
            echoed: None,
            counted: None,
            received: 0,
            since: now,
            step: None,
            first: None,
            last: None,
        }
    }

    /// Returns `Some` if a frame of the largest size is to be sent now, with true if it carries a
    /// probe and is thus to be answered with a report. The caller asks until it is `None`.
    pub fn poll_frame(&mut self, now: Instant) -> Option<bool> {
        match self.phase {
            Phase::Search | Phase::Hold { .. } => {}
            Phase::Drain { .. } if self.last_probes > 0 => {
                self.last_probes -= 1;
                return Some(true);
            }
            Phase::Drain { .. } | Phase::Over => return None,
        }
        if now >= self.burst + TICK {
            (self.burst, self.in_burst) = (now, 0);
        }
        let burst = LONGEST_BURST.as_secs_f64() / self.interval().as_secs_f64();
        let burst = burst.ceil().clamp(1.0, f64::from(MAX_BURST));
        if self.next > now || f64::from(self.in_burst) >= burst {
            return None;
        }
        if now.saturating_duration_since(self.next) > LONGEST_LAG {
            self.next = now.checked_sub(LONGEST_LAG).unwrap_or(now);
        }
        self.in_burst += 1;
        self.next += self.interval();
        let probe = self.next_probe <= now;
        if probe {
            self.next_probe = now + BETWEEN_PROBES;
        }
        Some(probe)
    }

    /// Another frame was sent on the path, which counts in the peer's reports as well. `len`: of its
    /// outer IP packet.
    pub fn other_sent(&mut self, len: usize) {
        self.sent.frames += 1;
        self.sent.bytes += len as u64;
    }

    /// The frame of the largest size was sent. `token`: of its probe, if one was asked for.
    pub fn frame_sent(&mut self, now: Instant, token: Option<u64>) {
        self.sent.frames += 1;
        self.sent.bytes += self.len;
        if let Some(token) = token {
            if self.probes.len() >= MAX_PROBES {
                self.probes.pop_front();
            }
            self.probes.push_back(Probe { token, at: now, sent: self.sent });
        }
    }

    /// An echo has come on the path. The report in the same frame follows.
    pub fn handle_echo(&mut self, token: u64) {
        if let Some(place) = self.probes.iter().position(|probe| probe.token == token) {
            self.echoed = self.probes.drain(..=place).next_back();
        }
    }

    /// The peer says how many of our frames it has received on the path, modulo 2^32.
    pub fn handle_report(&mut self, at: impl Into<Times>, frames: u32) {
        let at = at.into();
        let Some(probe) = self.echoed.take() else { return };
        let more = frames.wrapping_sub(self.counted.unwrap_or(frames));
        // Behind the last one: late.
        if more > u32::MAX / 2 {
            return;
        }
        self.counted = Some(frames);
        self.received += u64::from(more);
        let sample = Sample { probe, at: at.arrived(), received: self.received };
        self.take(at.now(), sample);
    }

    fn take(&mut self, now: Instant, sample: Sample) {
        self.last = Some(sample);
        if let Phase::Drain { since } = self.phase {
            if sample.probe.at >= since {
                self.phase = Phase::Over;
            }
            return;
        }
        if sample.probe.at < self.since {
            return;
        }
        let holds = matches!(self.phase, Phase::Hold { .. });
        if holds {
            self.first.get_or_insert(sample);
        }
        let step = *self.step.get_or_insert(sample);
        let length = if holds { STEP_OF_HOLD } else { STEP };
        if sample.probe.at.saturating_duration_since(step.probe.at) < length {
            return;
        }
        let Some(flow) = Flow::between(&step, &sample) else { return };
        self.step = None;
        match self.phase {
            Phase::Search => self.search(now, &flow),
            Phase::Hold { until } => self.hold(now, until, &flow),
            Phase::Drain { .. } | Phase::Over => {}
        }
    }

    fn search(&mut self, now: Instant, flow: &Flow) {
        let sending = flow.sending * flow.len * 8.0;
        if flow.share() < KEEPS_UP && flow.missing >= MISSING {
            self.rate = flow.rate() * EXCESS;
        } else if self.rate >= self.limit {
        } else if sending < self.rate / 2.0 {
            // This machine cannot send faster.
            self.rate = sending * EXCESS;
        } else {
            self.rate = (self.rate * 2.0).min(self.limit);
            self.since = now;
            return;
        }
        self.begin_hold(now);
    }

    fn begin_hold(&mut self, now: Instant) {
        self.rate = self.rate.max(1.0).min(self.limit);
        self.phase = Phase::Hold { until: now + self.duration };
        (self.since, self.step, self.first) = (now, None, None);
        self.next = self.next.min(now + self.interval());
    }

    fn hold(&mut self, now: Instant, until: Instant, flow: &Flow) {
        // So that what is measured then is not too short.
        let early = now + STEP_OF_HOLD * 3 <= until;
        if flow.share() > WITH_EASE && self.rate < self.limit && early {
            self.rate = (self.rate * RAISE).min(self.limit);
            (self.since, self.first) = (now, None);
        } else if flow.share() < TOO_MUCH && flow.missing >= MISSING {
            self.rate = (flow.rate() * EXCESS).max(1.0).min(self.limit);
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.len as f64 * 8.0 / self.rate)
    }

    /// Lets time pass. To be called before [`Self::poll_frame`].
    pub fn handle_timeout(&mut self, now: Instant) {
        let heard = self.last.map_or(self.began, |sample| sample.at);
        match self.phase {
            Phase::Search if now >= self.began + LONGEST_SEARCH => self.begin_hold(now),
            Phase::Search | Phase::Hold { .. } if now >= heard + BROKEN => self.stop(),
            Phase::Hold { until } if now >= until => {
                self.phase = Phase::Drain { since: now };
                self.last_probes = LAST_PROBES;
            }
            Phase::Drain { since }
                if now >= heard.max(since) + QUIET || now >= since + LONGEST_DRAIN =>
            {
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }

    /// Ends it without result: the path works no longer.
    pub fn stop(&mut self) {
        self.phase = Phase::Over;
        self.first = None;
    }

    /// Returns when [`Self::handle_timeout`] and [`Self::poll_frame`] are to be called; `None`: it
    /// is over.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let heard = self.last.map_or(self.began, |sample| sample.at);
        match self.phase {
            Phase::Search | Phase::Hold { .. } => Some(self.next.max(self.burst + TICK)),
            Phase::Drain { since } => Some((heard.max(since) + QUIET).min(since + LONGEST_DRAIN)),
            Phase::Over => None,
        }
    }

    /// Returns true if it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Returns what got through, so far while the test is not over; `None` if that is not known.
    #[must_use]
    pub fn throughput(&self) -> Option<Throughput> {
        let flow = Flow::between(self.first.as_ref()?, self.last.as_ref()?)?;
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        let bytes = (flow.received as f64 * flow.len).round() as u64;
        Some(Throughput { bytes, duration: flow.duration })
    }
}
