//! The sending half of one subflow: windows, losses, timers. Its owner decides what to send.

use crate::kernel::time::Time;
use crate::transport::congestion::{View, Window};

use super::hystart::{self, HyStart};
use super::marks::Marks;
use super::recovery::door::Door;
use super::recovery::frto::{self, FRto};
use super::recovery::prr::Prr;
use super::recovery::rack::Rack;
use super::recovery::scoreboard::{Scoreboard, Sent};
use super::recovery::undo::Episode;
use super::rtt::RttEstimator;
use super::{Ack, Config, Ecn, Segment, Treatment};

/// Segments above a gap that make it a loss (RFC 6675: DupThresh).
const DUPLICATES: u64 = 3;
/// Share of the window by which Linux' cubic grows per round-trip time at least, before the first loss.
const LEAST_GROWTH: f64 = 0.05;
/// Time-outs of the same segment after which a subflow is dead (RFC 1122, 4.2.3.5: at least 100 s; Linux: 15).
const MOST_TIMEOUTS: u32 = 15;

/// Counters of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmissions that the receiver has reported as not needed.
    pub not_needed: u64,
    /// Recoveries by acknowledgements.
    pub recoveries: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// Responses to congestion taken back.
    pub undone: u64,
    /// Responses to marks.
    pub marked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first segment has still to be sent.
    New,
    /// The first segment has been sent.
    Connecting,
    Open,
    /// Fast recovery, until everything below is acknowledged.
    Recovery(u64),
    /// Recovery after a time-out, until everything below is acknowledged.
    Loss(u64),
}

/// The content of an acknowledgement, in segments.
struct Taken {
    /// Segments acknowledged cumulatively.
    acknowledged: u64,
    /// Segments not known before to have been delivered.
    delivered: u64,
    /// True if a segment that was sent only once was among them.
    original: bool,
}

/// The sending half of one subflow.
#[derive(Clone, Debug)]
pub struct Subflow {
    config: Config,
    /// Its place among the subflows of its connection.
    own: usize,
    window: Window,
    board: Scoreboard,
    rtt: RttEstimator,
    state: State,
    /// The number at which the last recovery ended.
    recover: u64,
    episode: Option<Episode>,
    timer: Option<Time>,
    /// Number of a segment to be retransmitted whatever the window allows.
    urgent: Option<u64>,
    door: Door,
    frto: FRto,
    rack: Rack,
    hystart: HyStart,
    /// State of fast recovery as Linux has it; `None` outside of one.
    prr: Option<Prr>,
    marks: Marks,
    counters: Counters,
}

impl Subflow {
    /// Returns subflow number `own` of its connection, which has sent nothing yet.
    pub fn new(config: Config, own: usize) -> Self {
        Self {
            config,
            own,
            window: Window::new(config.control, config.initial_window, f64::INFINITY)
                .with_least_growth(if config.linux { LEAST_GROWTH } else { 0.0 }),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(config.minimum_rto, config.linux),
            state: State::New,
            recover: 0,
            episode: None,
            timer: None,
            urgent: None,
            door: Door::default(),
            frto: FRto::default(),
            rack: Rack::default(),
            hystart: HyStart::new(config.trains),
            prr: None,
            marks: Marks::default(),
            counters: Counters::default(),
        }
    }

    /// Returns what the other subflows need to know of it.
    pub fn view(&self) -> View {
        let (window, between_losses) = (self.window.get(), self.window.between_losses());
        View { window, rtt: self.rtt.smoothed(), between_losses }
    }

    /// Returns the congestion window in segments.
    pub fn window(&self) -> f64 {
        self.window.get()
    }

    /// Returns the estimator of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns what has happened to it.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the estimate of the segments in the network.
    pub fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }

    /// Returns the number of segments sent and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.board.outstanding()
    }

    /// Returns the number below which all segments have been acknowledged.
    pub fn first(&self) -> u64 {
        self.board.first()
    }

    /// True if it recovers from a time-out.
    pub fn has_timed_out(&self) -> bool {
        matches!(self.state, State::Loss(_))
    }

    /// True if the handshake is over.
    pub fn is_connected(&self) -> bool {
        !matches!(self.state, State::New | State::Connecting)
    }

    /// True if it has given up.
    pub fn is_dead(&self) -> bool {
        self.rtt.backoff() > MOST_TIMEOUTS
    }

    /// Returns the numbers in the connection of everything that is not acknowledged.
    pub fn unacknowledged(&self) -> impl Iterator<Item = u64> {
        self.board.iter().filter(|(_, sent)| !sent.sacked).map(|(_, sent)| sent.data_sequence)
    }

    /// True if a new segment may be sent. Retransmissions ([`Subflow::poll_retransmit`]) come first.
    pub fn has_room(&self) -> bool {
        if !self.is_connected() {
            return false;
        }
        let open = self.is_open();
        (open && self.frto.leaves_the_window()) || self.frto.may_send()
    }

    /// True if the window, or what replaces it in recovery, has room.
    fn is_open(&self) -> bool {
        match &self.prr {
            Some(prr) => prr.has_room(),
            None => (self.board.in_flight() as f64) < libm::floor(self.window.get()),
        }
    }

    /// Sends a new segment, number `data_sequence` of the connection.
    pub fn send(&mut self, now: Time, data_sequence: u64) -> Segment {
        let transmission = self.counters.sent;
        let sequence = self.board.next();
        self.board.push(Sent {
            data_sequence,
            at: now,
            transmission,
            sacked: false,
            lost: false,
            in_flight_again: false,
            retransmitted: false,
        });
        self.count_sent();
        self.frto.sent_new();
        let timeout = self.rtt.timeout();
        self.timer.get_or_insert_with(|| now + timeout);
        self.arm_probe(now);
        let ecn = self.marks.of_new_segment(self.config.ecn);
        Segment { syn: false, sequence, data_sequence, timestamp: now, transmission, ecn }
    }

    /// Returns the next retransmission, if one is due and the window has room; at the start, the segment that opens the subflow.
    pub fn poll_retransmit(&mut self, now: Time) -> Option<Segment> {
        match self.state {
            State::New => return Some(self.connect(now)),
            State::Connecting => return None,
            _ => {}
        }
        let sequence = match self.urgent.take() {
            Some(sequence) if sequence >= self.board.first() => sequence,
            _ if self.is_open() => self.board.next_lost()?,
            _ => return None,
        };
        let transmission = self.counters.sent;
        let data_sequence = self.board.retransmit(sequence, now, transmission)?;
        self.count_sent();
        self.counters.retransmitted += 1;
        if let Some(episode) = &mut self.episode {
            episode.retransmitted(sequence, now);
        }
        // Otherwise the timer of a deep queue would end every recovery (RFC 6298 leaves it open).
        if sequence == self.board.first() {
            self.timer = Some(now + self.rtt.timeout());
        }
        // RFC 3168, section 6.1.5: retransmissions are not capable.
        let ecn = Ecn::default();
        Some(Segment { syn: false, sequence, data_sequence, timestamp: now, transmission, ecn })
    }

    fn count_sent(&mut self) {
        self.counters.sent += 1;
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }

    fn connect(&mut self, now: Time) -> Segment {
        self.state = State::Connecting;
        self.timer = Some(now + self.rtt.timeout());
        let transmission = self.counters.sent;
        self.counters.sent += 1;
        let ecn = Ecn::default();
        Segment { syn: true, sequence: 0, data_sequence: 0, timestamp: now, transmission, ecn }
    }

    /// Returns the time at which [`Subflow::handle_timeout`] is to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        if self.is_dead() {
            return None;
        }
        [self.timer, self.rack.timer, self.rack.probe.timer].into_iter().flatten().min()
    }

    /// Handles the timeout announced by [`Subflow::next_timeout`]. `flows` has all subflows of the connection.
    pub fn handle_timeout(&mut self, now: Time, flows: &[View]) {
        let due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= now);
        if due(self.timer) && !self.is_connected() {
            // Sent again by the next poll.
            self.rtt.back_off();
            self.timer = None;
            self.state = State::New;
        } else if due(self.timer) {
            self.time_out(now, flows);
        } else if due(self.rack.timer) {
            self.find_lost(now, false);
            self.recover(now, flows);
        } else if due(self.rack.probe.timer) {
            self.rack.probe.sent(self.board.next());
            self.urgent = self.board.next().checked_sub(1);
            self.timer = Some(now + self.rtt.timeout());
        }
    }

    /// Handles an acknowledgement. Returns the number of segments that it acknowledged cumulatively.
    pub fn handle_ack(&mut self, now: Time, ack: &Ack, flows: &[View]) -> u64 {
        if !self.is_connected() {
            self.state = State::Open;
            self.timer = None;
            if self.rtt.backoff() == 0 {
                self.rtt.sample(now - ack.echo);
            } else {
                self.rtt.distrust();
            }
            self.rtt.begin_data();
            return 0;
        }
        // A window that was not used says nothing about the path, and does not grow.
        let used = self.board.in_flight() as f64 >= libm::floor(self.window.get());
        if self.config.treatment == Treatment::TcpDoor
            && self.door.observe(now, ack, self.rtt.smoothed())
        {
            self.take_back_recent(now);
        }
        let Taken { acknowledged, delivered, original } = self.take_in(now, ack);
        if let Some(sequence) = ack.duplicate {
            self.take_duplicate(sequence);
        }
        if (self.config.treatment == Treatment::Eifel || self.config.linux)
            && acknowledged > 0
            && self.episode.as_mut().is_some_and(|it| it.acknowledged(ack.next, ack.echo))
        {
            self.undo(Window::restore);
        }
        self.follow_frto(now, acknowledged > 0, original);
        let lost = self.board.lost();
        self.find_lost(now, acknowledged > 0);
        let more_lost = self.board.lost() > lost;
        match self.state {
            State::Recovery(recover) | State::Loss(recover) if self.board.first() >= recover => {
                self.end_recovery();
            }
            State::New | State::Connecting | State::Recovery(_) => {}
            State::Loss(_) if !self.frto.leaves_the_window() => {}
            State::Open if !used => {}
            State::Open | State::Loss(_) => {
                if acknowledged > 0 && !self.board.has_lost() || self.has_timed_out() {
                    self.window.grow(now, acknowledged, self.own, flows);
                }
            }
        }
        self.recover(now, flows);
        let (first, next) = (self.board.first(), self.board.next());
        // In recovery the window has been reduced already.
        if self.state == State::Open && self.marks.reduces(ack.congestion, first, next) {
            self.window.reduce(self.board.outstanding().max(1), self.own, flows);
            self.counters.marked += 1;
        }
        if let Some(prr) = &mut self.prr {
            let threshold = self.window.threshold() as u64;
            let safe = acknowledged > 0 && !more_lost;
            prr.acknowledged(delivered, self.board.in_flight(), threshold, safe);
        }
        if self.config.treatment == Treatment::RackTlp {
            if self.rack.probe.acknowledged(ack.next, ack.duplicate.is_some())
                && self.state == State::Open
            {
                self.window.reduce(self.board.outstanding().max(1), self.own, flows);
            }
            if acknowledged > 0 {
                self.arm_probe(now);
            }
        }
        acknowledged
    }

    /// Returns what the acknowledgement says of each segment.
    fn take_in(&mut self, now: Time, ack: &Ack) -> Taken {
        let Self { board, rack, rtt, .. } = self;
        let (mut delivered, mut original) = (0, false);
        let mut deliver = |it: super::recovery::scoreboard::Delivered| {
            delivered += 1;
            original |= !it.sent.retransmitted;
            rack.delivered(now, ack.echo, &it, rtt);
        };
        let outdated = ack.next < board.first();
        let acknowledged = board.acknowledge(ack.next, &mut deliver);
        if self.config.sack {
            for block in ack.sacked() {
                board.sack(block.from, block.to, &mut deliver);
            }
        } else if acknowledged == 0 && !outdated && !board.is_empty() {
            board.count_duplicate();
        }
        if acknowledged > 0 {
            if self.state == State::Open {
                // The segments that caused them have come.
                board.forget_duplicates();
            }
            rtt.sample(now - ack.echo);
            self.window.acknowledged(acknowledged);
            if self.config.linux
                && self.window.is_in_slow_start()
                && self.hystart.take(hystart::Sample {
                    now: now.as_secs_f64(),
                    rtt: rtt.latest(),
                    base: rtt.least_of_data(),
                    window: self.window.get(),
                    first: board.first(),
                    next: board.next(),
                })
            {
                self.window.end_slow_start();
            }
            self.timer = (!self.board.is_empty()).then(|| now + self.rtt.timeout());
        }
        Taken { acknowledged, delivered, original }
    }

    fn take_duplicate(&mut self, sequence: u64) {
        self.counters.not_needed += 1;
        let (first, next) = (self.board.first(), self.board.next());
        if self.config.treatment == Treatment::RackTlp {
            self.rack.duplicate(first, next);
        }
        let slowly = self.config.treatment == Treatment::DSack;
        if (slowly || self.config.linux)
            && self.episode.as_mut().is_some_and(|episode| episode.reported(sequence))
        {
            self.undo(if slowly { Window::restore_slowly } else { Window::restore });
        }
    }

    fn follow_frto(&mut self, now: Time, advanced: bool, original: bool) {
        let State::Loss(recover) = self.state else { return };
        let everything = self.board.first() >= recover;
        match self.frto.acknowledged(advanced, everything, original) {
            frto::Verdict::Undecided => {}
            frto::Verdict::Due => self.board.lose_all(),
            frto::Verdict::DueLate => {
                self.window.at_most(3.0);
                self.board.lose_all();
            }
            frto::Verdict::Spurious => {
                self.undo(Window::restore);
                self.timer = (!self.board.is_empty()).then(|| now + self.rtt.timeout());
            }
        }
    }

    fn find_lost(&mut self, now: Time, advanced: bool) {
        if self.config.treatment == Treatment::RackTlp {
            let recovering = self.state != State::Open;
            self.rack.find_lost(now, &mut self.board, &self.rtt, recovering);
        } else if self.config.sack {
            self.board.find_lost(DUPLICATES);
        } else {
            // A partial acknowledgement is another loss (RFC 6582, 3.2, step 3).
            let first = self.board.first();
            let partial =
                advanced && matches!(self.state, State::Recovery(recover) if first < recover);
            // Duplicates of segments that were retransmitted without need do not count (3.2, step 1).
            let fresh = self.board.first() > self.recover || self.recover == 0;
            let duplicates = self.state == State::Open && self.board.duplicates() >= DUPLICATES;
            if partial || (fresh && duplicates) {
                self.board.lose(self.board.first());
            }
        }
    }

    /// Enters recovery if something is lost and it is not in recovery yet.
    fn recover(&mut self, now: Time, flows: &[View]) {
        if self.state != State::Open || !self.board.has_lost() {
            return;
        }
        self.state = State::Recovery(self.board.next());
        self.counters.recoveries += 1;
        self.urgent = self.board.next_lost();
        self.prr = self.config.linux.then(|| Prr::new(self.board.outstanding()));
        self.rack.probe.timer = None;
        self.respond(now, flows);
    }

    /// Responds to congestion, and remembers what is needed to take the response back.
    fn respond(&mut self, now: Time, flows: &[View]) {
        if self.config.treatment == Treatment::TcpDoor && self.door.is_suspended(now) {
            self.episode = None;
            return;
        }
        let saved = self.window.reduce(self.board.outstanding(), self.own, flows);
        self.episode = Some(Episode::new(saved, now));
    }

    fn end_recovery(&mut self) {
        self.recover = self.board.first();
        self.board.forget_duplicates();
        let slowly = self.config.treatment == Treatment::DSack;
        let needless = self.episode.as_ref().is_some_and(|episode| !episode.has_retransmitted());
        if needless && (slowly || self.config.linux) {
            self.undo(if slowly { Window::restore_slowly } else { Window::restore });
        }
        self.state = State::Open;
        self.prr = None;
        self.frto = FRto::Off;
        self.rack.recovery_ended();
    }

    /// Takes back a response that was not due: nothing is lost, and `restore` gives the window back.
    fn undo(&mut self, restore: impl FnOnce(&mut Window, crate::transport::congestion::Saved)) {
        let Some(episode) = self.episode.take() else { return };
        restore(&mut self.window, episode.saved);
        self.counters.undone += 1;
        self.board.lose_none();
        self.state = State::Open;
        self.prr = None;
        self.frto = FRto::Off;
        self.urgent = None;
    }

    /// Takes back a recent response (TCP-DOOR): the window is restored, and lost segments go on being retransmitted.
    fn take_back_recent(&mut self, now: Time) {
        let (door, rtt) = (&self.door, self.rtt.smoothed());
        let recent = |episode: &mut Episode| door.remembers(now, episode.began, rtt);
        if let Some(episode) = self.episode.take_if(recent) {
            self.window.restore(episode.saved);
            self.counters.undone += 1;
        }
    }

    fn time_out(&mut self, now: Time, flows: &[View]) {
        self.counters.timeouts += 1;
        let first_time = self.rtt.backoff() == 0;
        let was_open = self.state == State::Open;
        if first_time {
            self.respond(now, flows);
        }
        self.window.collapse();
        self.rtt.back_off();
        self.state = State::Loss(self.board.next());
        self.prr = None;
        self.rack.timer = None;
        self.rack.probe.timed_out();
        if self.config.treatment == Treatment::FRto && first_time && was_open {
            self.frto = FRto::Retransmitted;
            self.board.lose(self.board.first());
        } else {
            let watching = self.config.linux && (was_open || !first_time);
            self.frto = if watching { FRto::Watching } else { FRto::Off };
            self.board.lose_all();
        }
        self.urgent = Some(self.board.first());
        self.timer = Some(now + self.rtt.timeout());
    }

    fn arm_probe(&mut self, now: Time) {
        if self.config.treatment == Treatment::RackTlp {
            let quiet = self.state == State::Open && self.board.sacked() == 0;
            let possible = quiet && !self.board.is_empty();
            self.rack.probe.arm(now, &self.rtt, possible);
        }
    }
}
